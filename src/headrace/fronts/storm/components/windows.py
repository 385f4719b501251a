"""Windowed bolts: `execute(window)` for each window of tuples, by count or by time, that of the clock or the tuples' own.

A window by duration that ends at e holds the tuples with e - length < time <= e. By the tuples' own time (`withTimestampField`) a window is
given when the watermark has reached its end: the watermark is the oldest of the newest times of all input streams, less the lag, and moves
every watermark interval. The first window ends at the earliest time rounded up to the slide; windows without a tuple are not given. A tuple
that is older than the watermark is late: it goes to the late stream, if there is one, and is acked.

What is emitted is anchored to all tuples of the window, and a tuple is acked when it leaves it: so a window must be shorter than the
message time-out, and by count not longer than `topology.max.spout.pending`. State: the tuples of the window, in memory.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from headrace.fronts.storm.components.rich import BaseRichBolt, OutputCollector
from headrace.fronts.storm.graph.layout import Stream
from headrace.fronts.storm.graph.tuples import SYSTEM, Tuple
from headrace.fronts.storm.tasks.bolts import BoltTask
from headrace.fronts.storm.tasks.task import Context

SLIDE, WATERMARK = "__slide", "__watermark"
"""The streams of the clock's tuples by which windows move."""


@dataclass(frozen=True)
class Count:
    """So many tuples."""

    n: int

    @staticmethod
    def of(n: int) -> Count:
        return Count(n)


@dataclass(frozen=True)
class Duration:
    """So many milliseconds."""

    millis: float

    @staticmethod
    def of(millis: float) -> Duration:
        return Duration(millis)

    @staticmethod
    def seconds(n: float) -> Duration:
        return Duration(n * 1000)

    @staticmethod
    def minutes(n: float) -> Duration:
        return Duration(n * 60_000)

    @staticmethod
    def hours(n: float) -> Duration:
        return Duration(n * 3_600_000)


class TupleWindow:
    """The tuples of a window; those that were not in the one before, and those that have left since then."""

    def __init__(self, tuples: list[Tuple], new: list[Tuple], expired: list[Tuple], start: float | None, end: float) -> None:
        self._tuples, self._new, self._expired, self._start, self._end = tuples, new, expired, start, end

    def get(self) -> list[Tuple]:
        return self._tuples

    def getNew(self) -> list[Tuple]:  # noqa: N802
        return self._new

    def getExpired(self) -> list[Tuple]:  # noqa: N802
        return self._expired

    def getIter(self) -> Iterator[Tuple]:  # noqa: N802
        return iter(self._tuples)

    def getStartTimestamp(self) -> float | None:  # noqa: N802
        """In milliseconds; none for a window by count."""
        return self._start

    def getEndTimestamp(self) -> float:  # noqa: N802
        return self._end


