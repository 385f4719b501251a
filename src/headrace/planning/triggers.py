"""When a job looks for new records.

| trigger             | micro-batch                                          | real-time                                   |
|---------------------|------------------------------------------------------|---------------------------------------------|
| none given          | the next batch as soon as the last is done           | at once; progress is saved every minute     |
| `every("10 seconds")` | a batch every ten seconds, or as soon as it can    | at once; progress is saved every ten seconds |
| `once`              | all there is now, in as many batches as it takes, and then the job ends | not there        |
| `finish`            | the same, and then the end of the input              | not there                                   |

After `once` a job goes on when it is started again, so what waits for time waits on: a window stays open, an alarm is still set. With
`finish` the input has ended: windows close, alarms by event time ring and waiting records come out, and the rows are those of a batch. The
job is then finished, and is not started again under its name. (What goes by the clock is left as it is: the clock has no end.)

With alarms or expiry by the clock, micro-batch never rests: none given means a batch every second, with records or without.

In real time the interval is not the latency: it says how often the job saves where it is, and so how much is done again after a crash. At
each save records wait for a moment. At least five seconds; in the first three quarters of a minute after a start it saves more often.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.definitions import arguments, durations
from headrace.errors import DefinitionError, user_line

CLOCK_INTERVAL = "1 second"
REAL_TIME_INTERVAL = "1 minute"
REAL_TIME_SHORTEST = "5 seconds"


@dataclass(frozen=True)
class Trigger:
    """`interval` none: as fast as possible. `ends`: stop when everything is processed. `finishes`: and end the input."""

    interval: str | None = None
    ends: bool = False
    finishes: bool = False

    def __post_init__(self) -> None:
        if self.interval is not None:
            durations.micros(self.interval)  # DefinitionError at the user's line, also for a number without a unit

    def micro_batch(self, *, by_the_clock: bool) -> dict[str, Any]:
        """The arguments of Spark's `trigger`. Where something goes by the clock, Spark looks at it with a batch, though there be no
        records: as fast as possible it would do nothing else."""
        if self.ends:
            return {"availableNow": True}
        interval = self.interval or (CLOCK_INTERVAL if by_the_clock else None)
        return {"processingTime": _spark(interval) if interval else "0 seconds"}

    def real_time(self) -> dict[str, Any]:
        return {"realTime": _spark(self.interval or REAL_TIME_INTERVAL)}


def _spark(interval: str) -> str:
    """In Spark's words, which have no half minutes."""
    return f"{durations.micros(interval) // 1000} milliseconds"


def every(interval: str) -> Trigger:
    """A batch every so often: `every("10 seconds")`. In real time: how often the job saves where it is."""
    durations.micros(interval, "every")
    return Trigger(interval)


once = Trigger(ends=True)
"""All there is now, in as many batches as it takes, and then the job ends. Not in real time."""
finish = Trigger(ends=True, finishes=True)
"""The same, and then the input ends: what waits for time comes out as in a batch, and the job is finished. Not in real time."""


def trigger(wanted: Trigger | str) -> Trigger:
    """A trigger, also as text: "once", "finish", or an interval."""
    if isinstance(wanted, str):
        return {"once": once, "finish": finish}.get(wanted) or Trigger(wanted)
    if not isinstance(wanted, Trigger):
        raise DefinitionError(
            f"{arguments.shown(wanted)} is no trigger",
            fix='use "10 seconds", "once" or "finish", or leave it out for as fast as possible',
            where=user_line(),
        )
    return wanted
