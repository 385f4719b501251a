"""Windows by count and by processing time, for each partition on its own.

| window | comes out | has |
|---|---|---|
| tumbling count n | at every n-th tuple | the last n |
| sliding count n, s | at every s-th tuple | the last n (at first, what there is) |
| tumbling duration d | when a batch runs at or after the end of d | the tuples that came within it |
| sliding duration d, s | when a batch runs at or after each s | those of the d before: from end - d on, and before the end |

A tuple's time is when its batch runs. The first window begins with the first batch. Several windows may be due in one batch. A replay of a
batch begins with what was there before it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from headrace.definitions import durations
from headrace.fronts.trident.operations import Task
from headrace.fronts.trident.tuples import Row, refused


class InMemoryWindowsStoreFactory:
    """Where the tuples of open windows are: in memory, as without it."""


@dataclass(frozen=True)
class WindowConfig:
    """How long a window is, and how often one comes: two counts, or two durations in seconds."""

    length: Any
    slide: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", _measure(self.length))
        object.__setattr__(self, "slide", _measure(self.slide))
        if isinstance(self.length, int) != isinstance(self.slide, int):
            raise refused("window", "the length and the slide are not both counts or both durations", "give 10 and 5, or two durations")
        if self.slide > self.length:
            raise refused(
                "window", f"the slide ({self.slide}) is longer than the window ({self.length})", "give the length first, then the slide"
            )

    @property
    def by_time(self) -> bool:
        """Whether it goes by the clock."""
        return isinstance(self.length, float)


class TumblingCountWindow:
    """`TumblingCountWindow.of(n)`."""

    @staticmethod
    def of(count: int) -> WindowConfig:
        """Every `count` tuples."""
        return WindowConfig(count, count)


class SlidingCountWindow:
    """`SlidingCountWindow.of(n, slide)`."""

    @staticmethod
    def of(count: int, slide: int) -> WindowConfig:
        """At every `slide` tuples the last `count`."""
        return WindowConfig(count, slide)


class TumblingDurationWindow:
    """`TumblingDurationWindow.of(duration)`."""

    @staticmethod
    def of(duration: Any) -> WindowConfig:
        """All of each such time."""
        return WindowConfig(duration, duration)


class SlidingDurationWindow:
    """`SlidingDurationWindow.of(duration, slide)`."""

    @staticmethod
    def of(duration: Any, slide: Any) -> WindowConfig:
        """At every `slide` what came in the `duration` before it."""
        return WindowConfig(duration, slide)


@dataclass(frozen=True)
class _Kept:
    """What a partition has of the batches so far: rows with their places, in order, where the last window ended, and the place reached."""

    rows: tuple[Row, ...]
    places: tuple[float, ...]
    end: float
    reached: float


class Buffer:
    """The windows of one partition. A row's place is its number, from 0 on, or the time of its batch; the rest is the same for both."""

    def __init__(self, config: WindowConfig, process: Callable[[Task, Iterable[Row]], Iterable[Row]]) -> None:
        self._config, self._process = config, process
        self._txid: int | None = None
        self._before: _Kept | None = None
        self._kept: _Kept | None = None

    def __call__(self, task: Task, now: float, rows: list[Row]) -> list[Row]:
        """The results of the windows that are due with this batch."""
        if task.batch.txid is not None and task.batch.txid == self._txid:
            self._kept = self._before
        self._before, self._txid = self._kept, task.batch.txid
        return [result for window in self._due(now, rows) for result in self._process(task, window)]

    def _due(self, now: float, rows: list[Row]) -> list[tuple[Row, ...]]:
        length, slide, first = self._config.length, self._config.slide, now if self._config.by_time else 0
        kept = self._kept or _Kept((), (), first, first)
        if self._config.by_time:
            reached = max(now, kept.reached)  # a clock may go back
            new = [reached] * len(rows)
        else:
            reached = kept.reached + len(rows)
            new = [kept.reached + number for number in range(len(rows))]
        held, places, end, due = (*kept.rows, *rows), (*kept.places, *new), kept.end, []
        while end + slide <= reached:
            end += slide
            if window := held[bisect_left(places, end - length) : bisect_left(places, end)]:
                due.append(window)
        rest = bisect_left(places, end + slide - length)
        self._kept = _Kept(held[rest:], places[rest:], end, reached)
        return due


def _measure(size: Any) -> int | float:
    if isinstance(size, int) and not isinstance(size, bool):
        if size < 1:
            raise refused("window", f"{size} is no number of tuples", "give a count from 1 on")
        return size
    if isinstance(size, timedelta):
        return size.total_seconds()
    if isinstance(size, str):
        return durations.micros(size, "window") / 1_000_000
    raise refused("window", f"{size!r} is neither a count nor a duration", 'give a number, a timedelta, or text: "10 seconds"')
