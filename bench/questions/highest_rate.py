"""How many records a second can a job take in real-time mode, before it falls behind?

The work and the measurement are those of `latency.py`. Rates upwards until one is too high, then one half way, fifteen seconds each after
five that do not count: all within one query, whose batches are long.

    realtime_max_rate   the highest rate whose p99 is below 100 ms, away from batch ends
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.measuring import topics
from bench.measuring.timeline import Timeline
from bench.measuring.trial import Trial
from bench.questions.latency import away_from_ends
from bench.reporting.answers import Answer, say

LIMIT_MS = 100
_RATES = (1_000, 2_000, 4_000, 8_000, 12_000, 16_000, 24_000, 32_000, 48_000, 64_000)


def ask(*, quick: bool) -> list[Answer]:
    sweep = _sweep(_RATES[:2], 12, 2, 5) if quick else _sweep(_RATES, 130, 5, 15)
    good = [step["rate"] for step in sweep if step["p99"] < LIMIT_MS]
    return [Answer("realtime_max_rate", max(good, default=0), "events/s", None, {"limit_ms": LIMIT_MS, "sweep": sweep})]


def _sweep(planned: tuple[int, ...], warm_up: int, settle: int, seconds: int) -> list[dict[str, Any]]:
    with topics.topics("in", "out") as (source, result):
        trial = Trial("5 minutes", keep=False, source=source, result=result)
        trial.take(trial.send(1_000, warm_up).records)
        steps: list[tuple[int, Timeline, float]] = []
        rates, tried = list(planned), False
        while rates:
            rate = rates.pop(0)
            sent = trial.send(rate, settle + seconds)
            timeline = Timeline.of(sent, trial.take(sent.records)).since(settle)
            p99 = timeline.percentiles()["p99"]
            say(f"{rate:,} events/s: p99 {p99:.1f} ms")
            if p99 >= LIMIT_MS and not tried:
                rates, tried = [(rate + max(good for good, *_ in steps)) // 2] if steps else [], True
            steps.append((rate, timeline, round(float(np.percentile(sent.late, 99)) / 1e6, 2)))
        ends = trial.end().value
    points = []
    for rate, timeline, late in steps:
        away = timeline.where(away_from_ends(timeline.due, ends))
        if len(away.ms):
            points.append({"rate": rate, **away.percentiles(), "sender_late_p99": late})
    return sorted(points, key=lambda step: step["rate"])
