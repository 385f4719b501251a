"""What is felt of the ends of batches, where there is one every ten seconds?

The work and the measurement are those of `latency.py`, for two minutes after one of warm-up: every record counts.

    realtime_10s_p50_ms, …_p99_ms, …_p999_ms, …_worst_ms

To read: milliseconds, on a machine that runs broker, job, sender and reader at once.
"""

from __future__ import annotations

from bench.questions.latency import Run, answers
from bench.reporting.answers import Answer, at_most

_RUN = Run("realtime_10s", 1_000, "10 seconds", 60, 120, {"p99": at_most(60), "max": at_most(250)})


def ask(*, quick: bool) -> list[Answer]:
    return answers(_RUN, quick=quick)
