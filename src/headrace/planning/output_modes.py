"""Which rows of a result are put out: those that are final, those that changed, or all.

| result                                        | append | update | complete |
|-----------------------------------------------|--------|--------|----------|
| records, scans                                | yes    | yes    | no: the result is the stream itself, and not kept |
| aggregates without `event_time`               | no: a row may always change | yes | yes |
| windows behind `event_time`                   | yes, when the window closes | yes | yes |
| session windows behind `event_time`           | yes, when the session closes | no: a session that grows changes its key | yes |
| windows with triggers                         | as records: the triggers say when a pane goes out | the same | no |
| any behind an outer join of two streams       | as above | no: a row without a partner comes once, when it is final | no |
| any behind another join of two streams        | as above | as above | no: the pairs are not kept |
| any, into files                               | as above | no: a file cannot change | no |
| totals, in real time                          | no: rows go out before it is known that they are final | yes | no |
| windows, in real time                         | yes, when the window closes, at the end of a batch | yes | no |

Without a choice it is update for aggregates and append for the rest, or what is left of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headrace.errors import ModeError
from headrace.planning.recipe import Output, Step


@dataclass(frozen=True)
class Limit:
    """Some output modes, the best first, and why there are no others."""

    modes: tuple[str, ...]
    reason: str


_RECORDS = Limit(("append", "update"), "only the result of an aggregate can be put out as a whole")
_TOTALS = Limit(("update", "complete"), "without a watermark, of event_time, and a window a row of an aggregate may always change again")
_ENDLESS = Limit(("complete",), "without a watermark, of event_time, a session never ends")
_WINDOWS = Limit(("update", "append", "complete"), "aggregates have these")
_SESSIONS = Limit(("append", "complete"), "a session that grows is not the row that it was")
_OUTER_JOIN = Limit(("append",), "a row without a partner, of an outer join of two streams, comes once, when it is final")
_JOIN = Limit(("append", "update"), "the pairs of a join of two streams are not kept")
_REAL_TIME = Limit(("update",), "in real time a row goes out before it is known to be final")
_NOT_WHOLE = Limit(("update", "append"), "in real time a result is never put out as a whole")


def of_windows(outputs: Sequence[Output], asked: str | None) -> str:
    """When windows without a trigger of their own put out rows. In real time Spark has but one mode, and windows have two all the same."""
    return choose(outputs, asked, real_time=False)


def choose(outputs: Sequence[Output], asked: str | None, *, real_time: bool) -> str:
    """The output mode of one query. ModeError if it cannot have the one that is asked for, or none at all."""
    limits = list(_limits(outputs, real_time))
    first = outputs[0]
    for limit in limits:
        if asked is not None and asked not in limit.modes:
            raise ModeError(
                f"{first.name}: output mode {asked!r} cannot be had, because {limit.reason}",
                fix=f"use {' or '.join(limit.modes)}",
                where=first.where,
            )
    left = [mode for mode in limits[0].modes if all(mode in limit.modes for limit in limits)]
    if not left or (asked is None and left == ["complete"]):  # the whole result each time is nothing to do unasked
        raise ModeError(
            f"{first.name}: there is no output mode for it, because {', and '.join(limit.reason for limit in limits)}",
            fix='write to another sink, or aggregate windows: .event_time("column", "10 minutes").window(…)',
            where=first.where,
        )
    # A record's own row is final when it goes out, so where Spark only knows update it is the same as append.
    return "update" if real_time else asked or left[0]


def _limits(outputs: Sequence[Output], real_time: bool) -> Iterator[Limit]:
    kinds = {kind for output in outputs for kind in output.step.kinds}
    steps = {step for output in outputs for step in output.step.ancestry() if step.row is not None}
    yield (result := _of_result(kinds, steps))
    if "StreamStreamOuterJoin" in kinds:
        yield _OUTER_JOIN
    elif "StreamStreamJoin" in kinds:
        yield _JOIN
    for output in outputs:
        if output.sink.output_modes is not None:
            yield Limit(*output.sink.output_modes)
    if real_time and result is not _RECORDS:
        yield _REAL_TIME if "Aggregate" in kinds else _NOT_WHOLE


def _of_result(kinds: set[str], steps: set[Step]) -> Limit:
    rows = {name: step for step in steps if step.row is not None for name in step.row.operators}
    windows = rows.get("session_window") or rows.get("window")
    if windows is not None and "Aggregate" not in kinds:
        ends = windows.state["window"]["timed"]
        return (_SESSIONS if "session_window" in rows else _WINDOWS) if ends else _ENDLESS if "session_window" in rows else _TOTALS
    if "SessionWindow" in kinds:
        return _SESSIONS
    if "Aggregate" not in kinds:
        return _RECORDS
    return _WINDOWS if "EventTimeWatermark" in kinds else _TOTALS
