"""One streaming query of a job, as Spark runs it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace.kernel import live_queries

# What Spark says a query is at while a batch is under way: from before its first row goes out until it is saved.
_AT_A_BATCH = ("Processing new data", "No new data but cleaning up state")

_MOMENT = "3s"  # for what cannot be interrupted: Spark's own way is to wait for ever


class Query:
    """A query that runs. It ends in one of two ways.

    finish  lets the batch under way be the last: it is saved, and nothing is done again at the next start
    stop    interrupts it, and what it has put out is put out again
    """

    def __init__(self, name: str, query: StreamingQuery, raised: list[Exception], *, where: str | None, rests: bool) -> None:
        self.name, self.spark_query, self.where, self.rests = name, query, where, rests
        self.raised = raised
        """What its Python code raised; Spark keeps only text."""
        self._spark = SparkSession.active()
        self._java: Any = query._jsq.streamingQuery()
        self._interrupted = self._asked = False
        self.cut = False
        """Whether it was stopped in the middle of a batch."""

    @property
    def run(self) -> str:
        """Of this start: a query that is started again has another."""
        return str(self.spark_query.runId)

    @property
    def state(self) -> str:
        """The directory of its state."""
        return f"{str(self._java.resolvedCheckpointRoot()).removeprefix('file:')}/state"

    @property
    def ended(self) -> bool:
        """Whether nothing of it runs any more. (For Spark it is no longer active as soon as it is told to end.)"""
        return not self._java.queryExecutionThread().isAlive()

    @property
    def exception(self) -> Any | None:
        """What Spark says it failed of, if it did. A batch that was interrupted may fail of that, which is nobody's business."""
        failed = None if self._interrupted else self._java.exception()
        if failed is None or not failed.isDefined():
            return None
        if self._asked and "InterruptedException" in str(failed.get().getMessage()):  # Spark's own way to end a batch that it has planned
            self.cut = True
            return None
        return failed.get()

    def finish(self) -> None:
        """Begin no other batch, and in real time end the one under way. Returns soon; one between two batches has ended then."""
        self._asked = True
        live_queries.end_batch(self._spark, self.run)
        resting = live_queries.finish(self._spark, self._java)
        if resting or not self._at_a_batch:
            self.stop()  # it waits for its trigger, or for a source that does not answer

    def stop(self) -> None:
        """End it now. A Python function in the middle of a batch cannot be interrupted; after a moment it is left to itself."""
        if not self.ended:
            self._interrupted, self.cut = True, self._at_a_batch
        with _configured(self._spark, "spark.sql.streaming.stopTimeout", _MOMENT), suppress(Py4JJavaError):
            self.spark_query.stop()
        live_queries.forget(self._spark, self.run)

    @property
    def _at_a_batch(self) -> bool:
        return self._java.status().message() in _AT_A_BATCH

    @property
    def batch(self) -> int:
        """The number of the batch that it is at, or will be at next."""
        return int(self._java.getLatestExecutionContext().batchId())

    @property
    def waited(self) -> Counter[int]:
        """How many records it has taken up, by the milliseconds that they had waited in the log."""
        return live_queries.waited(self._spark, self.run)

    @property
    def last(self) -> Any | None:
        """Spark's report on the last batch that was completed, if there is one."""
        return self._java.lastProgress()

    @property
    def recent(self) -> Iterator[Any]:
        """Spark's reports on the last batches, at most a hundred, from new to old."""
        reports = self._java.recentProgress()
        return (reports[i] for i in reversed(range(len(reports))))  # each is a call into the JVM


@contextmanager
def _configured(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    before = spark.conf.get(name, None)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, before)
