"""How long does a record take among ten thousand a second?

The work and the measurement are those of `latency.py`, for two minutes after two of warm-up: every record counts.

    realtime_10000_p50_ms, …_p99_ms, …_p999_ms, …_worst_ms

To read: milliseconds, on a machine that runs broker, job, sender and reader at once.
"""

from __future__ import annotations

from bench.questions.latency import Run, answers
from bench.reporting.answers import Answer, at_most

_RUN = Run("realtime_10000", 10_000, None, 120, 120, {"p50": at_most(10), "p99": at_most(60)})


def ask(*, quick: bool) -> list[Answer]:
    return answers(_RUN, quick=quick)
