"""Ways of doing the same work, in micro-batches from Kafka, each in a process of its own: its rows on a prefix, then its rate.

All ways take turns, several rounds of them. A ratio is that of one round, minutes apart at most, and what counts is the median of the
rounds: the machine may be one that others use, too, and be half as fast an hour later. Ways of about the same speed are told apart by
`in_short_turns.py` only.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from bench.measuring import processes, topics
from bench.measuring.processes import Done
from bench.reporting.answers import say
from bench.work import rules
from headrace.embedded import kafka
from headrace.spark.session import session

Way = Callable[[DataFrame], DataFrame]
Oracle = Callable[[list[bytes]], list[Any]]

Place = tuple[str, str, str]
"""The broker's address, the topic with the prefix, the topic with everything."""
Round = Iterator[tuple[str, Done["Rate"]]]
Execute = Callable[[Mapping[str, Way], "Size", Place], Round]

_CONF = {"spark.sql.shuffle.partitions": "2"}


@dataclass(frozen=True)
class Size:
    """Micro-batches of `batch` records out of `records`, twice from the beginning: for `warm_up` seconds, or until all are gone, while Java
    compiles what is used often; then again, where the first `settle` seconds do not count, and at least `seconds` do; that
    so many times, if ways take short `turns`."""

    prefix: int
    records: int
    batch: int
    warm_up: int
    settle: float
    seconds: float
    rounds: int
    turns: int = 1


FULL = Size(prefix=40_000, records=20_000_000, batch=500_000, warm_up=30, settle=5, seconds=12, rounds=3)
QUICK = Size(prefix=20_000, records=200_000, batch=10_000, warm_up=1, settle=0.5, seconds=1, rounds=1)


@dataclass(frozen=True)
class Rate:
    """`rows`: what the way makes of the prefix, sorted. `batches`: seconds of each that counted; the rate is that of the median, so that
    one batch during which the host was busy with others decides nothing.

    `cpu`: seconds of work for a million events, of all processes but the broker. Unlike the rate it does not depend much on what else runs.
    """

    rows: list[tuple[Any, ...]]
    events_per_s: int
    batches: list[float]
    cpu: float


Rounds = dict[str, list[Done[Rate]]]


def ratio(by_way: Rounds, way: str, other: str) -> float:
    """How many times as fast one way is as the other: the median of the rounds."""
    rounds = zip(by_way[way], by_way[other], strict=True)
    return round(statistics.median(a.value.events_per_s / b.value.events_per_s for a, b in rounds), 2)


def peak_mb(by_way: Rounds, way: str) -> int:
    return max(done.peak_mb for done in by_way[way])


def details(by_way: Rounds, size: Size) -> dict[str, Any]:
    """What the ratios are made of: of all rounds the median, and each by itself."""
    rates = {name: [done.value.events_per_s for done in rounds] for name, rounds in by_way.items()}
    return {
        "events_per_s": {name: round(statistics.median(of)) for name, of in rates.items()},
        "events_per_s_by_round": rates,
        "cpu_seconds_per_million_by_round": {name: [done.value.cpu for done in rounds] for name, rounds in by_way.items()},
        "batches_by_round": {name: [len(done.value.batches) for done in rounds] for name, rounds in by_way.items()},
        "micro_batch": size.batch,
    }


def spark() -> SparkSession:
    return session(master="local[2]", conf=_CONF)


def in_turn(ways: Mapping[str, Way], size: Size, place: Place) -> Round:
    """One after the other."""
    for name, way in ways.items():
        yield name, processes.run(measure, way, size, place)


def compare(ways: Mapping[str, tuple[Way, Oracle]], size: Size, execute: Execute = in_turn) -> Rounds:
    """Each way over the same topic; its rows on a prefix must be what its oracle makes of the bytes, each time."""
    bootstrap = kafka.ensure()
    with topics.topics("prefix", "events") as (prefix, events):
        say(f"writing {size.records:,} records")
        processes.run(fill, bootstrap, {prefix: size.prefix, events: size.records})
        values = topics.read(prefix)
        expected = {name: oracle(values) for name, (_, oracle) in ways.items()}
        by_way: Rounds = {name: [] for name in ways}
        for turn in range(size.rounds):
            for name, done in execute({name: way for name, (way, _) in ways.items()}, size, (bootstrap, prefix, events)):
                if done.value.rows != expected[name]:
                    raise SystemExit(f"{name} gives other rows than plain Python: no time counts")
                by_way[name].append(done)
                words = f"{done.value.events_per_s:,} events/s, {done.value.cpu} CPU s a million, peak {done.peak_mb:,} MB"
                say(f"{turn + 1}/{size.rounds} {name}: {words}")
        return by_way


