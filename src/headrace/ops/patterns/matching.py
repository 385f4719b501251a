"""Matches of a pattern among the records of each key.

>>> import headrace as hr
>>> payments = hr.session().sql("SELECT 1 AS who, n AS amount, timestamp_seconds(n) AS at FROM VALUES (1), (2), (9), (3), (8) AS t(n)")
>>> pattern = hr.step("small", "amount < 3").one_or_more().greedy().followed_by("large", "amount > 7").within("8 seconds")
>>> found = match(payments, pattern, keys="who", event_time="at", output=["count(small.*) AS smalls", "large.amount"])
>>> [(row.smalls, row.amount) for row in hr.port(found, "main").collect()]
[(2, 8), (1, 8)]
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypedDict, Unpack

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.definitions import arguments, durations
from headrace.errors import DefinitionError, user_line
from headrace.kernel.patterns import TIMED_OUT, Condition, PatternSpec, scan_pattern
from headrace.kernel.ports import LATE, MAIN
from headrace.kernel.scan import TimeOptions
from headrace.ops.patterns.automaton import Automaton
from headrace.ops.patterns.checks import check_bound, check_columns, check_pattern
from headrace.ops.patterns.pattern import Pattern

MOST = 10_000
"""So many matches may a key have on their way, unless it is said otherwise."""

_SKIP = re.compile(r"none|to next|past last|to (?P<end>first|last) (?P<step>\w+)(?P<must> or fail)?")


class MatchOptions(TypedDict, total=False):
    """What `match` is told besides the pattern and the keys.

    output      the columns of a match, behind its `start`, its `end` and its key. `F.sum("small.amount")`, or any other of Spark's
                aggregates (`count`, `first`, `last`, `sum`, `collect_list`, …), is over what the step `small` has taken, `small.amount`
                is that of its last record, and `match` stands for all steps. Text is an expression in SQL: `"sum(small.amount) AS total"`,
                `"count(small.*) AS n"`. A bare name is of the last record of the match. Default: for each step a list of its records.
    skip        what is dropped after a match: every match on its way, or complete and held back, that began

                "none"          (default) none: all matches, also several of one start
                "to next"       at its first record
                "past last"     at its last record or before
                "to first x"    before the first record of the step x; if there is none, nothing (`"to first x or fail"`: the job fails)
                "to last x"     before the last record of x

                With any but "none", a match is held back as long as one that began earlier is on its way.
    event_time, delay, order    records are taken in the order of this time, as in `scan`. Late ones go out of the port `late`.
    time        without `event_time`, records are taken as they arrive, and this column is what `within` measures. Time goes on with the
                records of the key. One without a time is in no match.
    clock       with `time`: time also goes on with the clock. For records that are from now.
    idle        forget a key that had no record for so long, as in `scan`, and the matches that it has on their way.
    most        so many matches may a key have on their way; one more fails the job. It must be given where nothing else bounds them.
    """

    output: Sequence[Column | str] | Column | str
    skip: str
    event_time: str | None
    delay: str
    order: str | Sequence[str]
    time: str | None
    clock: bool
    idle: str | None
    most: int


def match(df: DataFrame, pattern: Pattern, *, keys: str | Sequence[str], **options: Unpack[MatchOptions]) -> DataFrame:
    """The matches of a pattern among the records of each key. The options are those of `MatchOptions`.

    Each match is a row: `start`, the time of its first record, `end`, the time at which it is known (if there is a time), the key and the
    output. It is known with its last record; an absence, when its time is over; one that is held back, when it is let go.
    A match that began and has not become complete when the time of `within` is over is a row of the port `timed_out`, of the same columns.
    Its `end` is that moment. A pattern with `within` has that port.

    Matches of a key come in the order in which they are known; of one moment, in the order in which they began; of one start, that which
    took a record comes before that which skipped it.

    State: for each match on its way what its conditions and its output ask for, a few numbers and no records (unless they ask for lists);
    a key that has none keeps nothing. Each record looks at all of its key's. A pattern in which they could wait for ever is refused.
    """
    arguments.table("match", df, fix="give a DataFrame; a stream has a method for it: stream.key_by('key').match(pattern)")
    arguments.options("match", options, MatchOptions)
    names = arguments.names("match: key", keys)
    table = check_pattern(pattern)
    check_columns(pattern, df.columns)
    event_time, time, clock = options.get("event_time"), options.get("time"), arguments.flag("match: clock", options.get("clock", False))
    measured = _time(pattern, event_time, time, clock)
    most = _most(pattern, table, options.get("most"))
    timed = has_time_outs(pattern)
    spec = PatternSpec(
        automaton=table.text(within=0 if pattern.window is None else durations.micros(pattern.window), **_skip(pattern, options)),
        steps=[step.name for step in pattern.steps() if not step.absent],
        conditions=[_condition(*each) for each in table.conditions],
        output=_output(df, pattern, options.get("output")),
        time=measured,
        timed_out=timed,
        alarm=timed and (event_time is not None or clock),
        most=most,
    )
    passed: TimeOptions = {name: options[name] for name in ("order", "event_time", "delay", "idle") if name in options}  # type: ignore
    return scan_pattern(df, keys=names, spec=spec, time=passed)


def ports_of_match(pattern: Pattern, options: MatchOptions) -> list[str]:
    """The names of what `match` puts out."""
    timed = [TIMED_OUT] if has_time_outs(pattern) else []
    return [MAIN, *timed, *([LATE] if options.get("event_time") is not None else [])]


def has_time_outs(pattern: Pattern) -> bool:
    return pattern.window is not None or any(step.own for step in pattern.steps())


def _condition(condition: Any, part: Any) -> Condition:
    called = f"the condition of '{part.name}'" if condition is part.condition or part.condition is None else f"until of '{part.name}'"
    column = arguments.condition(f"match: {called}", condition)
    assert column is not None
    return Condition(column, called, part.where)


def _time(pattern: Pattern, event_time: str | None, time: str | None, clock: bool) -> str | None:
    if event_time is not None:
        if time is not None or clock:
            raise _refused("time and clock are for records that are taken as they arrive", "leave them out, or event_time")
        return arguments.name("match: event_time", event_time)
    if time is None and has_time_outs(pattern):
        raise _refused(
            "within needs to know which column is the time", "name it: event_time='at', or time='at' to take records as they arrive"
        )
    if time is None and clock:
        raise _refused("clock needs to know which column is the time", "name it: time='at'")
    return None if time is None else arguments.name("match: time", time)


def _most(pattern: Pattern, table: Automaton, most: int | None) -> int:
    if most is None:
        check_bound(pattern, table)
        return MOST
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise _refused(f"most: {arguments.shown(most)} is not a number of matches", "give a whole number, 1 or more")
    return most


def _skip(pattern: Pattern, options: MatchOptions) -> dict[str, Any]:
    skip = options.get("skip", "none")
    asked = _SKIP.fullmatch(skip) if isinstance(skip, str) else None
    if asked is None:
        raise _refused(
            f"skip: {arguments.shown(skip)} is not known", "use 'none', 'to next', 'past last', 'to first x' or 'to last x', x being a step"
        )
    steps = [step.name for step in pattern.steps() if not step.absent]
    if asked["step"] is None:
        return {"skip": skip.removeprefix("to ").removeprefix("past "), "skipStep": -1, "mustSkip": False}
    if asked["step"] not in steps:
        raise _refused(f"skip: there is no step '{asked['step']}' that takes records", f"name one of {', '.join(steps)}")
    return {"skip": f"to {asked['end']}", "skipStep": steps.index(asked["step"]), "mustSkip": asked["must"] is not None}


def _output(df: DataFrame, pattern: Pattern, output: Sequence[Column | str] | Column | str | None) -> list[Column]:
    if output is None:
        record = [f"`{name}`" for name in df.columns]
        steps = (step.name for step in pattern.steps() if not step.absent)
        return [F.collect_list(F.struct(*(F.col(f"{step}.{name}") for name in record))).alias(step) for step in steps]
    many = output if isinstance(output, Sequence) and not isinstance(output, str) else [output]
    return [arguments.expression("match: output", each) for each in many]


def _refused(what: str, fix: str) -> DefinitionError:
    return DefinitionError(f"match: {what}", fix=fix, where=user_line())
