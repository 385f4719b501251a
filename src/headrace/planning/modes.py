"""The table of modes, applied: what a mode does not have is refused before anything starts, with the line that asks for it."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from headrace.definitions import durations
from headrace.errors import ModeError, user_line
from headrace.io.connectors import Source
from headrace.planning import plans
from headrace.planning.groups import Group
from headrace.planning.recipe import Output, Step
from headrace.planning.table import MODES, OPERATORS, TWO_STATES, Mode, No, Row, Yes, of_connector
from headrace.planning.triggers import REAL_TIME_SHORTEST, Trigger


def check(outputs: Sequence[Output], mode: Mode) -> None:
    """Raise ModeError for the first thing in these outputs that this mode does not have."""
    if mode not in MODES:
        raise ModeError(f"there is no mode {mode!r}", fix=f"use one of {', '.join(MODES)}", where=user_line())
    for output in outputs:
        for step in output.step.ancestry():
            if step.source is not None:
                _allow([of_connector(type(step.source))], mode, step.where, step.operator)
            elif step.row is not None:
                _allow([step.row], mode, step.where)
            else:
                for kind in step.own_kinds:
                    _allow_kind(kind, mode, step)
        _verify(output.step, mode)
        _allow([of_connector(type(output.sink))], mode, output.where, f"to.{output.sink.kind}")


def _verify(step: Step, mode: Mode) -> None:
    """Hold the whole plan against the table, too: a column that calls a Python function may be in any operator."""
    declared = {kind for each in step.ancestry() if each.row is not None for kind in each.row.kinds}
    for kind in reversed(step.kinds):
        if kind not in declared:
            _allow_kind(kind, mode, step)


def has_end(source: Source) -> bool:
    """Whether a batch can have all of it."""
    return isinstance(source.support("batch"), Yes)


def check_plan(group: Group, planned: DataFrame, output_mode: str) -> None:
    """Raise ModeError if Spark itself has a reason not to run this as a stream; most of them the table knows first."""
    reason = plans.refusal(planned, output_mode)
    if reason is not None:
        instead = next((fix for sign, fix in _INSTEAD.items() if sign in reason), "leave that out of the stream")
        raise ModeError(f"{group.name}: {reason}", fix=f'{instead}; or run it as a batch: run("batch")', where=group.outputs[0].where)


# What to do instead, by what Spark says of it.
_INSTEAD = {
    "Distinct aggregations": "use F.approx_count_distinct; or drop duplicates before: then(DataFrame.dropDuplicates, ['id'])",
    "Sorting": 'sort where it is read; or sort an aggregate, with output_mode="complete"',
    "Limits": 'keep the first records with output_mode="append", or count them in a scan',
    "watermark": 'say which column is the time: .event_time("at", "10 minutes"), of both streams of a join',
    "Watermark": 'say which column is the time: .event_time("at", "10 minutes"), of both streams of a join',
    "output mode": "give the job another output_mode: append, update or complete",
    "Union between streaming and batch": "read both as streams, or join the table",
    "outer": "use an inner or left join, with the stream on the left",
    "Outer": "use an inner or left join, with the stream on the left",
    "Multiple": "put a Kafka topic between the two, and read it in another job",
    "correctness": "put a Kafka topic between the two operators that keep state, and read it in another job",
    "Sampling": "take records by a hash of their key: where(F.pmod(F.hash('id'), F.lit(10)) == 0)",
    "Grouping Sets": "make a stream for each grouping, and union them",
}


def check_real_time(groups: Sequence[Group], trigger: Trigger) -> None:
    """Raise ModeError if the queries ask for more than real-time mode can give."""
    if trigger.ends:
        raise ModeError(
            f"the trigger `{'finish' if trigger.finishes else 'once'}`: not in real-time mode, because it does not end",
            fix="run it as micro-batch, or with another trigger",
            where=user_line(),
        )
    if trigger.interval is not None and durations.micros(trigger.interval) < durations.micros(REAL_TIME_SHORTEST):
        raise ModeError(
            f"every {trigger.interval}: not in real-time mode, where the interval only says how often the job saves where it is",
            fix=f"give {REAL_TIME_SHORTEST} or more; rows go out at once all the same",
            where=user_line(),
        )
    for group in groups:
        _check_company(group)
        stateful = [step for step in group.fork.ancestry() if step.stateful]
        if len(stateful) > 1:
            assert isinstance(TWO_STATES.real_time, No)
            raise ModeError(
                f"{stateful[0].operator} and {stateful[1].operator}: not both in real-time mode, because {TWO_STATES.real_time.reason}",
                fix=TWO_STATES.real_time.fix,
                where=stateful[1].where,
            )


def _check_company(group: Group) -> None:
    """Outputs behind one state are one query in real time, which one sink writes."""
    first, *others = group.outputs
    for other in others:
        if other.sink.company is None or other.sink.company != first.sink.company:
            raise ModeError(
                f"{first.name} and {other.name}: not both in real-time mode, because outputs behind one state are one query there",
                fix="write both to topics of one Kafka cluster with the same options, or run it as micro-batch",
                where=other.where,
            )


def _of_kind(rows: Sequence[Row], kind: str) -> list[Row]:
    return [row for row in rows if kind in row.kinds]


def _allow_kind(kind: str, mode: Mode, step: Step) -> None:
    """Raise ModeError if the mode lacks this operator of Spark's, at the step that brings it in."""
    rows = _of_kind(OPERATORS, kind)
    if not rows and mode == "real-time" and kind != plans.INPUT:
        # Spark has a list of what it can do there, and would stop the job at its first record.
        where = _introduced(step, kind).where
        raise ModeError(f"{kind}: not in real-time mode, because Spark does not have it there", fix="run it as micro-batch", where=where)
    if all(isinstance(row.cell(mode), No) for row in rows):  # several operators may be of one kind; those that a mode lacks name their row
        _allow(rows, mode, _introduced(step, kind).where)


def _allow(rows: Sequence[Row], mode: Mode, where: str | None, name: str | None = None) -> None:
    for row in rows:
        cell = row.cell(mode)
        if isinstance(cell, No):
            raise ModeError(f"{name or row.name}: not in {mode} mode, because {cell.reason}", fix=cell.fix, where=where)


def _introduced(step: Step, kind: str) -> Step:
    """The first step whose plan has an operator of this kind: the line to mend."""
    return next(each for each in step.ancestry() if kind in each.kinds)
