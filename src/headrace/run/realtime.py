"""Real-time: each record on its own, in milliseconds."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from headrace.io.connectors import Source
from headrace.run.groups import Group
from headrace.run.recipe import Step


def writer(group: Group) -> DataStreamWriter:
    """The query of a single output, up to its trigger and checkpoint."""
    (output,) = group.outputs
    found = output.sink.writer(_frame(output.step))
    assert found is not None, "the table of modes lets no other sink through"
    return found


def _frame(step: Step) -> DataFrame:
    # Every branch opens its source anew: real-time mode does not allow one streaming source in two places of a plan.
    if step.source is not None:
        return step.source.stream(real_time=True)
    assert step.apply is not None
    return step.apply(*(_frame(parent) for parent in step.parents))


def openings(step: Step) -> list[Source]:
    """The sources, as often as they will be opened."""
    return [step.source] if step.source is not None else [source for parent in step.parents for source in openings(parent)]
