"""Real-time: each record on its own, in milliseconds."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from headrace.io.connectors import Source
from headrace.kernel import branches
from headrace.kernel.python.mapping import one_by_one
from headrace.planning import plans
from headrace.planning.groups import Group
from headrace.planning.recipe import Frames, Step
from headrace.run.checkpoints.layouts import Layout, gone_on


def writer(group: Group, layouts: Sequence[Sequence[Layout]]) -> DataStreamWriter:
    """The query of a group, up to its trigger and checkpoint; its scans find their fields by these layouts."""
    first, *others = (output.sink for output in group.outputs)
    with one_by_one():
        root = _frame(group.root or group.fork)
        frames = Frames(_open, {group.root or group.fork: root})
        if others:
            return first.write_routed(gone_on(_routed(group, root, frames), layouts))
    writer = first.spark_writer(gone_on(root, layouts))
    assert writer is not None, "the table of modes lets no other sink through"
    return writer


def _routed(group: Group, root: DataFrame, frames: Frames) -> DataFrame:
    """The rows of all outputs, each of which says where it goes."""
    behind = [output.sink.routed(frames[output.step]) for output in group.behind]
    merged = branches.merge(frames[group.fork], behind, outputs=True) if len(behind) > 1 else behind[0]
    # The state comes last: what passes it by is then what the others put out, and nothing else of their records.
    if not group.beside:
        return merged
    return branches.merge(root, [*(output.sink.routed(frames[output.step]) for output in group.beside), merged], outputs=True)


def _open(source: Source) -> DataFrame:
    return source.stream(real_time=True)


def _frame(step: Step) -> DataFrame:
    shared = Frames(_open)[step]
    # Real-time mode does not allow one streaming source in two places of a plan: where it would be, every branch opens it anew.
    return shared if plans.sources_are_distinct(shared) else _separate(step)


def _separate(step: Step) -> DataFrame:
    if step.source is not None:
        return _open(step.source)
    assert step.apply is not None
    return step.apply(*(_separate(parent) for parent in step.parents))
