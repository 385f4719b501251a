"""What the kernel can do with a query while it runs: end it with its batch, and say how long its records had waited."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pyspark.sql import SparkSession

from headrace.kernel import jvm


def end(spark: SparkSession, query: Any) -> None:
    """Let a query (Spark's own, in Java) begin no other batch. In real-time mode the one under way ends now, as if its time were up. A
    query that ends by this fails, of what `finished` knows, unless it was told meanwhile that it is stopped."""
    jvm.package(spark).Endings.ask(query)


def finished(failure: Any) -> bool:
    """Whether a query has failed of nothing else than that it was asked to end."""
    cause = failure.getCause()
    return cause is not None and cause.getClass().getSimpleName() == "Finished"


def waited(spark: SparkSession, run: str) -> Counter[int]:
    """How many records the run has taken up since it began, by the milliseconds that they had been in the log: exact up to 31, then to
    the sixteenth part. Only of sources that know it, and of tasks in this process (on a cluster, there are none)."""
    counted: Counter[int] = Counter()
    for pair in jvm.package(spark).Meters.read(run).split():
        millis, records = pair.split(":")
        counted[int(millis)] += int(records)
    return counted


def forget(spark: SparkSession, query: Any) -> None:
    """Let go of what was kept for a query that has ended."""
    jvm.package(spark).Endings.forget(query)
    jvm.package(spark).Meters.forget(query.runId().toString())
