"""How long does a Python function with keyed state take in real-time mode, with the native scan beside it?

The work and the measurement are those of `latency.py`: two rules about each of 10,000 customers, Kafka to Kafka, from when a record was due
until a consumer has its result, away from batch ends. Each way is one job that meets the rates one after the other, after a warm-up. As
many results must come out as records went in. (That both ways give the same rows is a law, tested for every shape.)

To read: milliseconds. A call of Python takes some 30 microseconds; what the rest is, the native scan beside it says.
"""

from __future__ import annotations

from typing import Any

from bench.measuring import topics
from bench.measuring.timeline import Timeline
from bench.measuring.trial import Trial, Way
from bench.questions.latency import away_from_ends
from bench.reporting.answers import Answer, at_most, say
from bench.work import rules

WAYS: dict[str, Way] = {"python": rules.flagged_in_python, "native": rules.flagged}
TARGETS = {(3_000, "p50"): 10, (3_000, "p99"): 25, (5_000, "p99"): 50}


def ask(*, quick: bool) -> list[Answer]:
    rates, seconds, warm_up = ((1_000,), 5, 10) if quick else ((1_000, 3_000, 5_000), 30, 90)
    measured = {name: _measure(way, rates, seconds, warm_up) for name, way in WAYS.items()}
    return [
        Answer(
            f"{name}_{rate}_{point}_ms", ms[point], "ms",
            at_most(TARGETS[rate, point]) if name == "python" and (rate, point) in TARGETS else None, {"rate": rate, **ms},
        )
        for name, by_rate in measured.items() for rate, ms in by_rate.items() for point in ("p50", "p99")
    ]  # fmt: skip


def _measure(way: Way, rates: tuple[int, ...], seconds: int, warm_up: int) -> dict[int, dict[str, Any]]:
    with topics.topics("in", "out") as (source, result):
        trial = Trial("5 minutes", keep=False, source=source, result=result, way=way)
        trial.take(trial.send(1_000, warm_up).records)
        runs = []
        for rate in rates:
            sent = trial.send(rate, seconds)
            read = trial.take(sent.records)
            if len(read.read) != sent.records:
                raise SystemExit(f"{len(read.read):,} results of {sent.records:,} records: no time counts")
            runs.append((rate, Timeline.of(sent, read)))
        ends = trial.end().value
    answers = {}
    for rate, timeline in runs:
        answers[rate] = timeline.where(away_from_ends(timeline.due, ends)).percentiles()
        say(f"{way.__name__} at {rate:,}/s: {answers[rate]}")
    return answers
