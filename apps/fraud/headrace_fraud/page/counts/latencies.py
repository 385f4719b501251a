"""Percentiles of latencies in little memory: counts in buckets that each are 2 % wider than the one before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil, exp, log

_SMALLEST = 0.1  # milliseconds; what is less counts as this
_PER_E = 1 / log(1.02)
_OFFSET = log(_SMALLEST)
_LAST = ceil((log(1e8) - _OFFSET) * _PER_E)  # a day and more


def bucket(ms: float) -> int:
    """The number of the bucket that a latency falls into."""
    if ms <= _SMALLEST:
        return 0
    return min(int((log(ms) - _OFFSET) * _PER_E) + 1, _LAST)


def middle(number: int) -> float:
    """The latency that a bucket stands for: at most 1 % from any latency in it."""
    return _SMALLEST if number == 0 else exp((number - 0.5) / _PER_E + _OFFSET)


def percentiles(counts: Mapping[int, int], *wanted: float) -> list[float]:
    """The smallest latency that the wanted share (0 to 1) of all does not exceed, to within 1 %; nothing if there are none.

    >>> [round(ms) for ms in percentiles({bucket(ms): 1 for ms in (1, 10, 100, 1000)}, 0.5, 0.75, 1.0)]
    [10, 99, 1008]
    """
    total = sum(counts.values())
    if not total:
        return []
    measured: list[float] = []
    ranks = [max(1, ceil(share * total)) for share in wanted]
    seen = 0
    for number in sorted(counts):
        seen += counts[number]
        while len(measured) < len(ranks) and ranks[len(measured)] <= seen:
            measured.append(middle(number))
    return measured


class Latencies:
    """Some latencies: how many fell into which bucket, and the largest of them."""

    __slots__ = ("counts", "max")

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.max = 0.0

    def add(self, ms: float) -> None:
        number = bucket(ms)
        self.counts[number] = self.counts.get(number, 0) + 1
        if ms > self.max:
            self.max = ms

    def numbers(self) -> dict[str, float | None]:
        """p50, p95, p99 (to within 1 %) and max (exactly) in milliseconds, and of how many."""
        p50, p95, p99 = percentiles(self.counts, 0.5, 0.95, 0.99) or (None, None, None)
        return {"p50": p50, "p95": p95, "p99": p99, "max": self.max if self.counts else None, "count": sum(self.counts.values())}


def together(parts: Iterable[Latencies]) -> Latencies:
    whole = Latencies()
    for part in parts:
        for number, count in part.counts.items():
            whole.counts[number] = whole.counts.get(number, 0) + count
        whole.max = max(whole.max, part.max)
    return whole