def fill(bootstrap: str, sizes: dict[str, int]) -> None:
    """The first so many transactions into each topic."""
    for topic, records in sizes.items():
        n = numbers(records)
        write(n.select(*rules.transactions(F.col("n"), rules.mixed(F.col("n")))), bootstrap, topic)
    spark().stop()


def numbers(records: int) -> DataFrame:
    """The numbers from 0 on: even ones in order in one task, odd ones in another, so that each writes one partition in order."""
    half = records // topics.PARTITIONS
    ids = spark().range(0, 2 * half, 1, topics.PARTITIONS)
    second = (F.col("id") >= half).cast("bigint")
    return ids.select(((F.col("id") - second * half) * 2 + second).alias("n"))


def write(records: DataFrame, bootstrap: str, topic: str) -> None:
    records.write.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("topic", topic).save()


def measure(way: Way, size: Size, place: Place) -> Rate:
    bootstrap, prefix, topic = place
    rows = rows_of(way, stream(bootstrap, prefix, size.prefix // 4))
    with running(way, bootstrap, topic, size) as query:
        query.awaitTermination(size.warm_up)
    with running(way, bootstrap, topic, size) as query:
        batches, cpu = steady(query, size)
    spark().stop()
    return rate(rows, batches, size, cpu)


def rate(rows: list[tuple[Any, ...]], batches: list[float], size: Size, cpu: float) -> Rate:
    if not batches:
        raise SystemExit("not one whole batch was done in the time: the machine is too slow for it")
    events = len(batches) * size.batch
    return Rate(rows, round(size.batch / statistics.median(batches)), batches, round(cpu / events * 1e6, 2))


@contextmanager
def running(way: Way, bootstrap: str, topic: str, size: Size) -> Iterator[StreamingQuery]:
    """A query over the topic from its beginning, with no state yet."""
    with tempfile.TemporaryDirectory(prefix="headrace-bench-", ignore_cleanup_errors=True) as checkpoint:
        result = way(stream(bootstrap, topic, size.batch))
        query = result.writeStream.format("noop").option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        try:
            yield query
        finally:
            query.stop()


def rows_of(way: Way, events: DataFrame) -> list[tuple[Any, ...]]:
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as place:
        options = {"checkpointLocation": str(Path(place) / "checkpoint"), "path": str(Path(place) / "rows")}
        query = way(events).writeStream.format("parquet").options(**options).trigger(availableNow=True).start()
        query.awaitTermination()
        return sorted(tuple(row) for row in spark().read.parquet(options["path"]).collect())


def stream(bootstrap: str, topic: str, batch: int) -> DataFrame:
    options = {
        "kafka.bootstrap.servers": bootstrap,
        # As headrace's own source has them: the fastest for all.
        "kafka.max.poll.records": "10000",
        "kafka.max.partition.fetch.bytes": str(8 << 20),
        "kafka.fetch.max.wait.ms": "10",
        "subscribe": topic,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(batch),
    }
    return spark().readStream.format("kafka").options(**options).load()


def steady(query: StreamingQuery, size: Size) -> tuple[list[float], float]:
    """The seconds of each batch after the first ones, until they are enough and at least two, and the CPU seconds of all these together.

    Without the topic's last batch, which takes half a second longer than the others: only a way that is fast enough to get there would be
    charged for it.
    """
    settled, before, last = 0, 0.0, size.records // size.batch
    while True:
        ended = not query.isActive
        taken = [report["durationMs"]["triggerExecution"] / 1000 for report in query.recentProgress if report["numInputRows"] == size.batch]
        if not settled and sum(taken) >= size.settle:
            settled, before = len(taken), processes.cpu_seconds()
        counted = taken[settled : last - 1] if settled else []
        if counted and (len(taken) >= last - 1 or (len(counted) > 1 and sum(counted) >= size.seconds)):
            return counted, processes.cpu_seconds() - before
        if ended:
            query.awaitTermination()  # raises what it failed of
            raise SystemExit("all records were gone before any counted: the topic is too small")
        time.sleep(0.5)  # each look at the reports costs the query some milliseconds
