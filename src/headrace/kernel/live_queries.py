"""What the kernel can do with a query while it runs, by the id of its run: end its batch, and say what its records waited for."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pyspark.sql import SparkSession

from headrace.kernel import jvm


def end_batch(spark: SparkSession, run: str) -> None:
    """In real-time mode: let the batch end now, as if its time were up. It is saved as every other, and another one would end at once."""
    jvm.package(spark).Endings.ask(run)


def finish(spark: SparkSession, query: Any) -> bool:
    """Let the batch that a query is at be its last, and begin no other; whether it is at none, and only has to be woken."""
    return bool(jvm.package(spark).Endings.finish(query, query.state()))


def waited(spark: SparkSession, run: str) -> Counter[int]:
    """How many records the run has taken up since it began, by the milliseconds that they had been in the log: exact up to 31, then to
    the sixteenth part. Only of sources that know it, and of tasks in this process (on a cluster, there are none)."""
    counted: Counter[int] = Counter()
    for pair in jvm.package(spark).Meters.read(run).split():
        millis, records = pair.split(":")
        counted[int(millis)] += int(records)
    return counted


def forget(spark: SparkSession, run: str) -> None:
    """Let go of what was kept for a run that has ended; Python functions that stayed in their processes are closed, and those end."""
    jvm.package(spark).KeptWorkers.forget(run)
    jvm.package(spark).Endings.forget(run)
    jvm.package(spark).Meters.forget(run)
