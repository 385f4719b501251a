"""Micro-batch: records in small batches, each with its number; a batch is repeated after a crash, with the same records."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from headrace.planning.groups import Group
from headrace.planning.recipe import Frames, Step
from headrace.spark import failures


def writer(group: Group, raised: list[Exception]) -> DataStreamWriter:
    """The query of a group, up to its trigger and checkpoint. What is raised here in Python is put into `raised`: Spark keeps only text."""
    frame = Frames(lambda source: source.stream(real_time=False))[group.fork]
    own = group.outputs[0].sink.writer(frame) if len(group.outputs) == 1 else None

    add = [(output.step, output.sink.adder()) for output in group.outputs] if own is None else []

    def write(batch: DataFrame, number: int) -> None:
        try:
            _write(group.fork, add, batch, number)
        except Exception as error:
            raised.append(error)
            # Short, because Spark matches the whole text with a regular expression that overflows its stack, and the query would hang.
            raise RuntimeError(failures.first_line(error)[:200]) from None

    return own or frame.writeStream.foreachBatch(write)


def _write(fork: Step, add: Sequence[tuple[Step, Callable[[DataFrame, int], None]]], batch: DataFrame, number: int) -> None:
    """Every output of one batch, which is computed once and kept while they are written."""
    if len(add) > 1:
        batch = batch.persist()
    try:
        frames = Frames(lambda source: source.table(), {fork: batch})
        for step, write in add:
            write(frames[step], number)
    finally:
        batch.unpersist()
