"""The engine: a thread that makes a batch at each multiple of the interval, and one that runs batches, one after another, in their order.

A batch that is late waits; none is left out. A batch that fails is reported, and the next one runs.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError, JobError
from headrace.fronts.dstreams.batches.batch import Batch, Done
from headrace.fronts.dstreams.streams.outputs import Output
from headrace.fronts.dstreams.times import moment
from headrace.spark import failures

if TYPE_CHECKING:
    from headrace.fronts.dstreams.context import StreamingContext


class Engine:
    def __init__(self, ssc: StreamingContext, first: int) -> None:
        self.ssc, self.next = ssc, first
        self.stopped = threading.Event()  # no more batches are made
        self.changed = threading.Condition()
        self.waiting: deque[Batch] = deque()
        self.running = False
        self.error: BaseException | None = None
        self.ended = False
        self._group = f"dstreams-{id(self)}"
        self._maker = threading.Thread(target=self._make, name="dstreams: makes batches", daemon=True)
        self._runner = threading.Thread(target=self._run, name="dstreams: runs batches", daemon=True)

    def start(self, again: list[int]) -> None:
        """`again`: batches of the checkpoint that were not done."""
        self.ssc._clock.attach(self.caught_up)
        for time in again:
            self._submit(time)
        self._runner.start()
        self._maker.start()

    # -- making -------------------------------------------------------------------------------------------------------------------------

    def _make(self) -> None:
        while not self.stopped.is_set():
            self.ssc._clock.wait(self.next, self.stopped)
            if self.stopped.is_set():
                return
            self.make_next()

    def make_next(self) -> None:
        """The batch that is due: each input says what it has for it, and that is logged."""
        time, ssc = self.next, self.ssc
        parts = {}
        for node, source in ssc._inputs():
            try:
                part = source.part(time, node)
            except Exception as error:  # its turn comes with the next batch
                part = None
                self.report(_failed(time, node._words(), node._line, error))
            with ssc._lock:
                source.parts[time] = part
            parts[ssc._key(node)] = part
        try:
            if ssc._journal:
                ssc._journal.log(time, parts)
        except Exception as error:
            self.report(_failed(time, "the checkpoint", None, error))
        with ssc._lock:
            ssc._latest = time
        self._submit(time)
        with self.changed:
            self.next = time + ssc._interval
            self.changed.notify_all()

    def _submit(self, time: int) -> None:
        records = {
            number: source.records(part)
            for number, (node, source) in enumerate(self.ssc._inputs())
            if source.counts and (part := source.parts.get(time)) is not None
        }
        due = [Done(number, output) for number, output in enumerate(self.ssc._outputs) if output.stream._due(time)]
        batch = Batch(time, self.ssc._clock.now(), records, due)
        self.ssc._listeners.batch("onBatchSubmitted", batch.info())
        with self.changed:
            self.waiting.append(batch)
            self.changed.notify_all()

    # -- running ------------------------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        self.ssc._sc.setJobGroup(self._group, "DStreams")
        while True:
            with self.changed:
                self.running = False
                self.changed.notify_all()
                self.changed.wait_for(lambda: bool(self.waiting) or self.ended)
                if self.ended:
                    return
                batch, self.running = self.waiting.popleft(), True
            self._run_batch(batch)

    def _run_batch(self, batch: Batch) -> None:
        ssc = self.ssc
        now = ssc._clock.now
        batch.start = now()
        ssc._listeners.batch("onBatchStarted", batch.info())
        for done in batch.outputs:
            done.start = now()
            ssc._listeners.output("onOutputOperationStarted", done.info(batch.time))
            try:
                done.output.run(batch.time)
            except BaseException as error:  # the next output, and the next batch, run all the same
                done.failure = f"{type(error).__name__}: {error}"
                self.report(_of_output(batch.time, done.output, error))
            done.end = now()
            ssc._listeners.output("onOutputOperationCompleted", done.info(batch.time))
        batch.end = now()
        if not self.ended:
            failed = any(done.failure for done in batch.outputs)
            try:
                ssc._completed(batch, failed)
            except Exception as error:
                self.report(_failed(batch.time, "the checkpoint", None, error))
        ssc._listeners.batch("onBatchCompleted", batch.info())

    # -- ending -------------------------------------------------------------------------------------------------------------------------

    def caught_up(self) -> None:
        """Return when every batch that is due has run."""
        with self.changed:
            self.changed.wait_for(lambda: self.ended or (self.idle() and (self.stopped.is_set() or self.next > self.ssc._clock.now())))

    def idle(self) -> bool:
        return not self.waiting and not self.running

    def no_more(self) -> None:
        """Make no more batches."""
        self.stopped.set()
        self.ssc._clock.wake()
        if threading.current_thread() is not self._maker:
            self._maker.join()

    def drain(self, milliseconds: int) -> bool:
        """Wait until all batches have run; whether they have."""
        with self.changed:
            return self.changed.wait_for(self.idle, milliseconds / 1000)

    def end(self) -> None:
        """At once: what runs is cancelled, what waits is left for a recovery."""
        with self.changed:
            self.ended = True
            busy = self.running
            self.waiting.clear()
            self.changed.notify_all()
        if threading.current_thread() is not self._runner:
            if busy and self.ssc._sc._jsc is not None:  # which it is if the SparkContext was stopped first
                self.ssc._sc.cancelJobGroup(self._group)
            self._runner.join()

    def report(self, error: BaseException) -> None:
        """The first error is raised where somebody waits."""
        if self.ended:  # what was cancelled is no failure
            return
        with self.changed:
            self.error = self.error or error
            self.changed.notify_all()

    def wait(self, seconds: float | None) -> bool:
        """Until it is stopped: True; until the time is over: False. Raises what was reported."""
        with self.changed:
            self.changed.wait_for(lambda: self.ended or self.error is not None, seconds)
            if self.error is not None:
                raise self.error
            return self.ended


def _of_output(time: int, output: Output, error: BaseException) -> BaseException:
    return _failed(time, output.name, output.line, error)


def _failed(time: int, name: str, line: str | None, error: BaseException) -> BaseException:
    if isinstance(error, HeadraceError):
        error.where = error.where or line
        return error
    failure = JobError(
        f"the batch of {moment(time)} failed in {name}: {_first_line(error)}",
        fix="mend what the error names; later batches go on, and after a recovery from a checkpoint this one is run again", where=line,
    )  # fmt: skip
    failure.__cause__ = error
    return failure


def _first_line(error: BaseException) -> str:
    return failures.first_line(error) if isinstance(error, Exception) else repr(error)
