"""How long from a record's due time to its result in a consumer's hand: Kafka -> keyed state -> Kafka, in real-time mode?

The work: the two rules of `rules.py` as a headrace job in real-time mode, JSON in and JSON out, two partitions, two shuffle partitions.
Latency is measured from outside by two other processes (`load.py`): it starts when a record was *due* to be sent, and ends when a consumer
has read the result back from Kafka. So it holds the producer, the broker (twice), the job, and every wait in between. Both producers, the
sender's and the job's, let a record wait two milliseconds for company: a request for each record would cost a tenth of the machine, and the
slowest hundredth more than it wins the others.

    realtime_p50_ms, realtime_p99_ms   at 1,000 events/s, away from batch ends
    realtime_p99_undisturbed_ms        of these, the records for which the host took less than a hundredth of the cores in the second around
                                       them: what the software takes, where the machine is a virtual one that others use too
    realtime_p999_all_ms               the same run, all records
    realtime_max_rate                  the highest rate of a sweep whose p99 is below 100 ms, away from batch ends

A real-time batch ends once a minute (headrace's default): the job saves its state, and records wait. A record counts as *away from batch
ends* if it was not due within the second before, or the three seconds after, a batch's end as Spark reports it. The first two minutes warm
up and do not count, as in the demo: Java still compiles what it finds to be used often. What records took then is in the JSON as `warm_up`.
All results of the run at 1,000 events/s must equal plain Python's, each exactly once.

To read: milliseconds, on a machine that runs broker, job, sender and reader at once.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame

import headrace as hr
from bench import host, load, processes, rules, topics
from bench.answers import Answer, at_most, memory, say
from headrace.embedded import kafka

BEFORE_END, AFTER_END = 1.0, 3.0
LIMIT_MS = 100
Way = Callable[..., DataFrame]
_RATES = (1_000, 2_000, 4_000, 8_000, 12_000, 16_000, 24_000, 32_000, 48_000, 64_000)
_PATIENCE = 60.0
_LINGER = {"kafka.linger.ms": str(load.LINGER_MS)}


@dataclass(frozen=True)
class Size:
    interval: str
    warm_up: int
    seconds: int
    rates: tuple[int, ...]
    step: int
    settle: int


FULL = Size("1 minute", warm_up=130, seconds=180, rates=_RATES, step=15, settle=5)
QUICK = Size("10 seconds", warm_up=12, seconds=20, rates=_RATES[:2], step=5, settle=2)


def ask(*, quick: bool) -> list[Answer]:
    size = QUICK if quick else FULL
    steady, peak = _steady(size)
    sweep = _sweep(size)
    ms = steady["away"]
    undisturbed = [Answer("realtime_p99_undisturbed_ms", steady["undisturbed"]["p99"], "ms")] if steady["undisturbed"] else []
    good = [step["rate"] for step in sweep if step["p99"] < LIMIT_MS]
    return [
        Answer("realtime_p50_ms", ms["p50"], "ms", at_most(10), steady),
        Answer("realtime_p99_ms", ms["p99"], "ms", at_most(25)),
        *undisturbed,
        Answer("realtime_p999_all_ms", steady["all"]["p99.9"], "ms"),
        Answer("realtime_max_rate", max(good, default=0), "events/s", None, {"limit_ms": LIMIT_MS, "sweep": sweep}),
        memory("realtime", peak),
    ]


def serve(talk: Connection, bootstrap: str, given: str, result: str, interval: str, way: Way) -> list[float]:
    """The job, until told to stop; the ends of its batches (seconds since 1970)."""
    hr.session(master="local[8]", conf={"spark.sql.shuffle.partitions": "2"})
    records = hr.read.kafka(given, schema=load.SCHEMA, servers=bootstrap)
    # At the end of each line stands when it was due: that is all that the reader has to parse.
    out = records.then(way, "due").to.kafka(result, key="customer", servers=bootstrap, options=_LINGER)
    ends: dict[int, float] = {}
    with tempfile.TemporaryDirectory(prefix="headrace-bench-", ignore_cleanup_errors=True) as checkpoint:
        job = hr.Job("bench", out, trigger=hr.every(interval), checkpoint=checkpoint)
        with job.start("real-time") as running:
            talk.send("started")
            while not talk.poll():
                running.wait(0.2)
                for batch in running.progress():
                    ends[batch.batch] = datetime.fromisoformat(batch.at).timestamp() + batch.seconds
    hr.session().stop()
    return sorted(ends.values())


class Trial:
    """The job, its reader, and records that are sent through them."""

    def __init__(self, interval: str, *, keep: bool, given: str, result: str, way: Way = rules.flagged) -> None:
        self._bootstrap, self._given = kafka.ensure(), given
        self._sent = 0
        self._job = processes.Started(serve, self._bootstrap, given, result, interval, way, talks=True)
        self._reader = processes.Started(load.receive, result, keep, talks=True)
        self._job.recv(120)

    def send(self, rate: int, seconds: int) -> load.Sent:
        sent = processes.run(load.send, self._bootstrap, self._given, self._sent, rate, rate * seconds).value
        self._sent += sent.records
        return sent

    def take(self, records: int) -> load.Read:
        """What came out, once it is so many records or none have come for long."""
        whole, deadline = self._ask(), time.monotonic() + _PATIENCE
        while len(whole.read) < records and time.monotonic() < deadline:
            time.sleep(0.5)
            more = self._ask()
            whole = load.Read(whole.due + more.due, whole.read + more.read, whole.values + more.values)
        return whole

    def _ask(self) -> load.Read:
        self._reader.send(True)
        found: load.Read = self._reader.recv(_PATIENCE)
        return found

    def end(self) -> processes.Done[list[float]]:
        self._reader.send(False)
        self._reader.result()
        self._job.send("stop")
        return self._job.result()


def _steady(size: Size) -> tuple[dict[str, Any], int]:
    with topics.topics("in", "out") as (given, result):
        trial = Trial(size.interval, keep=True, given=given, result=result)
        say(f"1,000 events/s for {size.warm_up + size.seconds} s")
        with host.Watch() as watch:
            sent = trial.send(1_000, size.warm_up + size.seconds)
            read = trial.take(sent.records)
        job = trial.end()
    _check(sent, read)
    counted = np.array(read.due) >= sent.start + size.warm_up * 1_000_000_000
    taken = (np.array(read.read) - np.array(read.due)) / 1e6
    due, ms = np.array(read.due)[counted] / 1e9, taken[counted]
    away = away_from_ends(due, job.value)
    undisturbed = away & watch.undisturbed(due)
    found = {
        "rate": sent.rate,
        "batch_interval": size.interval,
        "batch_ends": int(sum(due.min() <= end <= due.max() for end in job.value)),
        "away": percentiles(ms[away]),
        "undisturbed": percentiles(ms[undisturbed]),
        "all": percentiles(ms),
        "warm_up": percentiles(taken[~counted]),
        "share_away": round(float(away.mean()), 4),
        "share_undisturbed": round(float(undisturbed.mean()), 4),
        "sender_late_p99": round(float(np.percentile(sent.late, 99)) / 1e6, 2),
    }
    for name in ("away", "undisturbed", "all"):
        say(f"{name}: {found[name]}")
    return found, job.peak_mb


def _sweep(size: Size) -> list[dict[str, Any]]:
    """Rates upwards until one is too high, then one half way: all within one query, whose batches are long."""
    with topics.topics("in", "out") as (given, result):
        trial = Trial("5 minutes", keep=False, given=given, result=result)
        trial.take(trial.send(1_000, size.warm_up).records)
        steps = []
        rates, tried = list(size.rates), 0
        while rates:
            rate = rates.pop(0)
            sent = trial.send(rate, size.settle + size.step)
            read = trial.take(sent.records)
            due, taken = np.array(read.due), np.array(read.read)
            counted = due >= sent.start + size.settle * 1_000_000_000
            step = {"rate": rate, "due": due[counted] / 1e9, "ms": (taken - due)[counted] / 1e6, "late": sent.late}
            steps.append(step)
            p99 = float(np.percentile(step["ms"], 99))
            say(f"{rate:,} events/s: p99 {p99:.1f} ms")
            if p99 >= LIMIT_MS and not tried:
                rates, tried = [(rate + max(s["rate"] for s in steps[:-1])) // 2] if len(steps) > 1 else [], 1
        ends = trial.end().value
    found = []
    for step in steps:
        ms = step["ms"][away_from_ends(step["due"], ends)]
        if len(ms):
            late = round(float(np.percentile(step["late"], 99)) / 1e6, 2)
            found.append({"rate": step["rate"], **percentiles(ms), "sender_late_p99": late})
    return sorted(found, key=lambda step: step["rate"])


def away_from_ends(due: NDArray[np.float64], ends: list[float]) -> NDArray[np.bool_]:
    away = np.ones(len(due), dtype=bool)
    for end in ends:
        away &= (due < end - BEFORE_END) | (due > end + AFTER_END)
    return away


def percentiles(ms: NDArray[np.float64]) -> dict[str, float]:
    if not len(ms):
        return {}
    points = {"p50": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p99.9": 99.9, "max": 100.0}
    return {name: round(float(np.percentile(ms, at)), 2) for name, at in points.items()}


def _check(sent: load.Sent, read: load.Read) -> None:
    given = (load.record(sent.first + i, sent.due(i))[1] for i in range(sent.records))
    got = sorted((r["tx_id"], r["customer"], r["high"], r["quick"]) for r in map(json.loads, read.values))
    if got != rules.oracle(given):
        raise SystemExit(f"{len(got):,} results of {sent.records:,} records are not those of plain Python: no time counts")
