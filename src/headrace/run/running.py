"""A job that runs: wait for it, look at it, stop it."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from headrace.errors import JobError
from headrace.run import failures, gone, live
from headrace.run.claims import Claim
from headrace.run.progress import Progress, record

_GLANCE = 0.1


class Running:
    """The streaming queries of one job. They live and die together: when one fails, the others are stopped.

        with job.start("micro-batch") as running:
            running.wait(60)
            print(running.progress())

    Leaving the block stops the job, and raises JobError if it has failed.
    """

    def __init__(self, job: str, mode: str, claim: Claim) -> None:
        self.job, self.mode = job, mode
        self._claim = claim
        claim.active = lambda: self.active
        self._queries: dict[str, StreamingQuery] = {}
        self._raised: dict[str, list[Exception]] = {}
        self._where: dict[str, str | None] = {}
        self._restless: set[str] = set()
        self._told: dict[str, tuple[int, str]] = {}
        self._stopped = False
        self._failed: JobError | None = None

    def begin(
        self, name: str, writer: DataStreamWriter, raised: list[Exception], *, where: str | None = None, rests: bool = True
    ) -> StreamingQuery:
        """For `Job.start`: start one more query. `raised` is where its Python code leaves what it raises, `where` the user's line. One that
        does not rest makes a batch at every interval, also without records."""
        with failures.of_job(self.job, name, where):
            self._queries[name], self._raised[name], self._where[name] = writer.start(), raised, where
        if not rests:
            self._restless.add(name)
        return self._queries[name]

    @property
    @gone.told(JobError)
    def active(self) -> bool:
        """Whether any query is at work."""
        return any(query.isActive for query in self._queries.values())

    @gone.told(JobError)
    def wait(self, seconds: float | None = None) -> bool:
        """Block until the job has ended, at most so long; whether it has. JobError if it failed."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            self._raise_failure()
            if not self.active:
                self._raise_failure()  # the last one may have failed between the two looks
                self._claim.release()
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
        except Exception as raised:
            if not gone.because(raised):
                raise
            self._failed, self._stopped = gone.error(JobError), True  # and with the JVM the queries
        self._claim.release()

    @gone.told(JobError)
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

    @gone.told(JobError)
    def progress(self) -> list[Progress]:
        """The last batch of each query that has completed one."""
        last = {name: query._jsq.lastProgress() for name, query in self._queries.items()}
        return [self._record(name, report) for name, report in last.items() if report is not None]

    @gone.told(JobError)
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

    def live(self, seconds: float | None = None) -> None:
        """Show what it is at, drawn anew in place, until it has ended, so many seconds have passed, or Ctrl-C: the job itself goes on.

        In a notebook in the cell's output, else on the terminal. JobError if the job fails meanwhile.
        """
        live.watch(self, seconds)

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
                return failures.of_query(self.job, name, found.get(), next(iter(self._raised[name]), None), self._where[name])
        return None

    def __enter__(self) -> Running:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
        if error is None:
            self._raise_failure()


def _mark(report: Any) -> tuple[int, str]:
    return report.batchId(), report.timestamp()
