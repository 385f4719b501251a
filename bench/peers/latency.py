"""How long until the result of a record is in a consumer's hand, at a steady rate? The keyed count: `programs/work.py`.

Sender, reader and the way to measure are those of `bench/questions/latency.py`: **every record counts** that was due after the warm-up,
from when it was due until the result was read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bench.measuring import load, topics
from bench.measuring.timeline import Timeline, summary
from bench.measuring.trial import Outside
from bench.peers.programs import work
from bench.peers.systems import System

_FIRST = 100  # records that are sent before the warm-up


def measure(system: System, rate: int, warm_up: int, seconds: int) -> dict[str, Any]:
    with topics.topics("in", "out") as (source, result), system.started("count", source, result):
        outside = Outside(result, keep=True, source=source)
        begun = outside.send(_FIRST, 1)
        first = outside.take(begun.records)  # from here on it runs, however long its start took
        sent = outside.send(rate, warm_up + seconds)
        read = outside.take(sent.records)
        outside.close()
    check([begun, sent], first.values + read.values)
    finding = summary(Timeline.of(sent, read), warm_up)
    points = {name: finding.pop(name) for name in ("p50", "p90", "p95", "p99", "p99.9", "max")}
    return {"all": points, "seconds": seconds, "warm_up_seconds": warm_up, **finding}


def check(sent: Sequence[load.Sent], values: Sequence[bytes]) -> None:
    """The rows must be those of plain Python, each once."""
    memory: dict[str, Any] = {}
    expected = []
    for part in sent:
        for i in range(part.records):
            record = json.loads(load.record(part.first + i, part.due(i))[1])
            memory[record["customer"]], row = work.count(memory.get(record["customer"]), record)
            expected.append(tuple(row.values()))
    got = sorted((row["customer"], row["n"], row["due"]) for row in map(json.loads, values))
    if got != sorted(expected):
        raise SystemExit(f"{len(got):,} results of {len(expected):,} records are not those of plain Python: no time counts")
