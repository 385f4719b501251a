"""A pattern as a scan: the automaton is one expression of the kernel, called for each record with the matches that are on their way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import IllegalArgumentException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.definitions import refusals
from headrace.kernel import jvm
from headrace.kernel.scan import Port, ScanOptions, TimeOptions, Timer, scan_by_call

TIMED_OUT = "timed_out"


@dataclass(frozen=True)
class Condition:
    """A condition of the automaton, what it is called in an error, and the line that has it."""

    column: Column
    called: str
    where: str | None


@dataclass(frozen=True, kw_only=True)
class PatternSpec:
    """What the kernel needs to know of a pattern.

    automaton   its items and edges, as JSON; see `headrace.ops.patterns.automaton`
    steps       the names of the steps, in their order
    unions      names that stand for several steps
    output      columns of a match, over what its steps have taken
    time        the column that time is measured by
    timed_out   whether there is a port for matches that ran out of time
    alarm       whether time goes on without records: by event time, or by the clock
    most        so many matches may a key have on their way
    """

    automaton: str
    steps: Sequence[str]
    conditions: Sequence[Condition]
    output: Sequence[Column]
    time: str | None
    timed_out: bool
    alarm: bool
    most: int
    unions: Mapping[str, Sequence[str]] = field(default_factory=dict)


def scan_pattern(df: DataFrame, *, keys: list[str], spec: PatternSpec, time: TimeOptions) -> DataFrame:
    """The matches of a pattern, each with its `start` and `end` (if there is a time), its key and its output; and the other ports."""
    try:
        java = jvm.package(df.sparkSession).Pattern(df._jdf, _options(df, keys, spec))
    except IllegalArgumentException as failure:
        lines = {condition.called: condition.where for condition in spec.conditions}
        raise jvm.definition_error("match", failure, refusals.types([df]), lines) from None
    state = dict(zip(java.stateNames(), java.stateTypes(), strict=True))
    update = {name: F.col(f"scan.call.{name}") for name in state}
    matches, over = F.col("scan.call.matches"), F.col("scan.call.over")
    ports: Mapping[str, Port] = {TIMED_OUT: Port(output=F.col(f"scan.call.{TIMED_OUT}"), timed=True)} if spec.timed_out else {}
    options: ScanOptions = {
        **time,  # type: ignore[typeddict-item]
        "state": state,
        "update": update,
        "output": matches,
        "ports": ports,
        "forget": over,
        "timer": Timer(at="state.due", update=update, output=matches, ports=ports, forget=over) if spec.alarm else None,
        "time_out": "end" if time.get("event_time") is not None else None,
    }
    ring = jvm.python_column(java.ring()) if spec.alarm else None
    return scan_by_call(df, keys=keys, call=jvm.python_column(java.take()), ring=ring, options=options, operator="match")


def _options(df: DataFrame, keys: Sequence[str], spec: PatternSpec) -> Any:
    chosen = {
        "automaton": spec.automaton,
        "steps": list(spec.steps),
        "unions": {name: list(steps) for name, steps in spec.unions.items()},
        "condition_names": [condition.called for condition in spec.conditions],
        "conditions": jvm.java_columns(condition.column for condition in spec.conditions),
        "output": jvm.java_columns(spec.output),
        "keys": list(keys),
        "alarms": spec.alarm,
        "most": spec.most,
    }
    return jvm.package(df.sparkSession).PatternSpec(chosen if spec.time is None else chosen | {"time": spec.time})
