"""Percentiles of latencies in little memory: counts in buckets that each are 2 % wider than the one before."""

from __future__ import annotations

from collections.abc import Mapping
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
    found: list[float] = []
    ranks = [max(1, ceil(share * total)) for share in wanted]
    seen = 0
    for number in sorted(counts):
        seen += counts[number]
        while len(found) < len(ranks) and ranks[len(found)] <= seen:
            found.append(middle(number))
    return found
