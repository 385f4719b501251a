"""What happened in each of the last seconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace_fraud.page.counts.latencies import Latencies, bucket, percentiles, together

KEPT = 15 * 60

# Seconds from the first decision on that are told apart. The jobs have rehearsed, but Java still compiles what is hot, and the jobs beside
# the decision job make their first batches.
WARM_UP = 30.0


class _Second:
    __slots__ = ("alerts", "latencies", "numbers", "transactions")

    def __init__(self) -> None:
        self.transactions = self.alerts = 0
        self.latencies: dict[int, int] = {}
        self.numbers: list[float | None] | None = None  # the percentiles, until another latency comes


class Seconds:
    """Transactions, alerts and decision latencies by the second in which they were read; and all latencies: those of the warm-up, which
    is so many seconds from the first decision on, and those of the steady state after it."""

    def __init__(self, warm_up_s: float = WARM_UP) -> None:
        self.warm_up_s = warm_up_s
        self.warm_up, self.steady = Latencies(), Latencies()
        self.first_ms: float | None = None  # when the first decision was read
        self._seconds: dict[int, _Second] = {}
        self._newest = 0

    def transaction(self, read_ms: float) -> None:
        self._second(read_ms).transactions += 1

    def alert(self, read_ms: float) -> None:
        self._second(read_ms).alerts += 1

    def decision(self, read_ms: float, latency_ms: float) -> None:
        if self.first_ms is None:
            self.first_ms = read_ms
        (self.steady if self.is_steady(read_ms) else self.warm_up).add(latency_ms)
        number, second = bucket(latency_ms), self._second(read_ms)
        second.latencies[number] = second.latencies.get(number, 0) + 1
        second.numbers = None

    def is_steady(self, at_ms: float) -> bool:
        """Whether the warm-up is over then."""
        return self.first_ms is not None and at_ms >= self.first_ms + self.warm_up_s * 1000

    def rows(self, since: int = 0) -> list[list[Any]]:
        """[second, transactions, alerts, p50, p95, p99] for every second with news since (and with) one, in order."""
        return [
            [at, second.transactions, second.alerts, *_numbers(second)]
            for at, second in sorted((at, second) for at, second in self._seconds.items() if at >= since)
        ]

    def latency(self) -> dict[str, Any]:
        return {
            "steady": self.steady.numbers(),
            "warm_up": self.warm_up.numbers(),
            "overall": together([self.warm_up, self.steady]).numbers(),
            "recent": self.recent(),
            "first": None if self.first_ms is None else self.first_ms / 1000,
            "warm_up_s": self.warm_up_s,
        }

    def latencies(self, second: int) -> Mapping[int, int]:
        """How many decisions that were read in this second fell into which bucket."""
        known = self._seconds.get(second)
        return known.latencies if known else {}

    def recent(self, seconds: int = 10) -> dict[str, float | None]:
        """p50 and p99 of the decisions of the last whole seconds that had any."""
        counts: dict[int, int] = {}
        for at in range(self._newest - seconds, self._newest):
            for number, count in self.latencies(at).items():
                counts[number] = counts.get(number, 0) + count
        percentile_values: list[float | None] = [*percentiles(counts, 0.5, 0.99)] or [None, None]
        return {"p50": percentile_values[0], "p99": percentile_values[1]}

    def _second(self, read_ms: float) -> _Second:
        at = int(read_ms) // 1000
        second = self._seconds.get(at)
        if second is None:
            second = self._seconds[at] = _Second()
            if at > self._newest:
                self._newest = at
            if len(self._seconds) > KEPT:
                del self._seconds[min(self._seconds)]
        return second


def _numbers(second: _Second) -> list[float | None]:
    if second.numbers is None:
        percentile_values = [round(ms, 2) for ms in percentiles(second.latencies, 0.5, 0.95, 0.99)]
        second.numbers = [*percentile_values] or [None, None, None]
    return second.numbers
