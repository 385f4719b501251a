"""Spark's log of a directory that a stream writes files to, `_spark_metadata`: readers see the files of the batches that are in it."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import SparkSession

from headrace.definitions import damages
from headrace.errors import JobError
from headrace.io import file_system

DIRECTORY = "_spark_metadata"

_WHOLE = ".compact"
_EMPTY = "v1"  # a batch without files: the version of the log's format, and no line
_INTERVAL = "spark.sql.streaming.fileSink.log.compactInterval"


def end(path: str) -> int:
    """The last batch that is in the log; -1 if none is."""
    return max(map(_batch, file_system.names(f"{path}/{DIRECTORY}")), default=-1)


def check(path: str, last: int) -> None:
    """JobError if an entry up to this batch is damaged, of those that readers go by."""
    for file in entries(f"{path}/{DIRECTORY}", last):
        if (flaw := file_system.flaw(file)) is not None:
            raise JobError(f"{file} {flaw}: it says which files in {path} readers see", fix=damages.way_on(file))
    if file_system.is_lost(file := following(f"{path}/{DIRECTORY}", last)):
        raise JobError(f"{file} is gone, and its sums are there: the batch cannot be written", fix=damages.again(file))


def following(log: str, last: int, interval: str = _INTERVAL) -> str:
    """The file of the entry behind the last one."""
    return f"{log}/{_name(last + 1, interval)}"


def entries(log: str, last: int, interval: str = _INTERVAL) -> Iterator[str]:
    """The files of a log that count, from this batch back to the last one that holds all before it; also those that are gone."""
    there = {_batch(name): name for name in file_system.names(log)}
    whole = max((batch for batch, name in there.items() if name.endswith(_WHOLE) and batch <= last), default=0)
    return (f"{log}/{there.get(batch) or _name(batch, interval)}" for batch in range(last, whole - 1, -1))


def _batch(name: str) -> int:
    number = name.removesuffix(_WHOLE)
    return int(number) if number.isdigit() else -1


def _name(batch: int, interval: str = _INTERVAL) -> str:
    return f"{batch}{_WHOLE}" if (batch + 1) % _every(interval) == 0 else str(batch)


def _every(interval: str = _INTERVAL) -> int:
    return int(SparkSession.active().conf.get(interval) or 0)


def begin(path: str, batch: int) -> None:
    """Let a log without batches begin after this one, for an output that a job has not had from its first batch on.

    Spark's readers, and Spark itself whenever it puts the log so far into one file, want every batch since the last such file.
    """
    compact = (batch + 1) // _every() * _every() - 1
    for each in range(max(compact, 0), batch + 1):
        file_system.write(f"{path}/{DIRECTORY}/{_name(each)}", _EMPTY)
