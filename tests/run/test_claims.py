"""A checkpoint has one run at a time, in this process or in any other; what has ended holds nothing."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.errors import FencedError, JobError

pytestmark = pytest.mark.usefixtures("spark")

TICKS = """
import headrace as hr
job = hr.Job("ticks", hr.read.rate(10).to.memory(), checkpoint={checkpoint!r})
"""


def ticks(checkpoint: Path) -> hr.Job:
    return hr.Job("ticks", hr.read.rate(10).to.memory(), checkpoint=checkpoint)


def children(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children()


def alive(process: psutil.Process) -> bool:
    """Whether it runs: one that has ended may still be listed until somebody has asked for its end."""
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def test_a_job_that_runs_in_another_process_is_refused_with_that_until_it_was_killed(tmp_path: Path) -> None:
    file, checkpoint = tmp_path / "ticks.py", tmp_path / "checkpoint"
    file.write_text(TICKS.format(checkpoint=str(checkpoint)))
    command = [sys.executable, "-c", "from headrace.cli import app; app()", "run", str(file), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as other:
        assert other.stdout is not None
        other.stdout.readline()  # it has completed a batch
        with pytest.raises(JobError) as refused:
            ticks(checkpoint).start()
        (java,) = children(other.pid)
        other.send_signal(signal.SIGKILL)  # Python alone: Spark's JVM sees it, and ends in its time
    who = rf"in process {other.pid} on {re.escape(socket.gethostname())}, since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d\+00:00"
    assert re.fullmatch(rf"job 'ticks' runs already, {who}: a checkpoint, here {checkpoint}/memory, .*", refused.value.what)
    assert refused.value.fix == f"stop that first (kill {other.pid}), or give this job another name"
    assert str(refused.value.where).startswith(__file__)
    with ticks(checkpoint).start() as running:
        assert not alive(java)  # nothing ran beside it
        running.process_all()
        assert running.progress()[0].batch > 0  # it went on


def test_a_lock_that_nobody_holds_is_none_though_the_pid_in_it_is_that_of_a_process(tmp_path: Path) -> None:
    lock = tmp_path / "memory" / "job.lock"
    lock.parent.mkdir()
    lock.write_text(json.dumps({"pid": os.getppid(), "host": socket.gethostname(), "since": "2026-01-01 00:00:00+00:00"}))
    with ticks(tmp_path).start():
        assert json.loads(lock.read_text())["pid"] == os.getpid()
    assert lock.read_text() == ""


def test_a_job_that_runs_in_this_process_is_refused_until_it_is_stopped(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with ticks(tmp_path / "real").start():
        for _ in range(2):  # a refusal does not let go of what the first one has
            with pytest.raises(JobError) as refused:
                ticks(tmp_path / "link").start()
            assert refused.value.what.startswith("job 'ticks' runs already, in this process, since ")
            assert refused.value.fix == "stop it first: running.stop(), or give this job another name"
    with ticks(tmp_path / "link").start():
        pass


def test_a_job_that_ended_by_itself_holds_nothing_though_nobody_looked(tmp_path: Path) -> None:
    rows = hr.read.memory("n int", [(1,)])
    job = hr.Job("ends", rows.to.memory(), trigger=hr.once, checkpoint=tmp_path)
    first = job.start()
    while first.active:
        pass
    with job.start() as second:
        assert second.wait(60)
        assert (tmp_path / "memory" / "job.lock").read_text() == ""  # also while the program goes on
    first.stop()  # which is not its any more


def test_a_job_that_failed_or_was_refused_holds_nothing(tmp_path: Path) -> None:
    broken = {"now": True}

    def check(_: DataFrame, batch: int) -> None:
        if broken["now"]:
            raise ValueError(f"batch {batch} is broken")

    rows = hr.read.memory("n int", [(1,)])
    job = hr.Job("mended", rows.to.callback(check, name="out"), trigger=hr.once, checkpoint=tmp_path)
    with pytest.raises(JobError):
        job.run()
    with pytest.raises(JobError) as refused:
        hr.Job("other", rows.to.memory("out"), checkpoint=tmp_path).start()
    assert "is that of the job 'mended'" in refused.value.what
    broken["now"] = False
    job.run()


def test_jobs_may_share_a_directory_for_checkpoints_of_different_names(tmp_path: Path, spark: SparkSession) -> None:  # noqa: ARG001
    one, two = (hr.Job(name, hr.read.rate(1).select(F.lit(name)).to.memory(name), checkpoint=tmp_path) for name in ("one", "two"))
    with one.start(), two.start() as running:
        assert running.active


@pytest.mark.parametrize(("by", "kind"), [("another run", FencedError), ("nobody", JobError)])
def test_a_run_that_fails_once_another_has_its_checkpoint_is_not_to_be_started_again(tmp_path: Path, by: str, kind: type[JobError]) -> None:
    """Where there are no locks, two may have it."""
    numbers = hr.read.memory("n int")
    job = hr.Job("numbers", numbers.select(F.expr("1 / n").alias("m")).to.memory(), checkpoint=tmp_path)
    running = job.start()
    if by == "another run":
        (tmp_path / "memory" / "job.lock").write_text(json.dumps({"pid": 1, "host": "other", "since": "2026-01-01 00:00:00+00:00"}))
    numbers.add([(0,)])
    with pytest.raises(JobError) as failed:
        running.wait(60)
    assert type(failed.value) is kind
    assert failed.value.what.startswith("FENCED: job 'numbers' stopped") == (kind is FencedError)
