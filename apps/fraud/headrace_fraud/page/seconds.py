"""What happened in each of the last seconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace_fraud.page.latencies import bucket, percentiles

KEPT = 15 * 60


class _Second:
    __slots__ = ("alerts", "latencies", "numbers", "transactions")

    def __init__(self) -> None:
        self.transactions = self.alerts = 0
        self.latencies: dict[int, int] = {}
        self.numbers: list[float | None] | None = None  # the percentiles, until another latency comes


class Seconds:
    """Transactions, alerts and decision latencies by the second in which they were read; and all latencies since the start."""

    def __init__(self) -> None:
        self.all: dict[int, int] = {}
        self.max = 0.0
        self._seconds: dict[int, _Second] = {}
        self._newest = 0

    def transaction(self, read_ms: float) -> None:
        self._second(read_ms).transactions += 1

    def alert(self, read_ms: float) -> None:
        self._second(read_ms).alerts += 1

    def decision(self, read_ms: float, latency_ms: float) -> None:
        number = bucket(latency_ms)
        self.all[number] = self.all.get(number, 0) + 1
        if latency_ms > self.max:
            self.max = latency_ms
        second = self._second(read_ms)
        second.latencies[number] = second.latencies.get(number, 0) + 1
        second.numbers = None

    def rows(self, since: int = 0) -> list[list[Any]]:
        """[second, transactions, alerts, p50, p95, p99] for every second with news since (and with) one, in order."""
        return [
            [at, second.transactions, second.alerts, *_numbers(second)]
            for at, second in sorted((at, second) for at, second in self._seconds.items() if at >= since)
        ]

    def latency(self) -> dict[str, Any]:
        """p50, p95, p99 (to within 1 %) and max (exactly) in milliseconds since the start, and of how many."""
        found: list[float | None] = [*percentiles(self.all, 0.5, 0.95, 0.99)] or [None, None, None]
        p50, p95, p99 = found
        return {"p50": p50, "p95": p95, "p99": p99, "max": self.max if self.all else None, "count": sum(self.all.values())}

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
        found: list[float | None] = [*percentiles(counts, 0.5, 0.99)] or [None, None]
        return {"p50": found[0], "p99": found[1]}

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
        found = [round(ms, 2) for ms in percentiles(second.latencies, 0.5, 0.95, 0.99)]
        second.numbers = [*found] or [None, None, None]
    return second.numbers
