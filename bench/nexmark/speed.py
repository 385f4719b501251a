"""How many events a second does a query take?

The events are made in Spark itself, from their numbers, in micro-batches of the same size; nothing is written. What counts is what comes
after a warm-up, in which Java compiles. The making of the events is part of the work, as in Nexmark's own runs.

To read: events a second by the clock on the wall, which other work on the machine slows down, and events a second of CPU time: what one
core does that has nothing else to do. CPU time is that of the whole process with all its threads: queries, garbage collection, compiler.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from bench.measuring import processes, throughput
from bench.nexmark.events import SCHEMA
from bench.nexmark.generator import events
from bench.nexmark.queries import QUERIES
from headrace import Stream, read
from headrace.testing.recipes import between


@dataclass(frozen=True)
class Size:
    """Micro-batches of `batch` events, for `warm_up` seconds of CPU time and then for `seconds` of it."""

    batch: int
    warm_up: float
    seconds: float


FULL = Size(batch=200_000, warm_up=40, seconds=20)
QUICK = Size(batch=20_000, warm_up=1, seconds=1)


@dataclass(frozen=True)
class Speed:
    """`per_core` are events a second of CPU time. `state` is Spark's report on each state at the end: rows, and memory of the store."""

    events_per_s: int
    per_core: int
    events: int
    seconds: float
    cpu_seconds: float
    state: list[dict[str, int]]


def measure(name: str, size: Size) -> Speed:
    """In this process."""
    with tempfile.TemporaryDirectory(prefix="headrace-bench-", ignore_cleanup_errors=True) as checkpoint:
        writer = stream(QUERIES[name].program, size.batch).writeStream.format("noop").outputMode("update")
        query = writer.option("checkpointLocation", checkpoint).start()
        try:
            begin = _after(query, processes.cpu_seconds() + size.warm_up)
            end = _after(query, begin.cpu + size.seconds)
        finally:
            query.stop()
    count, cpu, seconds = (end.batches - begin.batches) * size.batch, end.cpu - begin.cpu, end.at - begin.at
    return Speed(round(count / seconds), round(count / cpu), count, round(seconds, 1), round(cpu, 1), end.state)


def stream(program: Callable[[Stream], Stream], batch: int) -> DataFrame:
    """A program over events without end."""
    source = throughput.spark().readStream.format("rate-micro-batch").option("rowsPerBatch", batch).option("numPartitions", 2).load()
    empty = read.memory(SCHEMA)
    return between(empty, program(empty))(events(source, number="value"))


@dataclass(frozen=True)
class Moment:
    """The end of a micro-batch."""

    batches: int
    at: float
    cpu: float
    state: list[dict[str, int]]


def _after(query: StreamingQuery, cpu: float) -> Moment:
    """The end of the first micro-batch at which the process has worked for so many seconds. At least one batch goes by."""
    known = _done(query)
    while True:
        if (now := _done(query)) > known:
            known = now
            if (worked := processes.cpu_seconds()) >= cpu:
                report: Any = query.lastProgress
                state = [{"rows": of["numRowsTotal"], "bytes": of["memoryUsedBytes"]} for of in report["stateOperators"]]
                return Moment(now, time.monotonic(), worked, state)
        if not query.isActive:
            query.awaitTermination()  # raises what it failed of
        time.sleep(0.05)


def _done(query: StreamingQuery) -> int:
    """How many micro-batches with events there were."""
    report: Any = query.lastProgress
    return 0 if report is None else report["batchId"] + 1