class BaseWindowedBolt(BaseRichBolt):
    """`prepare(conf, context, collector)` and `execute(window)`. How it is cut is said of the object: `Sum().withWindow(Count(30))`."""

    _length: Count | Duration | None = None
    _slide: Count | Duration | None = None
    _time: str | Callable[[Tuple], Any] | None = None
    _lag = 0.0
    _interval = 1000.0
    _late: str | None = None

    def withWindow(self, length: Count | Duration, slide: Count | Duration | None = None) -> BaseWindowedBolt:  # noqa: N802
        """Without a slide it slides at every tuple."""
        self._length, self._slide = length, slide or Count(1)
        return self

    def withTumblingWindow(self, length: Count | Duration) -> BaseWindowedBolt:  # noqa: N802
        self._length = self._slide = length
        return self

    def withTimestampField(self, name: str) -> BaseWindowedBolt:  # noqa: N802
        """The field that holds a tuple's time: a number of milliseconds, or a datetime."""
        self._time = name
        return self

    def withTimestampExtractor(self, extract: Callable[[Tuple], Any]) -> BaseWindowedBolt:  # noqa: N802
        self._time = extract
        return self

    def withLag(self, lag: Duration) -> BaseWindowedBolt:  # noqa: N802
        self._lag = lag.millis
        return self

    def withWatermarkInterval(self, interval: Duration) -> BaseWindowedBolt:  # noqa: N802
        self._interval = interval.millis
        return self

    def withLateTupleStream(self, name: str) -> BaseWindowedBolt:  # noqa: N802
        """Late tuples go there, in the field `late_tuple`: a list of the tuple's values."""
        self._late = name
        return self

    def execute(self, window: TupleWindow) -> None:  # type: ignore[override]
        raise NotImplementedError(f"{type(self).__name__} has no execute(self, window)")

    def declared(self) -> dict[str, Stream]:
        late = {self._late: Stream(["late_tuple"], self._late)} if self._late else {}
        return {**super().declared(), **late}

    def timers(self, conf: Mapping[str, Any]) -> dict[str, float]:  # noqa: ARG002
        if self._time is not None:
            return {WATERMARK: self._interval / 1000}
        return {SLIDE: self._slide.millis / 1000} if isinstance(self._slide, Duration) else {}

    def problem(self, conf: Mapping[str, Any]) -> tuple[str, str] | None:
        length, slide = self._length, self._slide
        if length is None or slide is None:
            return "has no window", "say how it is cut: .withWindow(Count(30), Count(10)) or .withTumblingWindow(Duration.seconds(10))"
        if self._late and self._time is None:
            return "has a stream for late tuples, and goes by the clock, where none is late", "give it .withTimestampField(…)"
        timeout, most = 1000 * float(conf.get("topology.message.timeout.secs") or 30), conf.get("topology.max.spout.pending")
        whole = sum(each.millis for each in (length, slide) if isinstance(each, Duration))
        if whole > timeout:
            long = f"has a window of {whole / 1000:g} s, length and slide, and tuples that time out after {timeout / 1000:g} s"
            return long, "make topology.message.timeout.secs longer: a tuple is acked only when it leaves the window"
        count = sum(each.n for each in (length, slide) if isinstance(each, Count))
        if most is not None and count > int(most):
            return f"has a window of {count} tuples, length and slide, and topology.max.spout.pending is {most}", "make that more"
        return None

    def begin(self, conf: Mapping[str, Any], ctx: Context, task: BoltTask) -> None:
        self._task, self._current = task, []
        inputs = [key for key in task.part.inputs if not key[1].startswith("__")]
        assert self._length is not None
        assert self._slide is not None
        self._manager = _Windows(self._length, self._slide, timed=self._time is not None, lag=self._lag, inputs=inputs)
        self.prepare(conf, ctx, self.collector(task))

    def collector(self, task: BoltTask) -> OutputCollector:
        return WindowedOutputCollector(task, self)

    def take(self, tup: Tuple) -> None:
        now = self._task.clock() * 1000
        if tup.component == SYSTEM:
            self._give(self._manager.passed(now))
            return
        at = now if self._time is None else _millis(tup[self._time] if isinstance(self._time, str) else self._time(tup))
        if self._manager.is_late(tup, at):
            if self._late:
                self._task.emit([list(tup.values)], self._late, [tup])
            self._task.ack(tup)
            return
        self._give(self._manager.added(tup, at, now))

    def _give(self, windows: Iterator[tuple[TupleWindow, list[Tuple]]]) -> None:
        for window, expired in windows:
            for tup in expired:
                self._task.ack(tup)
            if window.get():
                self._current = window.get()
                self.execute(window)


class WindowedOutputCollector(OutputCollector):
    """Anchors everything to the tuples of the window; acks are the bolt's own affair."""

    def __init__(self, task: BoltTask, bolt: BaseWindowedBolt) -> None:
        super().__init__(task)
        self._bolt = bolt

    def emit(self, *given: Any) -> list[int]:
        """`emit([stream,] values)`."""
        stream, values = (given[0], given[1]) if isinstance(given[0], str) else ("default", given[0])
        return self._task.emit(values, stream, self._bolt._current)


