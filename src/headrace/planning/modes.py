"""Which operator, source and sink works in which mode, and with which guarantee: the one table.

`check` applies it before anything starts, `headrace modes` prints it, and the reference page is made from it. The rows of operators are
matched with Spark's own plan, so a user's function that aggregates is an aggregate here, whatever it is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from headrace.definitions import durations
from headrace.errors import ModeError, user_line
from headrace.io.connectors import Source
from headrace.planning import plans
from headrace.planning.groups import Group
from headrace.planning.recipe import Output, Step
from headrace.planning.triggers import REAL_TIME_SHORTEST, Trigger

Mode = Literal["batch", "micro-batch", "real-time"]
MODES: tuple[Mode, ...] = ("batch", "micro-batch", "real-time")


@dataclass(frozen=True)
class Yes:
    """It works; `words` say with which guarantee or how."""

    words: str = "yes"


@dataclass(frozen=True)
class No:
    """It does not, for this reason; `fix` is what to do instead."""

    reason: str
    fix: str


@dataclass(frozen=True)
class Row:
    """One line of the table. `kinds` are connectors' kinds, or names of operators in Spark's plans."""

    name: str
    kinds: frozenset[str]
    batch: Yes | No
    micro_batch: Yes | No
    real_time: Yes | No

    def cell(self, mode: Mode) -> Yes | No:
        return {"batch": self.batch, "micro-batch": self.micro_batch, "real-time": self.real_time}[mode]


def _row(name: str, kinds: str, batch: Yes | No = Yes(), micro_batch: Yes | No = Yes(), real_time: Yes | No = Yes()) -> Row:  # noqa: B008
    return Row(name, frozenset(kinds.split()), batch, micro_batch, real_time)


_MICRO = "run it as micro-batch"
_ENDLESS = No("it has no end", _MICRO)
_PYTHON = No(
    "a Python process would make records wait for the end of the batch",
    f"use map, flat_map, filter or scan_python, or {_MICRO}",
)
_GROUPS = No("it would see the records of one batch and not of the group", "use scan_python, features or agg, or a batch run")
_KAFKA_FIRST = No("only Kafka gives records one at a time", f"bring the records to a Kafka topic first, or {_MICRO}")
_KAFKA_LAST = No("it takes whole batches, not single rows", f"write to Kafka, and from there with a micro-batch job; or {_MICRO}")

_TWO_STREAMS = No("Spark joins two streams batch by batch", f"use the feature `latest` for the newest value of a key, or {_MICRO}")

SOURCES = (
    _row("kafka", "kafka", Yes("up to the end of the log"), Yes("replayed after a crash"), Yes("replayed after a crash")),
    _row("files", "files", Yes("all files"), Yes("replayed after a crash"), _KAFKA_FIRST),
    _row("memory", "memory", Yes("all rows"), Yes("replayed while the process lives"), _KAFKA_FIRST),
    _row("receiver", "receiver", Yes("up to its newest record"), Yes("replayed after a crash"), _KAFKA_FIRST),
    _row("socket", "socket", _ENDLESS, Yes("at-most-once"), _KAFKA_FIRST),
    _row("rate", "rate", _ENDLESS, Yes("replayed after a crash"), _KAFKA_FIRST),
)

TWO_STATES = _row(
    "several operators with state before one output",
    "",  # no single operator's: `check_real_time` counts them
    real_time=No(
        "a query has one state there",
        f"ask for all features of a key in one with_features, make one scan of them, put a Kafka topic between them, or {_MICRO}",
    ),
)

OPERATORS = (
    _row("select, where, with_columns, drop", "Project Filter Generate Expand"),
    _row("union", "Union"),
    _row("join with a static table", "Join"),
    _row(
        "join with a static table that is not by equal keys, or not broadcast",
        "ComparingJoin",
        real_time=No("Spark looks rows up by their key there", f"join by equality with F.broadcast(table), or {_MICRO}"),
    ),
    _row("observe", "CollectMetrics"),
    _row("repartition", "Repartition RepartitionByExpression", real_time=Yes("a task slot for each partition")),
    _row("coalesce", "Coalesce", real_time=No("Spark does not merge partitions that do not end", f"leave it out, or {_MICRO}")),
    _row("event_time", "EventTimeWatermark", Yes("no record is late")),
    _row("scan, scan_python and features", "TransformWithState", real_time=Yes("at once; by event time at the end of a batch")),
    _row(
        "map, flat_map, filter: Python functions of a record", "PythonMap", Yes("many at a time"), Yes("many at a time"), Yes("one by one")
    ),
    _row("PySpark's own Python state", "TransformWithStateInPySpark FlatMapGroupsInPandasWithState", real_time=_PYTHON),
    _row(
        "key_by().agg, tumbling and sliding windows", "Aggregate", Yes("final rows"), Yes("rows that changed"), Yes("a row for each record")
    ),
    _row(
        "session windows",
        "SessionWindow",
        Yes("final rows"),
        Yes("closed sessions"),
        No("Spark does not merge sessions record by record", f"use a scan, or {_MICRO}"),
    ),
    _row("dropDuplicates", "Deduplicate"),
    _row(
        "dropDuplicatesWithinWatermark",
        "DeduplicateWithinWatermark",
        No("without a stream there is no watermark", "use dropDuplicates"),
        Yes(),
        No("Spark does not expire duplicates record by record", f"use dropDuplicates, or {_MICRO}"),
    ),
    _row("join of two streams: inner, semi", "StreamStreamJoin", real_time=_TWO_STREAMS),
    _row(
        "join of two streams: left, right, full",
        "StreamStreamOuterJoin",
        micro_batch=Yes("rows without a partner when the watermark has passed their bound"),
        real_time=_TWO_STREAMS,
    ),
    _row(
        "Python functions (UDFs, mapInPandas, …)",
        "BatchEvalPython ArrowEvalPython BatchEvalPythonUDTF ArrowEvalPythonUDTF MapInPandas MapInArrow",
        real_time=_PYTHON,
    ),
    _row(
        "Python functions of a group (applyInPandas, …)",
        "FlatMapGroupsInPandas FlatMapGroupsInArrow FlatMapCoGroupsInPandas FlatMapCoGroupsInArrow",
        micro_batch=_GROUPS,
        real_time=_GROUPS,
    ),
    _row(
        "sort",
        "Sort",
        micro_batch=Yes("after an aggregate, in complete mode"),
        real_time=No("a stream that does not end cannot be sorted", "sort where it is read"),
    ),
    _row(
        "limit",
        "GlobalLimit",
        micro_batch=Yes("the first records of the stream, in append mode"),
        real_time=No("Spark counts rows batch by batch", f"use a scan that counts, or {_MICRO}"),
    ),
    _row(
        "functions over a window of rows (lag, row_number, …)",
        "Window",
        micro_batch=No(
            "it would need all records of the stream, sorted", "use the features `previous`, `running` and `last_n`, or a batch run"
        ),
        real_time=No(
            "it would need all records of the stream, sorted", "use the features `previous`, `running` and `last_n`, or a batch run"
        ),
    ),
    TWO_STATES,
)

SINKS = (
    _row("kafka", "kafka", Yes("at-least-once"), Yes("at-least-once"), Yes("at-least-once")),
    _row("files", "files", Yes("a directory anew"), Yes("exactly-once"), _KAFKA_LAST),
    _row(
        "memory",
        "memory",
        Yes("anew"),
        Yes("exactly-once while the process lives, after the rows of earlier micro-batches"),
        _KAFKA_LAST,
    ),
    _row("callback", "callback", Yes("one call"), Yes("at-least-once"), _KAFKA_LAST),
    _row("console", "console", Yes(), Yes("at-least-once"), Yes("at-least-once, at the end of each batch")),
)


def check(outputs: Sequence[Output], mode: Mode) -> None:
    """Raise ModeError for the first thing in these outputs that this mode does not have."""
    if mode not in MODES:
        raise ModeError(f"there is no mode {mode!r}", fix=f"use one of {', '.join(MODES)}", where=user_line())
    for output in outputs:
        for step in output.step.ancestry():
            if step.source is not None:
                _allow(SOURCES, step.source.kind, mode, step.operator, step.where)
        for kind in reversed(output.step.kinds):
            where = _introduced(output.step, kind).where
            _allow(OPERATORS, kind, mode, None, where)
            if mode == "real-time" and kind != plans.INPUT and not any(kind in row.kinds for row in OPERATORS):
                # Spark has a list of what it can do there, and would stop the job at its first record.
                raise ModeError(f"{kind}: not in real-time mode, because Spark does not have it there", fix=_MICRO, where=where)
        _allow(SINKS, output.sink.kind, mode, f"to.{output.sink.kind}", output.where)


def has_end(source: Source) -> bool:
    """Whether a batch can have all of it."""
    return any(isinstance(row.batch, Yes) for row in SOURCES if source.kind in row.kinds)


def guarantee(output: Output, mode: Mode) -> str:
    """What the table promises for an output: its sink's word, unless a source has lost records before."""
    cells = [row.cell(mode) for source in output.step.sources() for row in SOURCES if source.kind in row.kinds]
    if any(isinstance(cell, Yes) and cell.words == "at-most-once" for cell in cells):
        return "at-most-once"
    return next(cell.words for row in SINKS if output.sink.kind in row.kinds and isinstance(cell := row.cell(mode), Yes))


def check_plan(group: Group, output_mode: str) -> None:
    """Raise ModeError if Spark itself has a reason not to run this as a stream; most of them the table knows first."""
    reason = plans.refusal(group.fork.preview, output_mode)
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
            fix=f"{_MICRO}, or with another trigger",
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
                fix=f"write both to topics of one Kafka cluster with the same options, or {_MICRO}",
                where=other.where,
            )


def _allow(rows: Iterable[Row], kind: str, mode: Mode, name: str | None, where: str | None) -> None:
    for row in rows:
        cell = row.cell(mode) if kind in row.kinds else None
        if isinstance(cell, No):
            raise ModeError(f"{name or row.name}: not in {mode} mode, because {cell.reason}", fix=cell.fix, where=where)


def _introduced(step: Step, kind: str) -> Step:
    """The first step whose plan has an operator of this kind: the line to mend."""
    return next(found for found in step.ancestry() if kind in found.kinds)
