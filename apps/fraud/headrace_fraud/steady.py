"""What the demo reports of latency: after a warm-up, of all decisions, and of those away from the ends of real-time batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from headrace_fraud.page.board import Board
from headrace_fraud.page.latencies import percentiles

# Seconds of sending after which latencies count, in a run that is longer: before, Java is still compiling what is hot, and the two jobs
# beside the decision job make their first batches.
WARM_UP = 120

BEFORE_END, AFTER_END = 1, 3  # seconds: a decision that was read in these counts as near the end of a batch, where records wait
_SHOWN = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p99.9": 0.999, "max": 1.0}


class Steady:
    """`look` every so often while records are sent; then `report`. Times are seconds since 1970."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._begun: float | None = None
        self._warm: float | None = None
        self._mark: Counter[int] = Counter()
        self._ends: set[float] = set()
        self._near: Counter[int] = Counter()
        self._told: set[int] = set()  # the seconds that are in `_near`

    def look(self, now: float, ends: Iterable[float]) -> None:
        """It is `now`; these are ends of batches, of which the newest matter: old seconds are forgotten by the board."""
        self._begun = now if self._begun is None else self._begun
        if self._warm is None and now - self._begun > WARM_UP:
            self._warm, self._mark = now, Counter(self._board.latencies())
        self._ends.update(ends)
        self._add(end for end in self._ends if end + AFTER_END + 1 < now)

    def report(self) -> dict[str, Any]:
        self._add(self._ends)
        since = Counter(self._board.latencies()) - self._mark
        return {
            "latency_ms": _numbers(since),
            "latency_between_batch_ends_ms": _numbers(since - self._near),
            "latency_from_s": 0 if self._warm is None else WARM_UP,
        }

    def _add(self, ends: Iterable[float]) -> None:
        for end in ends:
            for second in range(int(end) - BEFORE_END, int(end) + AFTER_END + 1):
                if second not in self._told and second > (self._warm or 0):
                    self._told.add(second)
                    self._near.update(self._board.latencies(second))


def _numbers(counts: Mapping[int, int]) -> dict[str, float | None]:
    """To within 1 %."""
    found: list[float | None] = [round(ms, 1) for ms in percentiles(counts, *_SHOWN.values())] or [None] * len(_SHOWN)
    return dict(zip(_SHOWN, found, strict=True))
