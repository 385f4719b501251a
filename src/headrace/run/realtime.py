"""Real-time: each record on its own, in milliseconds."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from headrace.kernel import branches
from headrace.kernel.python_map import one_by_one
from headrace.planning.groups import Group
from headrace.planning.recipe import Frames, Step


def writer(group: Group) -> DataStreamWriter:
    """The query of a group, up to its trigger and checkpoint."""
    first, *others = (output.sink for output in group.outputs)
    with one_by_one():
        fork = _frame(group.fork)
        frames = Frames(lambda source: source.stream(real_time=True), {group.fork: fork})
        if others:
            routed = [output.sink.routed(frames[output.step]) for output in group.outputs]
            return first.write_routed(branches.merge(fork, routed))
    writer = first.writer(fork)
    assert writer is not None, "the table of modes lets no other sink through"
    return writer


def _frame(step: Step) -> DataFrame:
    # Every branch opens its source anew: real-time mode does not allow one streaming source in two places of a plan.
    if step.source is not None:
        return step.source.stream(real_time=True)
    assert step.apply is not None
    return step.apply(*(_frame(parent) for parent in step.parents))
