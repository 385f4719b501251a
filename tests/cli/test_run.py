"""`headrace run`: a file that defines `job`, its settings, what it prints, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession
from tests.waiting import eventually

from headrace.cli import live, program
from headrace.errors import DefinitionError
from headrace.run.reports.progress import Progress, record

PROGRAM = """
import headrace as hr
from beside import NAME

def job(name: str, limit: int = 3, fast: bool = False):
    assert isinstance(limit, int) and isinstance(fast, bool)
    return hr.Job(f"{NAME}-{name}-{limit}-{fast}", hr.read.memory("n int").to.memory())
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "beside.py").write_text("NAME = 'job'")
    return tmp_path / "program.py"


def test_settings_have_the_types_of_the_parameters(file: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    monkeypatch.syspath_prepend(file.parent)
    job = program.load(file, program.settings(["name=a", "limit=7", "fast=yes"]))
    assert job.name == "job-a-7-True"


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        ("int | None", "7", 7),
        ("bool | None", "false", False),
        ("Optional[float]", "7", 7.0),
        ("None | Path", "7", Path("7")),
        ("str | None", "none", "none"),
        ("str", "7", "7"),
        ("list[int]", "7", "7"),
    ],
)
def test_a_setting_that_may_be_left_out_has_its_type_when_it_is_given(annotation: str, text: str, value: object, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(f"from pathlib import Path\nfrom typing import Optional\ndef job(x: {annotation} = None): return x")
    found = program._arguments(file, program.module(file).job, {"x": text})["x"]
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    ("settings", "what", "fix"),
    [
        ([], "needs a setting 'name'", "--set name=…"),
        (["name=a", "size=1"], "no setting 'size'", "it has name, limit, fast"),
        (["name=a", "limit=many"], "limit='many' is no int", "--set limit=<int>"),
        (["name=a", "fast=maybe"], "fast='maybe' is no bool", "--set fast=<bool>"),
        (["name"], "--set name sets nothing", "--set name=value"),
    ],
)
def test_a_setting_that_does_not_fit_is_refused(
    settings: list[str], what: str, fix: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.syspath_prepend(file.parent)
    with pytest.raises(DefinitionError) as refused:
        program.load(file, program.settings(settings))
    assert what in refused.value.what
    assert refused.value.fix == fix


@pytest.mark.parametrize(
    ("pairs", "what", "fix"),
    [
        (["spark.driver.memory"], "--conf spark.driver.memory sets nothing", "--conf spark.driver.memory=value"),
        (["limit=3"], "--conf limit=3: Spark has no setting of that name", "a setting of the job's own is --set limit=3"),
        (["=3"], "--conf =3: Spark has no setting of that name", "they begin with spark."),
        (["spark.master=yarn"], "--master local[2] and --conf spark.master=yarn contradict each other", "leave one of them out"),
    ],
)
def test_a_setting_that_cannot_be_sparks_is_refused(pairs: list[str], what: str, fix: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        program.conf(pairs, "local[2]")
    assert refused.value.what == what
    assert fix in refused.value.fix


def test_of_a_setting_that_is_given_again_the_last_one_counts() -> None:
    assert program.conf(["spark.a=1", "spark.b=x=y", "spark.a=2"], None) == {"spark.a": "2", "spark.b": "x=y"}


@pytest.mark.parametrize("text", ["x = 1", "job = 1"])
def test_a_file_without_a_job_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(text)
    with pytest.raises(DefinitionError) as refused:
        program.load(tmp_path / "program.py", {})
    assert "defines no job" in refused.value.what


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError) as refused:
        program.beside(tmp_path / "program.py")
    assert "there is no file" in refused.value.what


def test_a_file_that_is_no_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(DefinitionError) as refused:
        program.load(tmp_path / "notes.txt", {})
    assert refused.value.what == f"{tmp_path}/notes.txt is no Python file"


def test_a_trigger_that_is_none_is_refused_in_the_words_of_the_command() -> None:
    with pytest.raises(DefinitionError) as refused:
        live.trigger("soon")
    assert refused.value.what == "--trigger soon: 'soon' is not a duration"
    assert refused.value.fix.startswith("--trigger once or finish, or write a number and a unit")
    assert refused.value.where is None


REPORT = {
    "batchId": 7,
    "timestamp": "2026-01-01T00:00:00.000Z",
    "batchDuration": 2000,
    "inputRowsPerSecond": 300.0,
    "durationMs": {"triggerExecution": 2000},
    "eventTime": {"watermark": "2026-01-01T00:00:00.000Z"},
    "sources": [{"numInputRows": 3000, "endOffset": {"t": {"0": 5, "1": 6}}, "metrics": {"avgOffsetsBehindLatest": "21.0"}}],
    "stateOperators": [{"numRowsTotal": 12345, "memoryUsedBytes": 6789000, "numRowsDroppedByWatermark": 2}],
    "sink": {"numOutputRows": -1},
    "observedMetrics": {"headrace-waited-0": {"millis": [3, 11]}, "headrace-waited-1": {"millis": None}, "mine": {"n": 1}},
}


def test_progress_is_a_plain_record() -> None:
    progress = record("job", "out", REPORT, real_time=False)
    assert progress == Progress(
        job="job", query="out", batch=7, at="2026-01-01T00:00:00.000Z", rows_in=3000, rows_out=None, rate=1500.0, pace=300.0, lag=42,
        seconds=2.0, state_rows=12345, state_bytes=6789000, late_rows=2, watermark="2026-01-01T00:00:00.000Z",
        latency_ms=2003.0, latency_p99_ms=2011.0,
    )  # fmt: skip
    in_real_time = record("job", "out", REPORT, real_time=True)
    assert (in_real_time.latency_ms, in_real_time.latency_p99_ms) == (3, 11)


@pytest.mark.parametrize(("rows", "told", "pace"), [(3000, 300.0, 300.0), (3000, 0.0, None), (0, 0.0, 0.0)])
def test_the_pace_of_a_first_batch_is_unknown_and_of_an_idle_one_nothing(rows: int, told: float, pace: float | None) -> None:
    report = REPORT | {"inputRowsPerSecond": told, "sources": [{"numInputRows": rows}]}
    assert record("job", "out", report, real_time=False).pace == pace


PYTHON_PROGRAM = """
import headrace as hr
from beside import factor
from pyspark.sql import functions as F

@F.udf("int")
def times(n):
    return n * factor

job = hr.Job("ticks", hr.read.rate(10).select(times(F.lit(2)).alias("n")).to.memory(), checkpoint={checkpoint!r})
"""


def test_a_program_with_python_functions_runs_until_ctrl_c_and_ends_cleanly(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("factor = 3")
    file = tmp_path / "ticks.py"
    file.write_text(PYTHON_PROGRAM.format(checkpoint=str(tmp_path / "checkpoint")))
    command = [sys.executable, "-c", "from headrace.cli import app; app()", "run", str(file), "--json"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    first = json.loads(running.stdout.readline())
    running.send_signal(signal.SIGINT)
    rest, errors = running.communicate(timeout=60)
    assert (first["job"], first["query"]) == ("ticks", "memory")
    assert json.loads(rest.splitlines()[-1]) == {"job": "ticks", "event": "stopped", "saved": True}
    assert (running.returncode, errors) == (0, "")


ENDLESS = """
import threading
import headrace as hr

def endless(rows, batch):
    print("began", flush=True)
    threading.Event().wait()

job = hr.Job("endless", hr.read.memory("n int", [(1,)]).to.callback(endless))
"""


def test_a_second_ctrl_c_does_not_wait_for_the_batch(tmp_path: Path) -> None:
    file = tmp_path / "endless.py"
    file.write_text(ENDLESS)
    command = [sys.executable, "-c", "from headrace.cli import app; app()", "run", str(file), "--json"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    assert running.stdout.readline() == "began\n"
    running.send_signal(signal.SIGINT)
    assert json.loads(running.stdout.readline()) == {"job": "endless", "event": "stopping", "seconds_left": 30}
    running.send_signal(signal.SIGINT)
    rest, _ = running.communicate(timeout=60)
    assert json.loads(rest) == {"job": "endless", "event": "stopped", "saved": False}
    assert running.returncode == 0


TICKS = """
import headrace as hr
job = hr.Job("ticks", hr.read.rate(10).to.memory())
"""


def test_a_job_whose_jvm_is_killed_ends_with_words_and_without_a_traceback(tmp_path: Path) -> None:
    file = tmp_path / "ticks.py"
    file.write_text(TICKS)
    command = [sys.executable, "-c", "from headrace.cli import app; app()", "run", str(file), "--json"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    running.stdout.readline()
    (java,) = psutil.Process(running.pid).children()
    java.kill()
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 1
    assert errors.startswith("error Spark's JVM has ended under this program: killed, or out of memory\n")
    assert "Traceback" not in errors


STARTS = """
from pathlib import Path
import headrace as hr
job = hr.Job("starts", hr.read.rate(10).to.console(), checkpoint={checkpoint!r})
Path({ready!r}).touch()
"""


@pytest.mark.parametrize("supervised", [False, True], ids=["alone", "supervised"])
def test_a_polite_kill_while_a_job_starts_is_a_stop_in_order(supervised: bool, tmp_path: Path) -> None:
    file, ready = tmp_path / "starts.py", tmp_path / "ready"
    file.write_text(STARTS.format(checkpoint=str(tmp_path / "checkpoint"), ready=str(ready)))
    command = [sys.executable, "-c", "from headrace.cli import app; app()", "run", str(file), "--json"]
    command += ["--supervise"] if supervised else []
    starting = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert eventually(ready.exists, within=60)
    starting.send_signal(signal.SIGTERM)
    told, errors = starting.communicate(timeout=60)
    assert (starting.returncode, errors) == (0, "")
    assert json.loads(told.splitlines()[-1]) == {"job": "starts", "event": "stopped", "saved": True}


def test_a_polite_kill_of_all_processes_while_spark_starts_is_no_error(tmp_path: Path) -> None:
    file = tmp_path / "ticks.py"
    file.write_text(TICKS)
    command = [sys.executable, "-c", "from headrace.cli import app; app()", "run", str(file), "--json"]
    starting = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert eventually(lambda: any(child.name() == "java" for child in psutil.Process(starting.pid).children()), within=60)
    os.killpg(starting.pid, signal.SIGTERM)
    told, errors = starting.communicate(timeout=60)
    assert (starting.returncode, errors) == (0, "")
    assert json.loads(told) == {"job": None, "event": "stopped", "saved": True}
