"""What every record of a run waited, in the order of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.measuring.load import Read, Sent

_POINTS = {"p50": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p99.9": 99.9, "max": 100.0}


@dataclass(frozen=True)
class Timeline:
    """When each record was due (`at`, seconds since the first was; `due`, since 1970), and how long its result then took (milliseconds)."""

    at: NDArray[np.float64]
    due: NDArray[np.float64]
    ms: NDArray[np.float64]

    @staticmethod
    def of(sent: Sent, read: Read) -> Timeline:
        due, taken = np.array(read.due), np.array(read.read)
        return Timeline((due - sent.start) / 1e9, due / 1e9, (taken - due) / 1e6)

    def where(self, these: NDArray[np.bool_]) -> Timeline:
        return Timeline(self.at[these], self.due[these], self.ms[these])

    def since(self, second: float) -> Timeline:
        return self.where(self.at >= second)

    def until(self, second: float) -> Timeline:
        return self.where(self.at < second)

    def percentiles(self) -> dict[str, float]:
        return percentiles(self.ms)

    def by_second(self) -> dict[str, list[float]]:
        """For a picture: the median and the worst of each second."""
        seconds = self.at.astype(int)
        spans = [self.ms[seconds == second] for second in np.unique(seconds)]
        median, worst = (np.array([take(span) for span in spans]).round(1).tolist() for take in (np.median, np.max))
        return {"second": np.unique(seconds).tolist(), "p50": median, "max": worst}


def percentiles(ms: NDArray[np.float64]) -> dict[str, float]:
    return {name: round(float(np.percentile(ms, at)), 2) for name, at in _POINTS.items()} if len(ms) else {}


def summary(timeline: Timeline, warm_up: float) -> dict[str, Any]:
    """Of all records after the warm-up, and apart from them those of the warm-up."""
    counted = timeline.since(warm_up)
    return {**counted.percentiles(), "warm_up": timeline.until(warm_up).percentiles(), "by_second": counted.by_second()}
