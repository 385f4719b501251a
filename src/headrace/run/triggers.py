"""When a job looks for new records.

| trigger             | micro-batch                                          | real-time                                   |
|---------------------|------------------------------------------------------|---------------------------------------------|
| none given          | the next batch as soon as the last is done           | at once; progress is saved every minute     |
| `every("10 seconds")` | a batch every ten seconds, or as soon as it can    | at once; progress is saved every ten seconds |
| `once`              | all there is now, in as many batches as it takes, and then the job ends | not there        |

In real time the interval is not the latency: it says how often the job saves where it is, and so how much is done again after a crash. At
each save records wait for a moment. At least five seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

REAL_TIME_INTERVAL = "1 minute"
REAL_TIME_SHORTEST = "5 seconds"


@dataclass(frozen=True)
class Trigger:
    """`interval` none: as fast as possible. `ends`: stop when everything is processed."""

    interval: str | None = None
    ends: bool = False

    def micro_batch(self) -> dict[str, Any]:
        """The arguments of Spark's `trigger`."""
        return {"availableNow": True} if self.ends else {"processingTime": self.interval or "0 seconds"}

    def real_time(self) -> dict[str, Any]:
        return {"realTime": self.interval or REAL_TIME_INTERVAL}


def every(interval: str) -> Trigger:
    """A batch every so often: `every("10 seconds")`."""
    return Trigger(interval)


once = Trigger(ends=True)
