"""What is felt of the end of a batch in the demo?

The work and the measurement are those of `fraud_latency.py`, for two minutes in which the decision job's batch of five minutes ends once:
1,000 transactions a second, **every decision counted** that was read after the warm-up of three and a half minutes.

    fraud_end_p50_ms, …_p99_ms, …_p999_ms, …_worst_ms

To read: milliseconds, to within 1 %.
"""

from __future__ import annotations

from bench.questions.fraud_latency import RATE, demo
from bench.reporting.answers import Answer

WARM_UP, SECONDS = 210, 120
_NAMES = {"p50": "p50", "p99": "p99", "p99.9": "p999", "max": "worst"}


def ask(*, quick: bool) -> list[Answer]:
    run = demo(RATE, 5) if quick else demo(RATE, SECONDS, WARM_UP)
    ms = run["latency_ms"]
    return [Answer(f"fraud_end_{name}_ms", ms[point], "ms", None, {} if i else run) for i, (point, name) in enumerate(_NAMES.items())]
