"""Micro-batch: records in small batches, each with its number; a batch is repeated after a crash, with the same records."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

from headrace.definitions import failpoints
from headrace.kernel import branches, origins
from headrace.kernel.python.mapping import led_past
from headrace.kernel.scan import port
from headrace.planning.groups import Group
from headrace.planning.recipe import Frames, Output, Step
from headrace.run.checkpoints.layouts import Layout, gone_on
from headrace.run.writing import Writers
from headrace.spark import failures


def writer(
    group: Group, layouts: Sequence[Sequence[Layout]], writers: Writers, raised: list[Exception], *, by_spark: bool
) -> DataStreamWriter:
    """The query of a group, up to its trigger and checkpoint; its scans find their fields by these layouts. What is raised here in Python
    is put into `raised`: Spark keeps only text.
    `by_spark`: by Spark's own streaming sink, if there is one for it."""
    with led_past(group.origins):
        frame = gone_on(_frame(group), layouts)
    own = group.outputs[0].sink.spark_writer(origins.hidden(frame)) if by_spark and len(group.outputs) == 1 else None

    def write(batch: DataFrame, number: int) -> None:
        try:
            failpoints.reach("batch: planned")
            _write(group, writers, batch, number)
            failpoints.reach("batch: written")
        except Exception as error:
            raised.append(error)
            # Short, because Spark matches the whole text with a regular expression that overflows its stack, and the query would hang.
            raise RuntimeError(failures.first_line(error)[:200]) from None

    return own or frame.writeStream.foreachBatch(write)


def _frame(group: Group) -> DataFrame:
    """What the query computes: the rows of the fork; with outputs beside it, a column for these and one for each of those."""
    frames = Frames(lambda source: source.stream(real_time=False))
    if group.root is None:
        return origins.placed(_with_origins(frames[group.fork], group.outputs))
    beside = [_with_origins(frames[output.step], [output]) for output in group.beside]
    root, parts = frames[group.root], [*beside, _with_origins(frames[group.fork], group.behind)]
    kinds = [part.schema for part in parts]

    def column(of: int, number: int) -> Column:
        return (F.struct("*") if of == number else F.lit(None).cast(kinds[number])).alias(f"part_{number}")

    rows = [part.select(*(column(of, number) for number in range(len(parts)))) for of, part in enumerate(parts)]
    return origins.placed(branches.merge(root, rows, outputs=True))


def _with_origins(frame: DataFrame, outputs: Sequence[Output]) -> DataFrame:
    """The rows with their origins, if one of the outputs wants them: in a batch nothing tells any more where a row comes from."""
    return origins.to_be_shown(frame) if any(output.sink.origins for output in outputs) else frame


def _parts(group: Group) -> list[Step]:
    return [*(output.step for output in group.beside), group.fork]  # the state last: what passes it by is what the others put out


def _known(group: Group, batch: DataFrame) -> dict[Step, DataFrame]:
    """The steps whose rows a batch has."""
    if group.root is None:
        return {group.fork: origins.hidden(batch)}
    return {step: origins.hidden(port(batch, f"part_{number}")) for number, step in enumerate(_parts(group))}


def _write(group: Group, writers: Writers, batch: DataFrame, number: int) -> None:
    """Every output of one batch, which is computed once and kept while they are written."""
    if len(group.outputs) > 1:
        batch = batch.persist()
    try:
        frames = Frames(lambda source: source.table(), _known(group, batch))
        for output in group.outputs:
            with led_past(group.origins):  # a step that they share is made once
                rows = frames[output.step]
            writers.write(output, rows, number)
            failpoints.reach("batch: an output written")
    finally:
        batch.unpersist()
