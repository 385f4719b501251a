"""A job that runs: wait for it, look at it, stop it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from typing import Any, Literal

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from headrace.errors import FencedError, JobError
from headrace.io.connectors import Remote
from headrace.planning.guarantees import Promise
from headrace.run import signals
from headrace.run.checkpoints import soundness
from headrace.run.checkpoints.claims import Claim, Holder
from headrace.run.queries import Query
from headrace.run.reports import live, messages, metrics, summaries
from headrace.run.reports.messages import Notice
from headrace.run.reports.progress import Progress
from headrace.run.reports.snapshots import Observed, Snapshot
from headrace.run.reports.watching import Watch
from headrace.spark import failures, jvm_exit

State = Literal["running", "stopping", "ended", "failed"]

STOP_SECONDS = 30.0
"""How long a stop waits for the batch under way."""

_GLANCE = 0.1


class Running:
    """The streaming queries of one job. They live and die together: when one fails, the others are stopped.

        with job.start("micro-batch") as running:
            running.wait(60)
            print(running)

    Leaving the block stops the job, and raises JobError if it has failed.
    """

    def __init__(self, job: str, mode: str, claim: Claim, promises: Iterable[Promise] = ()) -> None:
        self.job, self.mode, self._claim = job, mode, claim
        self.guarantees = {promise.output: promise.guarantee for promise in promises}
        """What it promises for each output."""
        claim.active = lambda: self.active
        self._queries: list[Query] = []
        self._observed: list[Observed] = []
        self._notices: list[Notice] = []
        self._followers: dict[str, Callable[[], DataStreamWriter | None]] = {}
        self._watch: Watch | None = None
        self._at_end: list[Callable[[], None]] = []
        self._finishing = self._stopped = False
        self._failed: JobError | None = None

    def begin(
        self, name: str, writer: DataStreamWriter, raised: list[Exception], *, where: str | None = None, rests: bool = True
    ) -> StreamingQuery:
        """For `Job.start`: start one more query. `raised` is where its Python code leaves what it raises, `where` the user's line. One that
        does not rest makes a batch at every interval, also without records."""
        with failures.of_job(self.job, name, where):
            _await_the_end_of(f"{self.job}/{name}")
            started = writer.start()
        self._queries.append(query := Query(name, started, raised, where=where, rests=rests))
        self._observed.append(Observed(self.job, query, real_time=self.mode == "real-time"))
        return started

    def watch(self, remotes: Iterable[Remote]) -> None:
        """Tell when one of them does not answer, as long as the job runs."""
        self._watch = Watch(self.job, remotes, self._notices.append)

    def at_end(self, close: Callable[[], None]) -> None:
        """Call this when the job has ended, however; perhaps twice."""
        self._at_end.append(close)

    def follow(self, name: str, following: Callable[[], DataStreamWriter | None]) -> None:
        """When all queries have come to their end, and none has failed, begin another one after this, if `following` gives one."""
        self._followers[name] = following

    @property
    @jvm_exit.translated(JobError)
    def active(self) -> bool:
        """Whether any query is at work, or is to follow those that have ended."""
        if self._followers and not self._at_work():
            self._follow_up()
        return not self._stopped and self._at_work()

    def _at_work(self) -> bool:
        return not all(query.ended for query in self._queries)

    def _follow_up(self) -> None:
        followers, self._followers = self._followers, {}
        if self._stopped or self._finishing or self._failure() is not None:
            return
        for query in [query for query in self._queries if query.name in followers]:
            with failures.of_job(self.job, query.name, query.where):
                writer = followers[query.name]()
            if writer is not None:
                self.begin(f"{query.name}, end", writer, query.raised, where=query.where)

    @property
    def state(self) -> State:
        """ "stopping" from when it is asked to end until it has."""
        if self._failed is not None or self._failure() is not None:
            return "failed"
        return "ended" if not self.active else "stopping" if self._finishing else "running"

    @property
    def notices(self) -> list[Notice]:
        """What happened while it ran, from old to new: a broker that did not answer, and that it does again. Also in Python's log."""
        return list(self._notices)

    @jvm_exit.translated(JobError)
    def wait(self, seconds: float | None = None) -> bool:
        """Block until the job has ended, at most so long; whether it has. JobError if it failed.

        Ctrl-C raises KeyboardInterrupt here, and SIGTERM SystemExit. The job goes on until the `with` block is left, which stops it.
        """
        with signals.deferred() as interrupt:
            return self._wait(seconds, interrupt)

    def _wait(self, seconds: float | None, interrupt: Callable[[], None]) -> bool:
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            interrupt()
            self._raise_failure()
            if not self.active:
                self._raise_failure()  # the last one may have failed between the two looks
                self._let_go()
                return True
            left = _GLANCE if deadline is None else min(_GLANCE, deadline - time.monotonic())
            if left <= 0:
                return False
            time.sleep(left)

    @jvm_exit.translated(JobError)
    def finish(self) -> None:
        """Ask it to end with the batch under way, and return; `wait` tells when it has. In real time the batch ends at once, and whatever
        was put out is saved."""
        if not self._finishing:
            self._finishing = True
            for query in self._queries:
                query.finish()

    def stop(self, *, now: bool = False) -> bool:
        """Stop it when the batch under way is done and saved, so that nothing is put out twice; for that, wait up to 30 seconds.

        After that, or with `now`, or at Ctrl-C meanwhile, the batch is interrupted: at the next start an at-least-once sink gets again what
        it got since the last save. Returns whether everything is saved. Does nothing if the job has ended.
        """
        if not self._stopped:
            try:
                with signals.deferred() as interrupt:
                    self._stop(now, interrupt)
            except Exception as raised:
                if not jvm_exit.because(raised):
                    raise
                self._failed, self._stopped = jvm_exit.error(JobError), True  # and with the JVM the queries
            finally:
                self._let_go()
        return self._failed is None and not any(query.cut for query in self._queries)

    def _stop(self, now: bool, interrupt: Callable[[], None]) -> None:
        try:
            if not now:
                self.finish()
                with suppress(JobError):  # kept in `_failed`
                    if not self._wait(STOP_SECONDS, interrupt):
                        messages.of_lost_batch(self.job, STOP_SECONDS)
        finally:
            self._failed, self._stopped = self._failure(), True
            for query in self._queries:
                query.stop()

    def _let_go(self) -> None:
        """Of what it holds as long as it runs."""
        for close in self._at_end:
            close()
        self._claim.release()
        if self._watch is not None:
            self._watch.end()

    @jvm_exit.translated(JobError)
    def process_all(self) -> None:
        """Block until every record that is in the sources now has been processed. For tests: a live source may never let it return."""
        for query in self._queries:
            if query.rests:
                with suppress(PySparkException):  # told in our words below
                    query.spark_query.processAllAvailable()
            else:
                self._await_an_empty_batch(query)
        self._raise_failure()

    def _await_an_empty_batch(self, query: Query) -> None:
        """Until Spark has looked for records after now, and found none. (Its own way is to wait until there is no batch at all.)"""
        asked = datetime.now(UTC)

        def empty(report: Any) -> bool:
            return datetime.fromisoformat(report.timestamp()) > asked and report.numInputRows() == 0

        while not query.ended and not any(map(empty, query.recent)):
            time.sleep(_GLANCE)

    @jvm_exit.translated(JobError)
    def progress(self) -> list[Progress]:
        """The last batch of each query that has completed one."""
        return [last for observed in self._observed if (last := observed.last()) is not None]

    @jvm_exit.translated(JobError)
    def news(self) -> list[Progress]:
        """The batches that were completed since the last call, of each query at most the hundred that Spark remembers."""
        return [batch for observed in self._observed for batch in observed.news()]

    @jvm_exit.translated(JobError)
    def snapshot(self) -> list[Snapshot]:
        """Each query as it is now. In real time it has rate and latency from the first record on; `progress` has to wait for a save."""
        return [observed.now() for observed in self._observed]

    def metrics(self, port: int) -> AbstractContextManager[int]:
        """Serve its numbers for Prometheus and whether it is well, at /metrics and /health of 127.0.0.1, while the block lasts.

            with job.start() as running, running.metrics(9464):
                running.wait()

        The block gets the port; 0 is a free one. Needs `pip install 'headrace[metrics]'`.
        """
        return metrics.served(self, port)

    def live(self, seconds: float | None = None) -> None:
        """Show what it is at, drawn anew in place, until it has ended, so many seconds have passed, or Ctrl-C: the job itself goes on.

        In a notebook in the cell's output, else on the terminal. JobError if the job fails meanwhile.
        """
        live.watch(self, seconds)

    def _raise_failure(self) -> None:
        if self._failed is None and not self._stopped:
            self._failed = self._failure()
            if self._failed is not None:
                self.stop(now=True)
        if self._failed is not None:
            raise self._failed

    def _failure(self) -> JobError | None:
        if self._stopped or self._failed is not None:
            return self._failed
        for query in self._queries:
            if (exception := query.exception) is not None:
                flawed = partial(soundness.flawed, query.state)
                failed = failures.of_query(self.job, query.name, exception, next(iter(query.raised), None), query.where, flawed)
                return failed if (successor := self._claim.successor) is None else _fenced(failed, successor)
        return None

    def __repr__(self) -> str:
        return self._summary(summaries.line)

    def _repr_html_(self) -> str:
        return self._summary(summaries.table)

    def _summary(self, form: Callable[[str, str, str, Sequence[Snapshot]], str]) -> str:
        try:
            return form(self.job, self.mode, self.state, self.snapshot())
        except JobError:
            return form(self.job, self.mode, "failed", [])

    def __enter__(self) -> Running:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
        if error is None:
            self._raise_failure()


def _fenced(failed: JobError, successor: Holder) -> JobError:
    """Not to be started again, whatever it failed of. Most likely it is that both have taken the same batch, and Spark lets one do so."""
    if isinstance(failed, FencedError):
        return failed
    who, _ = successor.words()
    return FencedError(
        f"FENCED: {failed.what}; another run has taken over its checkpoint, {who}", fix="leave that run alone", where=failed.where
    )


def _await_the_end_of(name: str) -> None:
    """A query that was given up in the middle of a batch may still be at it, and Spark has one query of a name. (No other run has it: see
    claims.py.)"""
    deadline = time.monotonic() + STOP_SECONDS
    while time.monotonic() < deadline and any(query.name == name for query in SparkSession.active().streams.active):
        time.sleep(_GLANCE)
