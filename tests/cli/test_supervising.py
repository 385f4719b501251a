"""Starting a job again: what is tried again, how soon, and when it is given up."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.waiting import eventually

from headrace.cli.supervising import REFUSED, SUPERVISED, Attempt, Policy, Supervisor, exit_status
from headrace.errors import DefinitionError, JobError, ModeError

QUICK = Policy(restarts=3, first_pause=0.01, longest_pause=0.05)


def endings(tmp_path: Path, *statuses: str) -> list[str]:
    """A command that ends in these ways, one after another, and says so."""
    program = f"""
import os, signal, sys
from pathlib import Path
counter = Path({str(tmp_path / "runs")!r})
n = int(counter.read_text()) if counter.exists() else 0
counter.write_text(str(n + 1))
how = {statuses!r}[min(n, {len(statuses) - 1})]
print("run", n, "ends with", how, file=sys.stderr)
os.kill(os.getpid(), signal.SIGKILL) if how == "kill" else sys.exit(int(how))
"""
    return [sys.executable, "-c", program]


@pytest.mark.parametrize(("statuses", "restarts"), [
    (("0",), 0),
    (("1", "0"), 1),
    (("kill", "1", "0"), 2),
])  # fmt: skip
def test_a_job_that_fails_is_started_again_until_it_ends_well(tmp_path: Path, statuses: tuple[str, ...], restarts: int) -> None:
    failures: list[Attempt] = []
    Supervisor(endings(tmp_path, *statuses), QUICK, lambda attempt, _: failures.append(attempt)).run()
    assert [failure.ending for failure in failures] == ["killed by SIGKILL" if how == "kill" else f"exit {how}" for how in statuses[:-1]]
    assert len(failures) == restarts


def test_after_too_many_failures_in_a_row_it_is_given_up_with_a_report(tmp_path: Path) -> None:
    with pytest.raises(JobError) as raised:
        Supervisor(endings(tmp_path, "1"), QUICK, lambda *_: None).run()
    assert "it failed 4 times in a row" in raised.value.what
    assert raised.value.what.count("exit 1") == 4
    assert raised.value.what.endswith("run 3 ends with 1")


def test_what_a_new_start_cannot_mend_is_not_tried_again(tmp_path: Path) -> None:
    with pytest.raises(JobError) as raised:
        Supervisor(endings(tmp_path, str(REFUSED)), QUICK, lambda *_: None).run()
    assert "a new start would fail the same way" in raised.value.what
    assert (tmp_path / "runs").read_text() == "1"


def test_the_pause_doubles_up_to_the_longest() -> None:
    assert [Policy(longest_pause=10).pause(n) for n in range(1, 7)] == [1, 2, 4, 8, 10, 10]


def test_a_run_that_was_steady_is_no_failure_in_a_row(tmp_path: Path) -> None:
    policy = Policy(restarts=1, first_pause=0.01, steady=0)  # any run is a steady one
    failures: list[Attempt] = []
    Supervisor(endings(tmp_path, "1", "1", "1", "0"), policy, lambda attempt, _: failures.append(attempt)).run()
    assert len(failures) == 3


@pytest.mark.parametrize(("error", "supervised", "status"), [
    (DefinitionError("x", fix="y"), True, REFUSED),
    (ModeError("x", fix="y"), True, REFUSED),
    (JobError("x", fix="y"), True, 1),
    (DefinitionError("x", fix="y"), False, 1),
])  # fmt: skip
def test_only_a_supervisor_is_told_why(error: JobError, supervised: bool, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SUPERVISED, raising=False)
    if supervised:
        monkeypatch.setenv(SUPERVISED, "1")
    assert exit_status(error) == status


def test_a_polite_kill_reaches_the_job_and_ends_the_supervision(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    waits = f"""
import signal, sys, threading
from pathlib import Path
ended = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: ended.set())
Path({str(ready)!r}).touch()
ended.wait(60)
"""
    supervisor = Supervisor([sys.executable, "-c", waits], QUICK, lambda *_: pytest.fail("it was started again"))

    def kill() -> None:
        eventually(ready.exists)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=kill).start()
    supervisor.run()


def test_a_job_that_is_told_to_end_while_it_starts_has_not_failed(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    starts = f"import threading; from pathlib import Path; Path({str(ready)!r}).touch(); threading.Event().wait(60)"

    def kill() -> None:
        eventually(ready.exists)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=kill).start()
    Supervisor([sys.executable, "-c", starts], QUICK, lambda *_: pytest.fail("it was started again")).run()


PROGRAM = """
import headrace as hr
job = hr.Job("supervised", hr.read.rate(10).to.console(), checkpoint={checkpoint!r})
"""


def test_a_stream_whose_process_is_killed_goes_on_where_it_was_and_a_polite_kill_of_all_processes_saves_first(tmp_path: Path) -> None:
    program = tmp_path / "app.py"
    program.write_text(PROGRAM.format(checkpoint=str(tmp_path / "checkpoint")))
    command = [
        sys.executable,
        "-c",
        "from headrace.cli import app; app()",
        "run",
        str(program),
        "--supervise",
        "--json",
        "--trigger",
        "1 second",
    ]
    batches: list[int] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as running:
        assert running.stdout is not None
        try:
            for report in map(json.loads, filter(lambda line: line.startswith("{"), running.stdout)):
                if report.get("event") == "restart":
                    assert report["status"] == -signal.SIGKILL
                elif "batch" in report and not batches:
                    batches.append(report["batch"])
                    (child,) = children(running.pid)
                    os.kill(child, signal.SIGKILL)
                elif report.get("batch", -1) > batches[0]:
                    break
            os.killpg(running.pid, signal.SIGTERM)  # as service managers do: to the supervisor, the job and the JVM at once
            assert '"event": "stopped", "saved": true' in running.stdout.read()
            assert running.wait(60) == 0
        finally:
            running.kill()


def children(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
