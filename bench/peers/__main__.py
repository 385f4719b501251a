"""`python -m bench.peers`: the keyed count on headrace and on others, one after the other in one run.

The work: how many transactions each customer has had so far, as a row for each transaction. JSON in and JSON out, Kafka to Kafka, two
partitions in, two threads, state in RocksDB, and where a system lets it be said: the producer waits 2 ms for company, and what is done is
saved every ten seconds. Sender, reader and the way to measure are those of `bench/latency.py`: **every record counts** that was due after
the warm-up, from when it was due until the result was read. A system whose answers are not those of plain Python, each exactly once, has no
numbers.

What cannot be had on this machine (jars, a compiler) is left out with a word.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Annotated, Any

import typer

from bench import load, report, topics
from bench.answers import say
from bench.peers import picture
from bench.peers.systems import SYSTEMS, MissingError, System
from bench.timeline import Timeline, summary

RESULTS = report.RESULTS / "peers.json"


def main(
    names: Annotated[list[str] | None, typer.Argument(help=f"Which of {', '.join(SYSTEMS)}; all if none is named.")] = None,
    rate: int = 1_000,
    warm_up: int = 60,
    seconds: int = 120,
) -> None:
    """Measure, print, and write bench/results/peers.json and its picture."""
    found: dict[str, Any] = {"machine": report.machine(), "rate": rate, "warm_up": warm_up, "systems": {}}
    for name in names or SYSTEMS:
        try:
            found["systems"][name] = measure(SYSTEMS[name], rate, warm_up, seconds)
            say(f"{name}: {found['systems'][name]['all']}")
        except MissingError as reason:
            say(f"{name} is left out: {reason}")
            continue
        report.save(found, RESULTS)  # each on its own: what is measured is not lost when a later one fails
        picture.save(found, RESULTS.with_suffix(".png"))


def measure(system: System, rate: int, warm_up: int, seconds: int) -> dict[str, Any]:
    with topics.topics("in", "out") as (given, result), system.running(given, result) as reader:
        sent = reader.send(rate, warm_up + seconds)
        read = reader.take(sent.records)
    _check(sent, read)
    found = summary(Timeline.of(sent, read), warm_up)
    return {"all": {name: found.pop(name) for name in ("p50", "p90", "p95", "p99", "p99.9", "max")}, **found}


def _check(sent: load.Sent, read: load.Read) -> None:
    counts: Counter[str] = Counter()
    expected = []
    for i in range(sent.records):
        customer = json.loads(load.record(sent.first + i, sent.due(i))[1])["customer"]
        counts[customer] += 1
        expected.append((customer, counts[customer], sent.due(i)))
    got = sorted((row["customer"], row["n"], row["due"]) for row in map(json.loads, read.values))
    if got != sorted(expected):
        raise SystemExit(f"{len(got):,} results of {sent.records:,} records are not those of plain Python: no time counts")


if __name__ == "__main__":
    typer.run(main)