class _Windows:
    """Which tuples are in which window. It gives (window, tuples to ack), one after the other, as they are due."""

    def __init__(self, length: Count | Duration, slide: Count | Duration, *, timed: bool, lag: float, inputs: Sequence[Any]) -> None:
        self.length, self.slide, self.timed, self.lag, self.inputs = length, slide, timed, lag, inputs
        self.kept: list[tuple[float, int, Tuple]] = []
        self.number = self.since = 0
        self.before: set[int] = set()
        self.newest: dict[tuple[str, str], float] = {}
        self.watermark = float("-inf")
        self.next_end: float | None = None

    def is_late(self, tup: Tuple, at: float) -> bool:
        if not self.timed:
            return False
        stream = (tup.component, tup.stream)
        self.newest[stream] = max(at, self.newest.get(stream, at))
        return at <= self.watermark

    def added(self, tup: Tuple, at: float, now: float) -> Iterator[tuple[TupleWindow, list[Tuple]]]:
        self.number += 1
        insort(self.kept, (at, self.number, tup), key=lambda entry: entry[:2])
        if not self.timed and isinstance(self.slide, Count):
            self.since += 1
            if self.since >= self.slide.n:
                self.since = 0
                yield self._window(now)

    def passed(self, now: float) -> Iterator[tuple[TupleWindow, list[Tuple]]]:
        """The clock has moved on: by itself, or now the watermark follows the tuples."""
        if not self.timed:
            yield self._window(now)
            return
        if len(self.newest) < len(self.inputs):
            return
        before, self.watermark = self.watermark, max(self.watermark, min(self.newest.values()) - self.lag)
        yield from self._by_time(self.slide) if isinstance(self.slide, Duration) else self._by_count(self.slide, before)

    def _by_time(self, slide: Duration) -> Iterator[tuple[TupleWindow, list[Tuple]]]:
        end = self._aligned(float("-inf"), slide) if self.next_end is None else self.next_end
        while end is not None and end <= self.watermark:
            window, expired = self._window(end)
            yield window, expired
            end = end + slide.millis if window.get() else self._aligned(end, slide)
            self.next_end = end if end is not None else self.next_end

    def _aligned(self, after: float, slide: Duration) -> float | None:
        """The end of the first window that has a tuple after this time, up to the watermark."""
        first = next((at for at, _, _ in self.kept if after < at <= self.watermark), None)
        return None if first is None else -(-first // slide.millis) * slide.millis

    def _by_count(self, slide: Count, since: float) -> Iterator[tuple[TupleWindow, list[Tuple]]]:
        for at, number, _ in [entry for entry in self.kept if since < entry[0] <= self.watermark]:
            self.since += 1
            if self.since % slide.n == 0:
                yield self._window(at, last=number)

    def _window(self, end: float, last: int | None = None) -> tuple[TupleWindow, list[Tuple]]:
        """That which ends at this time, and the tuples that no later one can have."""
        reached = [entry for entry in self.kept if entry[0] <= end]
        if last is not None:
            reached = reached[: next(i for i, entry in enumerate(reached) if entry[1] == last) + 1]
        if isinstance(self.length, Count):
            held, start = reached[-self.length.n :], None
        else:
            start = end - self.length.millis
            held = [entry for entry in reached if entry[0] > start]
        gone = reached[: len(reached) - len(held)]
        self.kept = self.kept[len(gone) :]
        new = [entry[2] for entry in held if entry[1] not in self.before]
        self.before = {entry[1] for entry in held}
        expired = [entry[2] for entry in gone]
        return TupleWindow([entry[2] for entry in held], new, expired, start, end), expired


def _millis(time: Any) -> float:
    return time.timestamp() * 1000 if isinstance(time, datetime) else float(time)
