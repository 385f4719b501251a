"""Windowed bolts: `execute(window)` for each window of tuples, by count or by time, that of the clock or the tuples' own.

Where windows begin and end is said in cutting.py. By the tuples' own time (`withTimestampField`) a tuple that is older than the watermark
is late: it goes to the late stream, if there is one, and is acked.

What is emitted is anchored to all tuples of the window, and a tuple is acked when it leaves it: so a window must be shorter than the
message time-out, and by count not longer than `topology.max.spout.pending`. State: the tuples of the window, in memory; effectively once
they are saved, too, all of them each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Self

from headrace.fronts.storm.components.cutting import Count, Duration, TupleWindow, Windows
from headrace.fronts.storm.components.rich import BaseRichBolt, OutputCollector
from headrace.fronts.storm.graph.layout import Stream
from headrace.fronts.storm.graph.tuples import SYSTEM, Tuple
from headrace.fronts.storm.tasks.bolts import BoltTask
from headrace.fronts.storm.tasks.task import Context

SLIDE, WATERMARK = "__slide", "__watermark"
"""The streams of the clock's tuples by which windows move."""


class BaseWindowedBolt(BaseRichBolt):
    """`prepare(conf, context, collector)` and `execute(window)`. How it is cut is said of the object: `Sum().withWindow(Count(30))`."""

    _length: Count | Duration | None = None
    _slide: Count | Duration | None = None
    _time: str | Callable[[Tuple], Any] | None = None
    _lag = 0.0
    _interval = 1000.0
    _late: str | None = None

    def withWindow(self, length: Count | Duration, slide: Count | Duration | None = None) -> Self:  # noqa: N802
        """Without a slide it slides at every tuple."""
        self._length, self._slide = length, slide or Count(1)
        return self

    def withTumblingWindow(self, length: Count | Duration) -> Self:  # noqa: N802
        self._length = self._slide = length
        return self

    def withTimestampField(self, name: str) -> Self:  # noqa: N802
        """The field that holds a tuple's time: a number of milliseconds, or a datetime."""
        self._time = name
        return self

    def withTimestampExtractor(self, extract: Callable[[Tuple], Any]) -> Self:  # noqa: N802
        self._time = extract
        return self

    def withLag(self, lag: Duration) -> Self:  # noqa: N802
        self._lag = lag.millis
        return self

    def withWatermarkInterval(self, interval: Duration) -> Self:  # noqa: N802
        self._interval = interval.millis
        return self

    def withLateTupleStream(self, name: str) -> Self:  # noqa: N802
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
        if self._length is None or self._slide is None:
            return "has no window", "say how it is cut: .withWindow(Count(30), Count(10)) or .withTumblingWindow(Duration.seconds(10))"
        if self._late and self._time is None:
            return "has a stream for late tuples, and goes by the clock, where none is late", "give it .withTimestampField(…)"
        return super().problem(conf) or self._too_long(conf, self._length, self._slide)

    def _too_long(self, conf: Mapping[str, Any], length: Count | Duration, slide: Count | Duration) -> tuple[str, str] | None:
        """Tuples that wait for their ack until they leave the window must not time out before."""
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
        self._windows = Windows(self._length, self._slide, timed=self._time is not None, lag=self._lag, inputs=inputs)
        self.prepare(conf, ctx, self.collector(task))

    def kept(self) -> Any:
        return self._windows.content() if self._task.exact else None

    def recall(self, kept: Any) -> None:
        self._windows.restore(kept)

    def collector(self, task: BoltTask) -> OutputCollector:
        return WindowedOutputCollector(task, self)

    def take(self, tup: Tuple) -> None:
        now = self._task.clock() * 1000
        if tup.component == SYSTEM:
            self._give(self._windows.passed(now))
            return
        at = now if self._time is None else _millis(tup[self._time] if isinstance(self._time, str) else self._time(tup))
        if self._windows.is_late(tup, at):
            if self._late:
                self._task.emit([list(tup.values)], self._late, [tup])
            self._task.ack(tup)
        else:
            self._add(tup, at, now)

    def _add(self, tup: Tuple, at: float, now: float) -> None:
        self._give(self._windows.added(tup, at, now))

    def _give(self, windows: Iterator[tuple[TupleWindow, list[Tuple]]]) -> None:
        for window, expired in windows:
            self._expire(expired)
            if window.get():
                self._current = self._anchors(window)
                self.execute(window)
                self._evaluated(window)

    def _anchors(self, window: TupleWindow) -> list[Tuple]:
        return window.get()

    def _expire(self, tuples: list[Tuple]) -> None:
        for tup in tuples:
            self._task.ack(tup)

    def _evaluated(self, window: TupleWindow) -> None:
        """Called after `execute`."""


class WindowedOutputCollector(OutputCollector):
    """Anchors everything to the tuples of the window; acks are the bolt's own affair."""

    def __init__(self, task: BoltTask, bolt: BaseWindowedBolt) -> None:
        super().__init__(task)
        self._bolt = bolt

    def emit(self, *arguments: Any) -> list[int]:
        """`emit([stream,] values)`."""
        stream, values = (arguments[0], arguments[1]) if isinstance(arguments[0], str) else ("default", arguments[0])
        return self._task.emit(values, stream, self._bolt._current)


def _millis(time: Any) -> float:
    return time.timestamp() * 1000 if isinstance(time, datetime) else float(time)
