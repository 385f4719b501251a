"""A live view of a job ends with the job, with its time or with Ctrl-C; and Ctrl-C does not end the job."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import IPython
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.errors import JobError
from headrace.run.running import Running


def _job(path: Path, **options: Any) -> hr.Job:
    return hr.Job("live", hr.read.memory("n int", [(1,)]).to.memory(), checkpoint=path, **options)


@pytest.fixture
def running(spark: SparkSession, tmp_path: Path) -> Iterator[Running]:  # noqa: ARG001
    with _job(tmp_path).start() as running:
        yield running


def test_ends_after_its_time_while_the_job_goes_on(running: Running, capsys: pytest.CaptureFixture[str]) -> None:
    running.live(seconds=0.1)
    assert running.active
    assert repr(running)[:20] in capsys.readouterr().out


def test_ends_with_the_job(spark: SparkSession, tmp_path: Path) -> None:  # noqa: ARG001
    with _job(tmp_path, trigger=hr.once).start() as running:
        running.live()
        assert not running.active


def test_ends_with_ctrl_c_while_the_job_goes_on(running: Running) -> None:
    running.process_all()
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    running.live()
    running.process_all()
    assert running.active


def test_raises_what_the_job_failed_of(spark: SparkSession, tmp_path: Path) -> None:  # noqa: ARG001
    failing = hr.read.memory("n int", [(0,)]).where("1 / n > 0").to.memory()
    with pytest.raises(JobError) as failed, hr.Job("fails", failing, checkpoint=tmp_path).start() as running:
        running.live(seconds=300)
    assert "Division by zero" in failed.value.what


def test_is_one_output_of_a_notebook_that_is_updated(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    handle = SimpleNamespace(update=lambda job: shown.append(("again", job)))

    def display(job: Any, *, display_id: bool) -> Any:
        shown.append(("first", job, display_id))
        return handle

    monkeypatch.setattr(IPython, "get_ipython", lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setattr("IPython.display.display", display)
    running.live(seconds=0.1)
    assert shown[0] == ("first", running, True)
    assert shown[-1] == ("again", running)
