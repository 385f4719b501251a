"""A job that runs: wait for it, look at it, stop it."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from headrace.errors import JobError
from headrace.run import failures
from headrace.run.progress import Progress, record
from headrace.run.session import GONE, gone

P = ParamSpec("P")
T = TypeVar("T")

_GLANCE = 0.1


def _told_if_spark_is_gone(method: Callable[P, T]) -> Callable[P, T]:
    @functools.wraps(method)
    def told(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(*args, **kwargs)
        except GONE:
            raise gone(JobError) from None

    return told


class Running:
    """The streaming queries of one job. They live and die together: when one fails, the others are stopped.

    with job.start("micro-batch") as running:
        running.wait(60)
        print(running.progress())
    """

    def __init__(self, job: str, mode: str) -> None:
        self.job, self.mode = job, mode
        self._queries: dict[str, StreamingQuery] = {}
        self._raised: dict[str, list[Exception]] = {}
        self._restless: set[str] = set()
        self._follow: dict[str, Callable[[], DataStreamWriter | None]] = {}
        self._told: dict[str, tuple[int, str]] = {}
        self._stopped = False
        self._failed: JobError | None = None

    def begin(self, name: str, writer: DataStreamWriter, raised: list[Exception], *, rests: bool = True) -> StreamingQuery:
        """Start one more query; `raised` is where its Python code leaves what it raises. One that does not rest makes a batch at every
        interval, also without records."""
        with failures.of_job(self.job, name):
            self._queries[name], self._raised[name] = writer.start(), raised
        if not rests:
            self._restless.add(name)
        return self._queries[name]

    def follow(self, name: str, next: Callable[[], DataStreamWriter | None]) -> None:
        """When that query has come to its end, and has not failed, begin another one, if `next` gives one."""
        self._follow[name] = next

    @property
    def active(self) -> bool:
        """Whether any query is at work, or is to follow one that has ended."""
        for name in [name for name in self._follow if not self._queries[name].isActive]:
            self._follow_up(name, self._follow.pop(name))
        return any(query.isActive for query in self._queries.values())

    def _follow_up(self, name: str, next: Callable[[], DataStreamWriter | None]) -> None:
        with suppress(PySparkException):  # a failure is told in our words, by who asked
            self._queries[name].awaitTermination()  # it is no longer active a little before it has let go of its checkpoint
        if self._stopped or self._failure() is not None:
            return
        with failures.of_job(self.job, name):
            writer = next()
        if writer is not None:
            self.begin(f"{name}, end", writer, self._raised[name])

    @_told_if_spark_is_gone
    def wait(self, seconds: float | None = None) -> bool:
        """Block until the job has ended, at most so long; whether it has. JobError if it failed."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            self._raise_failure()
            if not self.active:
                self._raise_failure()  # the last one may have failed between the two looks
                return True
            left = _GLANCE if deadline is None else min(_GLANCE, deadline - time.monotonic())
            if left <= 0:
                return False
            time.sleep(left)

    def stop(self) -> None:
        """Stop all queries. What they have done is saved; what they were at is done again at the next start."""
        if self._stopped:
            return
        try:
            self._failed, self._stopped = self._failure(), True
            for query in self._queries.values():
                query.stop()
        except GONE:  # and with it the queries
            self._failed, self._stopped = gone(JobError), True

    @_told_if_spark_is_gone
    def process_all(self) -> None:
        """Block until every record that is in the sources now has been processed. For tests: a live source may never let it return."""
        for name, query in self._queries.items():
            if name in self._restless:
                self._await_an_empty_batch(name)
                continue
            with suppress(PySparkException):  # told in our words below
                query.processAllAvailable()
        self._raise_failure()

    def _await_an_empty_batch(self, name: str) -> None:
        """Until Spark has looked for records after now, and found none. (Its own way is to wait until there is no batch at all.)"""
        asked, query = datetime.now(UTC), self._queries[name]

        def empty(report: Any) -> bool:
            return datetime.fromisoformat(report.timestamp()) > asked and report.numInputRows() == 0

        while query.isActive and not any(map(empty, query._jsq.recentProgress())):
            time.sleep(_GLANCE)

    @_told_if_spark_is_gone
    def progress(self) -> list[Progress]:
        """The last batch of each query that has completed one."""
        last = {name: query._jsq.lastProgress() for name, query in self._queries.items()}
        return [self._record(name, report) for name, report in last.items() if report is not None]

    @_told_if_spark_is_gone
    def news(self) -> list[Progress]:
        """The batches that were completed since the last call, of each query at most the hundred that Spark remembers."""
        found = []
        for name, query in self._queries.items():
            reports = list(query._jsq.recentProgress())
            told = self._told.get(name)
            at = next((i for i in reversed(range(len(reports))) if _mark(reports[i]) == told), -1)
            found += [self._record(name, report) for report in reports[at + 1 :]]
            if reports:
                self._told[name] = _mark(reports[-1])
        return found

    def _record(self, name: str, report: Any) -> Progress:
        return record(self.job, name, json.loads(report.json()), real_time=self.mode == "real-time")

    def _raise_failure(self) -> None:
        if self._failure() is not None:
            self.stop()
        if self._failed is not None:
            raise self._failed

    def _failure(self) -> JobError | None:
        if self._stopped:  # a batch that was interrupted by `stop` may have failed of it; that is nobody's business
            return self._failed
        for name, query in self._queries.items():
            found = query._jsq.exception()
            if found.isDefined():
                return failures.of_query(self.job, name, found.get(), next(iter(self._raised[name]), None))
        return None

    def __enter__(self) -> Running:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
        if error is None:
            self._raise_failure()


def _mark(report: Any) -> tuple[int, str]:
    return report.batchId(), report.timestamp()
