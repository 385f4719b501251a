"""A stream in windows: `stream.window(…)`, up to its `agg`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypedDict, cast

from pyspark.sql import Column, DataFrame

from headrace.definitions import arguments, durations
from headrace.errors import DefinitionError, user_line
from headrace.fronts import hints
from headrace.kernel.event_time import time_columns
from headrace.ops import windows
from headrace.ops.windows import ACCUMULATIONS, Accumulation, OwnFold, Trigger, Window, Windowing

if TYPE_CHECKING:
    from headrace.fronts.stream import Stream


@dataclass(frozen=True)
class Clock:
    """The time of the clock, where a column is named otherwise: `on=hr.clock`."""

    def __repr__(self) -> str:
        return "clock"


clock = Clock()
"""The clock: `window(hr.tumbling("1 minute"), on=hr.clock)` are the minutes in which records are processed. A batch is one moment."""


class WindowOptions(TypedDict, total=False):
    """What windows are told besides how they cut.

    on        the column of the time, or `hr.clock`; that of `event_time` if not given. A column that has no `event_time` is taken to come
              in order if the windows have panes, so what is later is late; without panes its windows never end.
    lateness  how long after its end a window takes records, and puts out late panes. Default: not at all.
    early     a trigger for panes before the end: a number of records, a duration by the clock, or `hr.after_any(…)` and the like.
    late      the same for panes behind the end; a pane for each record, if there is a lateness and it is not given.
    trigger   another trigger than `hr.after_watermark(early=…, late=…)`.
    panes     "accumulating" (all records of the window), "discarding" (those since the last pane), "retracting" (all, and the last pane
              taken back before).
    """

    on: str | Clock | None
    lateness: str | None
    early: Any
    late: Any
    trigger: Trigger | None
    panes: Accumulation


class Windowed:
    """A stream, taken apart by window and key; made by `Stream.window`."""

    def __init__(self, stream: Stream, window: Window, by: tuple[str, ...], options: WindowOptions) -> None:
        arguments.options("window", options, WindowOptions)
        if not isinstance(window, Window):
            raise DefinitionError(
                f"window: {arguments.shown(window)} is no window",
                fix='give one: tumbling("1 hour"), sliding or sessions',
                where=user_line(),
            )
        self.stream = stream
        self.windowing = _windowing(stream, window, by, options)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise hints.of_windowed(self, name)

    def agg(self, *columns: Column, **more: Column | OwnFold) -> Stream:
        """One row for each pane of a window and key: `start`, `end`, the key, the aggregates, and `pane` if there may be several. Any of
        Spark's aggregates will do, `F.count_distinct` and `F.collect_list` included, and `hr.fold` for one's own: `agg(n=F.count("*"))`.

        What no window takes comes out of the port `late`. State: one row for each key and window that has not ended.
        """
        windowing = self.windowing

        def aggregate(df: DataFrame) -> DataFrame:
            return windows.aggregate(df, windowing.now(), windows.named(df, columns, more))

        row = "panes" if windowing.trigger is not None else windowing.window.row
        stepped = self.stream._then("window", aggregate, row=row, window=windowing.described())
        return stepped._parted("window", windows.ports_of(windowing))


def _windowing(stream: Stream, window: Window, by: tuple[str, ...], options: WindowOptions) -> Windowing:
    on, panes = options.get("on"), options.get("panes", "accumulating")
    if window.decided and (refused := sorted(options.keys() - {"on"})):
        raise DefinitionError(
            f"window: {refused[0]}=: records decide when such a window is put out, and no trigger",
            fix=f"leave out {refused[0]}=",
            where=user_line(),
        )
    arguments.one_of("window: panes", panes, ACCUMULATIONS)
    by_clock = isinstance(on, Clock)
    lateness = 0 if (lateness_text := options.get("lateness")) is None else durations.delay(lateness_text, "window: lateness")
    trigger = _trigger(options, lateness)
    if by_clock and lateness_text is not None:
        raise DefinitionError(
            "window: by the clock nothing is late", fix="leave out lateness=, or name a column: on='at'", where=user_line()
        )
    known = time_columns(stream.step.preview)
    time = None if by_clock else _time(known, window) if on is None else arguments.name("window: on", cast("str", on))
    if time is not None:
        stream._named("window: on", [time])
    timed = time is not None and (time in known or trigger is not None or window.decided)
    return Windowing(window, by, time, by_clock, timed, trigger, lateness, panes)


def _trigger(options: WindowOptions, lateness: int) -> Trigger | None:
    early, late, whole = options.get("early"), options.get("late"), options.get("trigger")
    if whole is not None:
        if early is not None or late is not None:
            raise DefinitionError(
                "window: a trigger of its own takes the place of early and late",
                fix="give them to it: trigger=hr.after_watermark(early=…, late=…)", where=user_line(),
            )  # fmt: skip
        return windows.trigger(whole, "window: trigger")
    if late is not None and not lateness:
        raise DefinitionError(
            "window: there are no late panes without a lateness", fix='say how long: lateness="10 minutes"', where=user_line()
        )
    if early is None and options.get("lateness") is None and options.get("panes", "accumulating") == "accumulating":
        return None
    often = None if early is None else windows.trigger(early, "window: early")
    behind = None if not lateness else windows.trigger(1 if late is None else late, "window: late")
    return windows.after_watermark(early=often, late=behind)


def _time(known: list[str], window: Window) -> str | None:
    if window.decided:
        return None
    if not known and window.needs_time:
        raise DefinitionError(
            "window: it is not known which column is the time",
            fix='.event_time("column", "10 minutes") before it, or on="column"',
            where=user_line(),
        )
    return known[0] if known else None
