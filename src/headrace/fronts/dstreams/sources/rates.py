"""Back-pressure: how many records a second a source may give, from how fast the batches before were."""

from __future__ import annotations

import threading
import time

from pyspark import SparkConf

_PREFIX = "spark.streaming.backpressure."


class RateEstimator:
    """A PID controller: the new rate is the last one, less the error (last rate - rate at which the batch was processed), less what piled
    up.

    rate' = rate - proportional * error - integral * (delay * processed / interval) - derivative * (error - last error) / seconds
    """

    def __init__(
        self, interval: int, proportional: float = 1.0, integral: float = 0.2, derivative: float = 0.0, least: float = 100.0
    ) -> None:
        self.interval, self.least = interval, least
        self.proportional, self.integral, self.derivative = proportional, integral, derivative
        self._last: tuple[int, float, float] | None = None  # when, rate, error

    def estimate(self, now: int, records: int, processing: int, scheduling: int) -> float | None:
        """The rate from a batch that ended at `now`; times in milliseconds. None if it says nothing, as the first one does."""
        if records <= 0 or processing <= 0 or (self._last is not None and now <= self._last[0]):
            return None
        processed = records / processing * 1000
        if self._last is None:
            self._last = (now, processed, 0.0)
            return None
        when, rate, last_error = self._last
        error = rate - processed
        piled_up = scheduling * processed / self.interval
        change = (error - last_error) / ((now - when) / 1000)
        rate = max(rate - self.proportional * error - self.integral * piled_up - self.derivative * change, self.least)
        self._last = (now, rate, error)
        return rate


class Rate:
    """The rate of one source: Spark's own settings, `spark.streaming.backpressure.*` and a cap."""

    def __init__(self, conf: SparkConf, interval: int, cap: str) -> None:
        def number(name: str, default: str) -> float:
            return float(conf.get(_PREFIX + name, default) or default)

        most = conf.get(cap)
        self.cap = float(most) if most else None
        self.estimator: RateEstimator | None = None
        self.current = self.cap
        if conf.get(_PREFIX + "enabled", "false") == "true":
            pid = (number("pid.proportional", "1.0"), number("pid.integral", "0.2"), number("pid.derived", "0.0"))
            self.estimator = RateEstimator(interval, *pid, least=number("pid.minRate", "100"))
            first = conf.get(_PREFIX + "initialRate")
            self.current = self._capped(float(first)) if first else self.cap

    def completed(self, now: int, records: int, processing: int, scheduling: int) -> None:
        """A batch has ended."""
        rate = self.estimator and self.estimator.estimate(now, records, processing, scheduling)
        if rate:
            self.current = self._capped(rate)

    def _capped(self, rate: float) -> float:
        return rate if self.cap is None else min(rate, self.cap)


class Limiter:
    """Lets so many records a second through, each caller waiting for its turn."""

    def __init__(self, rate: Rate) -> None:
        self._rate, self._free, self._lock = rate, 0.0, threading.Lock()

    def pass_through(self, records: int, stopped: threading.Event) -> None:
        """Wait until they may pass, or until the source is stopped."""
        if self._rate.current is None:
            return
        with self._lock:
            now = time.monotonic()
            wait = self._free - now
            self._free = max(now, self._free) + records / self._rate.current
        if wait > 0:
            stopped.wait(wait)
