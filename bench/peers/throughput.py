"""How many records a second, if the topic is full already? Two rules about each of 10,000 customers, Kafka to Kafka: `bench/work/rules.py`.

A topic has the records before a system starts. The first third is its warm-up: its start, and what Java compiles. Two thirds count, from
when the results of the first are in the output topic until all are; how many are there is asked of the broker, ten times a second, so that
no reader takes a part of the machine. Afterwards they are read: they must be those of plain Python, each once.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from confluent_kafka import TopicPartition

from bench.measuring import processes, throughput, topics
from bench.peers.systems import System
from bench.reporting.answers import say
from bench.work import rules
from headrace.embedded import kafka

RECORDS = 2_000_000
_PATIENCE = 120.0
_GLANCE = 0.1

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Input:
    """A topic with so many records that count, after half as many of warm-up, and the rows that they give."""

    topic: str
    records: int
    rows: Sequence[Row]

    @property
    def warm_up(self) -> int:
        return self.records // 2


@contextmanager
def filled(sizes: Sequence[int]) -> Iterator[dict[int, Input]]:
    """An input for each number of records that count."""
    with topics.topics(*(f"in-{size}" for size in sizes)) as names:
        say(f"writing {' and '.join(f'{size:,}' for size in sizes)} records, and half as many for the warm-up")
        processes.run(throughput.fill, kafka.ensure(), {name: size + size // 2 for name, size in zip(names, sizes, strict=True)})
        inputs = {size: Input(name, size, rules.oracle(topics.read(name))) for name, size in zip(names, sizes, strict=True)}
        yield inputs


def measure(system: System, given: Input) -> dict[str, Any]:
    whole = given.warm_up + given.records
    with topics.topics("out") as (result,):
        begin = time.monotonic()
        with system.started("rules", given.topic, result):
            seen = list(_watched(result, whole))
        got = sorted(tuple(row.values()) for row in map(json.loads, topics.read(result)))
    if got != given.rows:
        raise SystemExit(f"{len(got):,} results of {whole:,} records are not those of plain Python: no time counts")
    return {"records": given.records, "events_per_s": rate(seen, given.warm_up), "seconds_with_start": round(seen[-1][0] - begin, 1)}


def rate(seen: Sequence[tuple[float, int]], warm_up: int) -> int:
    """Of the results (when, how many there were) that came after the warm-up's."""
    since, before = next(each for each in seen if each[1] >= warm_up)
    until, after = seen[-1]
    return round((after - before) / (until - since))


def _watched(result: str, whole: int) -> Iterator[tuple[float, int]]:
    reading = topics.consumer(result)
    partitions = [TopicPartition(result, partition) for partition in range(topics.PARTITIONS)]
    count, deadline = 0, time.monotonic() + _PATIENCE
    while count < whole:
        before, count = count, sum(reading.get_watermark_offsets(partition)[1] for partition in partitions)
        now = time.monotonic()
        yield now, count
        if count > before:
            deadline = now + _PATIENCE
        elif now > deadline:
            raise SystemExit(f"only {count:,} results of {whole:,}, and no more in {_PATIENCE:.0f} s")
        time.sleep(_GLANCE)
    reading.close()
