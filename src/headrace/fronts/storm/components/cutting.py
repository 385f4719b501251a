"""Which tuples are in which window.

A window by duration that ends at e holds the tuples with e - length < time <= e. By the tuples' own time a window is given when the
watermark has reached its end: the watermark is the oldest of the newest times of all input streams, less the lag, and moves every watermark
interval. The first window ends at the earliest time rounded up to the slide; windows without a tuple are not given.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.fronts.storm.graph.tuples import Tuple


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


_CONTENT = ("number", "since", "before", "watermark", "next_end")


def _plain(tup: Tuple) -> Tuple:
    return Tuple(tup.component, tup.stream, tup.task, tup.values, tup.fields)


class Windows:
    """Which tuples are in which window. It gives (window, tuples to ack), one after the other, as they are due."""

    def __init__(self, length: Count | Duration, slide: Count | Duration, *, timed: bool, lag: float, inputs: Sequence[Any]) -> None:
        self.length, self.slide, self.timed, self.lag, self.inputs = length, slide, timed, lag, inputs
        self.kept: list[tuple[float, int, Tuple]] = []
        self.number = self.since = 0
        self.before: frozenset[int] = frozenset()
        self.newest: dict[tuple[str, str], float] = {}
        self.watermark = float("-inf")
        self.next_end: float | None = None

    def content(self) -> dict[str, Any]:
        """All that it knows, as it is now; the tuples without what the acker must know of them."""
        kept = [(at, number, _plain(tup)) for at, number, tup in self.kept]
        return {**{name: getattr(self, name) for name in _CONTENT}, "kept": kept, "newest": dict(self.newest)}

    def restore(self, content: Mapping[str, Any]) -> None:
        """Go on from there."""
        for name, value in content.items():
            setattr(self, name, value)
        self.kept, self.newest = list(self.kept), dict(self.newest)

    def hold(self, tup: Tuple, at: float) -> None:
        """A tuple that was in a window already: it is not new, and moves nothing."""
        self._insert(tup, at)
        self.before |= {self.number}

    def is_late(self, tup: Tuple, at: float) -> bool:
        if not self.timed:
            return False
        stream = (tup.component, tup.stream)
        self.newest[stream] = max(at, self.newest.get(stream, at))
        return at <= self.watermark

    def added(self, tup: Tuple, at: float, now: float) -> Iterator[tuple[TupleWindow, list[Tuple]]]:
        self._insert(tup, at)
        if not self.timed and isinstance(self.slide, Count):
            self.since += 1
            if self.since >= self.slide.n:
                self.since = 0
                yield self._window(now)

    def _insert(self, tup: Tuple, at: float) -> None:
        self.number += 1
        insort(self.kept, (at, self.number, tup), key=lambda entry: entry[:2])

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
        self.before = frozenset(entry[1] for entry in held)
        expired = [entry[2] for entry in gone]
        return TupleWindow([entry[2] for entry in held], new, expired, start, end), expired
