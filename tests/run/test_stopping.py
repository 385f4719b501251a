"""How a job ends on purpose: with the batch under way, unless that takes too long or someone insists."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import headrace as hr
from headrace.errors import JobError
from headrace.run import running as runs
from headrace.run import signals

pytestmark = pytest.mark.usefixtures("spark")


class Held:
    """A sink whose batches last until they are let go."""

    def __init__(self) -> None:
        self.began, self.go, self.batches = threading.Event(), threading.Event(), list[int]()

    def __call__(self, rows: DataFrame, batch: int) -> None:
        self.batches.append(batch)
        self.began.set()
        assert self.go.wait(60)
        rows.count()


@pytest.fixture
def held() -> Iterator[Held]:
    sink = Held()
    yield sink
    sink.go.set()


@pytest.fixture
def job(held: Held, tmp_path: Path) -> hr.Job:
    return hr.Job("held", hr.read.memory("n int", [(1,), (2,)]).to.callback(held, name="held"), checkpoint=tmp_path)


@pytest.mark.parametrize("after", [0, 1, 2, 5])
def test_a_stop_saves_whatever_a_query_of_many_short_batches_is_at(after: int, tmp_path: Path) -> None:
    rows: list[int] = []

    def add(batch: DataFrame, _: int) -> None:
        rows.extend(row.value for row in batch.collect())

    job = hr.Job("short", hr.read.rate(1000).to.callback(add, name="short"), checkpoint=tmp_path)
    for _ in range(2):
        running, before = job.start(), len(rows)
        while len(rows) <= before + after:
            assert running.active
        assert running.stop()
    assert sorted(rows) == list(range(len(rows)))


def test_a_stop_waits_for_the_batch_under_way_and_it_is_not_done_again(job: hr.Job, held: Held) -> None:
    running = job.start()
    assert held.began.wait(60)
    stopper = threading.Thread(target=running.stop)
    stopper.start()
    while running.state != "stopping":
        assert stopper.is_alive()
    assert running.active
    held.go.set()
    stopper.join(60)
    assert running.state == "ended"
    job.run(trigger=hr.once)
    assert held.batches == [0]


def test_a_stop_does_not_wait_for_ever(
    job: hr.Job, held: Held, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:  # fmt: skip
    monkeypatch.setattr(runs, "STOP_SECONDS", 0.3)
    running = job.start()
    assert held.began.wait(60)
    with caplog.at_level(logging.WARNING):
        assert not running.stop()
    assert not running.active
    assert "job 'held' did not finish its batch within 0 s and was stopped" in caplog.text
    held.go.set()
    job.run(trigger=hr.once)
    assert held.batches == [0, 0]


def test_an_idle_job_stops_at_once_whatever_its_trigger(tmp_path: Path) -> None:
    rows = hr.read.memory("n int", [(1,)]).to.memory()
    with hr.Job("idle", rows, trigger=hr.every("10 minutes"), checkpoint=tmp_path).start() as running:
        while not running.progress():
            assert not running.wait(0.05)
        began = time.monotonic()
        assert running.stop()
    assert time.monotonic() - began < 10


def test_a_stop_while_a_batch_is_planned_does_not_cut_it(tmp_path: Path) -> None:
    ticks = hr.read.rate(1000)
    wide = ticks.select(*(F.sqrt(F.col("value") + n).alias(f"c{n}") for n in range(200)))  # most of the time it is planned
    job = hr.Job("planned", wide.to.memory(), checkpoint=tmp_path)
    for _ in range(5):
        running = job.start()
        while not running.progress():
            assert not running.wait(0.05)
        assert running.stop()


def test_a_batch_that_fails_while_the_job_is_stopped_is_told(tmp_path: Path) -> None:
    began, go = threading.Event(), threading.Event()

    def broken(*_: object) -> None:
        began.set()
        assert go.wait(60)
        raise ValueError("no room")

    running = hr.Job("fails", hr.read.memory("n int", [(1,)]).to.callback(broken), checkpoint=tmp_path).start()
    assert began.wait(60)
    running.finish()
    go.set()
    with pytest.raises(JobError) as failed:
        running.wait(60)
    assert "ValueError: no room" in failed.value.what
    assert running.state == "failed"
    assert not running.stop()


@pytest.mark.parametrize(("number", "raised"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_a_signal_lets_the_batch_finish(number: signal.Signals, raised: type[BaseException], job: hr.Job, held: Held) -> None:
    def ask() -> None:
        assert held.began.wait(60)
        os.kill(os.getpid(), number)
        held.go.set()

    before = signal.getsignal(number)
    asking = threading.Thread(target=ask)
    asking.start()
    with pytest.raises(raised):
        job.run()
    asking.join()
    assert signal.getsignal(number) is before
    job.run(trigger=hr.once)
    assert held.batches == [0]


def test_a_second_signal_does_not_wait(job: hr.Job, held: Held) -> None:
    running = job.start()
    assert held.began.wait(60)

    def ask() -> None:
        while running.state != "stopping":
            pass
        os.kill(os.getpid(), signal.SIGINT)

    asking = threading.Thread(target=ask)
    asking.start()
    with pytest.raises(KeyboardInterrupt):
        running.stop()
    asking.join()
    assert not running.active


def test_a_signal_waits_until_it_is_asked_for() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt), signals.deferred() as interrupt:  # noqa: PT012
        steps.append("before")
        os.kill(os.getpid(), signal.SIGINT)
        steps.append("after")
        interrupt()
        steps.append("never")
    assert steps == ["before", "after"]


def test_handlers_that_a_program_has_set_itself_stay() -> None:
    came = []
    before = signal.signal(signal.SIGTERM, lambda *_: came.append("own"))
    try:
        with signals.deferred() as interrupt:
            os.kill(os.getpid(), signal.SIGTERM)
            interrupt()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert came == ["own"]
