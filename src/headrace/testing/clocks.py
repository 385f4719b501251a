"""A clock that only the test moves, for processing-time timers, expiry and `current_timestamp()` in micro-batches."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import SparkSession

from headrace.definitions.durations import micros
from headrace.kernel.jvm import java_class

START = datetime(2026, 1, 1, tzinfo=UTC)


class ManualClock:
    """The time that a query under test sees: what `current_timestamp()` gives and processing-time timers wait for.

    It stands still until `advance` or `set`; a batch takes its time when it begins. A start without a time zone is in UTC. Real-time mode
    always goes by the wall clock, and so do batch jobs: the clock is for `MicroBatches`.

        clock = ManualClock("2026-01-01 10:00:00")
        with MicroBatches(operator, schema, clock=clock) as stream:
            stream.feed(rows)
            clock.advance("10 seconds")
            stream.tick()                     # timers that are due fire now
    """

    def __init__(self, start: str | datetime = START) -> None:
        self._now = _instant(start)
        self._jvm_clocks: list[Any] = []

    @property
    def now(self) -> datetime:
        """The instant at which the clock stands, in UTC."""
        return self._now

    def advance(self, by: str | timedelta) -> datetime:
        """Move forward by "10 seconds", "1 hour 5 minutes" or a timedelta."""
        return self.set(self._now + (by if isinstance(by, timedelta) else timedelta(microseconds=micros(by))))

    def set(self, to: str | datetime) -> datetime:
        """Stand at this instant from now on."""
        self._now = _instant(to)
        for clock in self._jvm_clocks:
            clock.setTime(self._milliseconds())
        return self._now

    def of(self, spark: SparkSession) -> Any:
        """The clock as the JVM of `spark` knows it, for Spark's own `startQuery`."""
        clock = java_class(spark, "org.apache.spark.util.ManualClock")(self._milliseconds())
        self._jvm_clocks.append(clock)
        return clock

    def _milliseconds(self) -> int:
        return (self._now - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def _instant(moment: str | datetime) -> datetime:
    when = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return when if when.tzinfo else when.replace(tzinfo=UTC)
