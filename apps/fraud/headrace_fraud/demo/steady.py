"""What the demo reports of latency: in the steady state and in the warm-up before it; and away from the ends of real-time batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from headrace_fraud.page.board import Board
from headrace_fraud.page.counts.latencies import percentiles

BEFORE_END, AFTER_END = 1, 3  # seconds: a decision that was read in these counts as near the end of a batch, where records wait
_SHOWN = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p99.9": 0.999, "max": 1.0}


class Steady:
    """`look` every so often while records are sent; then `report`. Times are seconds since 1970."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._ends: set[float] = set()
        self._near: Counter[int] = Counter()
        self._told: set[int] = set()  # the seconds that are in `_near`

    def look(self, now: float, ends: Iterable[float]) -> None:
        """It is `now`; these are ends of batches, of which the newest matter: old seconds are forgotten by the board."""
        self._ends.update(ends)
        self._add(end for end in self._ends if end + AFTER_END + 1 < now)

    def report(self) -> dict[str, Any]:
        """`latency_ms` is of the steady state, and None throughout if the run did not come to it."""
        self._add(self._ends)
        warm_up, steady = map(Counter, self._board.latencies())
        return {
            "latency_ms": _numbers(steady),
            "latency_between_batch_ends_ms": _numbers(steady - self._near),
            "latency_warm_up_ms": _numbers(warm_up),
            "latency_overall_ms": _numbers(warm_up + steady),
            "latency_from_s": self._board.seconds.warm_up_s,
        }

    def _add(self, ends: Iterable[float]) -> None:
        for end in ends:
            for second in range(int(end) - BEFORE_END, int(end) + AFTER_END + 1):
                if second not in self._told:
                    self._told.add(second)
                    self._near.update(self._board.steady_latencies(second))


def _numbers(counts: Mapping[int, int]) -> dict[str, float | None]:
    """To within 1 %."""
    percentile_values: list[float | None] = [round(ms, 1) for ms in percentiles(counts, *_SHOWN.values())] or [None] * len(_SHOWN)
    return dict(zip(_SHOWN, percentile_values, strict=True))
