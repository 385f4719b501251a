"""Windows in plain Python, as slowly and as plainly as can be: what must come out of a stream of batches, pane by pane."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

Record = tuple[str, int, int]  # key, value, time
Row = tuple[object, ...]  # key, start, end, values, timing, number, last; or "late" and the value


@dataclass
class Window:
    start: int
    end: int
    values: list[int] = field(default_factory=list)
    new: list[int] = field(default_factory=list)
    panes: int = 0
    early: int = 0  # records since the last pane, while the end has not been passed; and behind it
    late: int = 0
    on: bool = False  # the pane that is on time, or the first behind it, has gone out


@dataclass
class Spec:
    """`early` and `late` are numbers of records, 0 for none. `assign` gives the windows of a time; sessions have a `gap` instead."""

    lateness: int = 0
    early: int = 0
    late: int = 1
    discarding: bool = False
    assign: Callable[[int], Iterable[tuple[int, int]]] | None = None
    gap: Callable[[int], int] | None = None


class Oracle:
    def __init__(self, spec: Spec, delay: int) -> None:
        self.spec, self.delay = spec, delay
        self.watermark, self.newest = -(10**9), -(10**9)
        self.open: dict[str, list[Window]] = {}

    def batch(self, records: list[Record]) -> Iterator[Row]:
        """What a batch puts out; its watermark is what the batches before have reached."""
        self.watermark = max(self.watermark, self.newest - self.delay)
        yield from self._due()
        for record in records:
            yield from self._take(*record)
        self.newest = max([self.newest, *(time for _, _, time in records)])

    def end(self) -> Iterator[Row]:
        self.watermark = 10**9
        yield from self._due()

    def _take(self, key: str, value: int, time: int) -> Iterator[Row]:
        windows = self._of(key, value, time)
        if not windows:
            yield ("late", value)
        for window in windows:
            window.values.append(value)
            window.new.append(value)
            passed = window.end <= self.watermark
            if self._ready(window, passed):
                yield self._pane(key, window, "late" if passed else "early", last=False)

    def _ready(self, window: Window, passed: bool) -> bool:
        if window.on:
            window.late += 1
            ready = window.late >= self.spec.late
            window.late = 0 if ready else window.late
            return ready
        window.early += 1
        ready = passed or 0 < self.spec.early <= window.early
        window.early = 0 if ready else window.early
        window.on = passed
        return ready

    def _of(self, key: str, value: int, time: int) -> list[Window]:
        known = self.open.setdefault(key, [])
        if self.spec.assign is not None:
            alive = [span for span in self.spec.assign(time) if span[1] + self.spec.lateness > self.watermark]
            for start, end in alive:
                if not any((window.start, window.end) == (start, end) for window in known):
                    known.append(Window(start, end))
            return [window for window in known if (window.start, window.end) in alive]
        assert self.spec.gap is not None
        end = time + self.spec.gap(value)
        touched = [window for window in known if window.start <= end and window.end >= time]
        if not touched and end + self.spec.lateness <= self.watermark:
            return []
        for window in touched:
            known.remove(window)
        merged = Window(min([time, *(w.start for w in touched)]), max([end, *(w.end for w in touched)]))
        for window in sorted(touched, key=lambda window: window.end):
            merged.values += window.values
            merged.new += window.new
        merged.panes = touched[0].panes if len(touched) == 1 else 0
        merged.early = sum(window.early for window in touched)
        if merged.end <= self.watermark:  # else it is open again
            merged.on, merged.late = any(window.on for window in touched), sum(window.late for window in touched)
        known.append(merged)
        return [merged]

    def _due(self) -> Iterator[Row]:
        for key, windows in self.open.items():
            for window in list(windows):
                if not window.on and window.end <= self.watermark:
                    window.on, window.early = True, 0
                    yield self._pane(key, window, "on_time", last=not self.spec.lateness)
                if window.on and window.end + self.spec.lateness <= self.watermark:
                    windows.remove(window)
                    if window.new and self.spec.lateness:
                        yield self._pane(key, window, "late", last=True)

    def _pane(self, key: str, window: Window, timing: str, *, last: bool) -> Row:
        values = window.new if self.spec.discarding else window.values
        row = (key, window.start, window.end, sorted(values), timing, window.panes, last)
        window.panes += 1
        window.new = []
        return row
