"""How long from a record's due time to its result in a consumer's hand: Kafka -> keyed state -> Kafka, in real-time mode?

The work: the two rules of `work/rules.py` as a headrace job in real-time mode, JSON in and JSON out, two partitions, two shuffle
partitions. Latency is measured from outside by two other processes (`measuring/load.py`): it starts when a record was *due* to be sent,
and ends when a consumer has read the result back from Kafka. So it holds the producer, the broker (twice), the job, and every wait in
between. Both producers, the sender's and the job's, let a record wait two milliseconds for company: a request for each record would cost
a tenth of the machine, and the slowest hundredth more than it wins the others.

    realtime_p50_ms, …_p99_ms, …_p999_ms, …_worst_ms   1,000 events/s for five minutes, in batches as long as headrace's default

**Every record counts** that was due after the warm-up: two minutes, in which Java still compiles what it finds to be used often. What the
records of the warm-up took is in the JSON beside it, and so are the median and the worst of each second. As a detail, `away` has those that
were not due within the second before, or the three seconds after, a batch's end as Spark reports it, and `undisturbed`, of these, those for
which the host took less than a hundredth of the cores in the second around them.
All results must equal plain Python's, each exactly once.

To read: milliseconds, on a machine that runs broker, job, sender and reader at once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.measuring import host, load, topics
from bench.measuring.timeline import Timeline, summary
from bench.measuring.trial import Trial
from bench.reporting.answers import Answer, Target, at_most, memory, say
from bench.work import rules

BEFORE_END, AFTER_END = 1.0, 3.0


@dataclass(frozen=True)
class Run:
    """One run, and what was promised of it."""

    name: str
    rate: int
    interval: str | None
    warm_up: int
    seconds: int
    targets: dict[str, Target]


_NAMES = {"p50": "p50", "p99": "p99", "p99.9": "p999", "max": "worst"}
FULL = Run("realtime", 1_000, None, 120, 300, {"p50": at_most(10), "p99": at_most(15), "p99.9": at_most(150)})


def ask(*, quick: bool) -> list[Answer]:
    return answers(FULL, quick=quick)


def answers(run: Run, *, quick: bool) -> list[Answer]:
    timing, peak = measure(replace(run, interval="10 seconds", warm_up=12, seconds=20) if quick else run)
    points = enumerate(_NAMES.items())
    named = [
        Answer(f"{run.name}_{name}_ms", timing[point], "ms", run.targets.get(point), {} if i else timing) for i, (point, name) in points
    ]
    return [*named, memory(run.name, peak)]


def measure(run: Run) -> tuple[dict[str, Any], int]:
    """What a run found, and its peak of memory."""
    with topics.topics("in", "out") as (source, result):
        trial = Trial(run.interval, keep=True, source=source, result=result)
        say(f"{run.name}: {run.rate:,} events/s for {run.warm_up + run.seconds} s")
        with host.Watch() as watch:
            sent = trial.send(run.rate, run.warm_up + run.seconds)
            read = trial.take(sent.records)
        job = trial.end()
    _check(sent, read)
    whole = Timeline.of(sent, read)
    counted = whole.since(run.warm_up)
    away = away_from_ends(counted.due, job.value)
    timing = {
        "rate": sent.rate,
        "batch_interval": run.interval or "headrace's default",
        "batch_ends": int(sum(counted.due.min() <= end <= counted.due.max() for end in job.value)),
        **summary(whole, run.warm_up),
        "away": counted.where(away).percentiles(),
        "undisturbed": counted.where(away & watch.undisturbed(counted.due)).percentiles(),
        "share_away": round(float(away.mean()), 4),
        "sender_late_p99": round(float(np.percentile(sent.late, 99)) / 1e6, 2),
    }
    say(f"all: {counted.percentiles()}")
    say(f"away from {timing['batch_ends']} batch ends: {timing['away']}")
    return timing, job.peak_mb


def away_from_ends(due: NDArray[np.float64], ends: list[float]) -> NDArray[np.bool_]:
    away = np.ones(len(due), dtype=bool)
    for end in ends:
        away &= (due < end - BEFORE_END) | (due > end + AFTER_END)
    return away


def _check(sent: load.Sent, read: load.Read) -> None:
    payloads = (load.record(sent.first + i, sent.due(i))[1] for i in range(sent.records))
    got = sorted((r["tx_id"], r["customer"], r["high"], r["quick"]) for r in map(json.loads, read.values))
    if got != rules.oracle(payloads):
        raise SystemExit(f"{len(got):,} results of {sent.records:,} records are not those of plain Python: no time counts")
