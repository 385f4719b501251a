"""Spark's log of a directory that a stream writes files to, `_spark_metadata`: readers see the files of the batches that are in it."""

from __future__ import annotations

from pyspark.sql import SparkSession

from headrace.io import file_system

DIRECTORY = "_spark_metadata"

_EMPTY = "v1"  # a batch without files: the version of the log's format, and no line
_INTERVAL = "spark.sql.streaming.fileSink.log.compactInterval"


def end(path: str) -> int:
    """The last batch that is in the log; -1 if none is."""
    names = [name.removesuffix(".compact") for name in file_system.names(f"{path}/{DIRECTORY}")]
    return max((int(name) for name in names if name.isdigit()), default=-1)


def begin(path: str, batch: int) -> None:
    """Let a log without batches begin after this one, for an output that a job has not had from its first batch on.

    Spark's readers, and Spark itself whenever it puts the log so far into one file, want every batch since the last such file.
    """
    interval = int(SparkSession.active().conf.get(_INTERVAL) or 0)
    compact = (batch + 1) // interval * interval - 1
    if compact >= 0:
        file_system.write(f"{path}/{DIRECTORY}/{compact}.compact", _EMPTY)
    for each in range(compact + 1, batch + 1):
        file_system.write(f"{path}/{DIRECTORY}/{each}", _EMPTY)
