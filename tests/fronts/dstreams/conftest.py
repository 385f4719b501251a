"""A stream in a table: what comes in each batch, what goes out of each. The clock is the test's, so nothing waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from headrace.dstreams import DStream, ManualClock, StreamingContext

Batches = list[list[Any]]


@pytest.fixture
def sc(spark: SparkSession) -> SparkContext:
    return spark.sparkContext


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_000_000)


@pytest.fixture
def ssc(sc: SparkContext, clock: ManualClock, tmp_path: Path) -> Iterator[StreamingContext]:
    """A context of one-second batches, whose state is saved, and which is not recovered."""
    sc.setCheckpointDir(str(tmp_path / "rdds"))
    context = StreamingContext(sc, 1, clock=clock)
    yield context
    context.stop(stopSparkContext=False)


@pytest.fixture(autouse=True)
def _none_is_left() -> Iterator[None]:
    yield
    if (active := StreamingContext.getActive()) is not None:
        active.stop(stopSparkContext=False)


@pytest.fixture
def run(sc: SparkContext, ssc: StreamingContext, clock: ManualClock) -> Callable[..., list[Any]]:
    """run(operation, batches, …, seconds=n): what comes out in each second, sorted; None where the stream has no batch."""

    def run(operation: Callable[..., DStream], *inputs: Batches, seconds: int | None = None) -> list[Any]:
        out: dict[int, list[Any]] = {}
        queues = [ssc.queueStream([sc.parallelize(batch, 1) for batch in batches]) for batches in inputs]
        stream = operation(*queues)
        stream.foreachRDD(lambda time, rdd: out.__setitem__(round(time.timestamp()), sorted(rdd.collect(), key=str)))
        ssc.start()
        for _ in range(seconds or max(map(len, inputs))):
            clock.advance(1)
        ssc.awaitTerminationOrTimeout(0)  # raises what failed
        return [out.get(second) for second in range(1_000_001, clock.now() // 1000 + 1)]

    return run
