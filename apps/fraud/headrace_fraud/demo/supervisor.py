"""The jobs of the demo as child processes: started, stopped, killed, and started again when they end without being asked to."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headrace_fraud.deciding.settings import Rules
from headrace_fraud.demo.processes import Child
from headrace_fraud.demo.worker import ALL, MODES
from headrace_fraud.page.control import JobStatus, State

_GLANCE = 0.2
_CALM = 60.0  # seconds: a job that ran so long may fail again without being thought hopeless
_HOPELESS = 5
_ALIVE = ("starting", "rehearsing", "running", "restarting")


class _Job:
    def __init__(self, name: str) -> None:
        self.name = name
        self.state: State = "stopped"
        self.child: Child | None = None
        self.restarts = 0
        self.failures = 0
        self.begun = 0.0
        self.message: str | None = None
        self.progress: dict[str, dict[str, Any]] = {}
        self._counted: dict[str, int] = {}  # of each query, the last batch that is in `_written`
        self._written: dict[str, int] = {}

    def done(self, batch: dict[str, Any]) -> None:
        """A report of one of its queries. `written` is what all its batches had; one that is reported again after a crash counts once."""
        query = batch["query"]
        if batch["rows_in"] and batch["batch"] > self._counted.get(query, -1):
            self._counted[query] = batch["batch"]
            self._written[query] = self._written.get(query, 0) + batch["rows_in"]
        self.progress[query] = {**batch, "written": self._written.get(query, 0)}

    def status(self) -> JobStatus:
        pid = None if self.child is None or self.state in ("stopped", "failed") else self.child.pid
        return JobStatus(self.name, ALL[self.name], self.state, pid, self.restarts, list(self.progress.values()), self.message)


class Supervisor:
    """What the page controls. `can_kill` because this is a demo: nobody else should kill drivers for show."""

    can_kill = True

    def __init__(self, place: Path, database: str, rules: Rules, servers: str, names: Sequence[str] = tuple(MODES)) -> None:
        self._arguments = ["--place", str(place), "--database", database, "--rules", rules.model_dump_json()]
        self._logs, self._env = place / "logs", {"HEADRACE_KAFKA": servers}
        self._jobs = {name: _Job(name) for name in names}
        self._lock = threading.RLock()
        self._end = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="supervisor", daemon=True)
        self._watcher.start()

    def jobs(self) -> Sequence[JobStatus]:
        with self._lock:
            return [job.status() for job in self._jobs.values()]

    def job(self, name: str) -> JobStatus:
        with self._lock:
            return self._jobs[name].status()

    def start(self, name: str, *, rehearse: bool = False) -> None:
        """Start a job; `rehearse` lets it work on made-up records first, so that it is warm when it runs."""
        with self._lock:
            job = self._jobs[name]
            if job.state in ("stopped", "failed"):
                job.failures, job.message = 0, None
                self._begin(job, "starting", rehearse=rehearse)

    def stop(self, name: str) -> None:
        with self._lock:
            job = self._jobs[name]
            if job.child is not None and job.state in _ALIVE:
                ask = job.child.ask_to_end if job.state == "running" else job.child.kill  # others have nothing to save
                job.state = "stopping"
                ask()

    def kill(self, name: str) -> None:
        with self._lock:
            job = self._jobs[name]
            if job.child is not None and job.state in _ALIVE:
                job.message = "its driver was killed"
                job.child.kill()

    def close(self) -> None:
        """Stop all jobs, together, and wait for them."""
        self._end.set()
        self._watcher.join()
        for name in self._jobs:
            self.stop(name)
        for job in self._jobs.values():
            if job.child is not None:
                job.child.wait()

    def _begin(self, job: _Job, state: State, *, rehearse: bool = False) -> None:
        job.state, job.begun = state, time.monotonic()

        def hear(report: dict[str, Any]) -> None:
            with self._lock:
                if report.get("rehearses") and job.state == "starting":
                    job.state = "rehearsing"
                if report.get("started") and job.state in ("starting", "rehearsing", "restarting"):
                    job.state, job.message = "running", None
                if progress := report.get("progress"):
                    job.done(progress)
                if error := report.get("error"):
                    job.message = error

        arguments = [job.name, *self._arguments, *(["--rehearse"] if rehearse else [])]
        job.child = Child("headrace_fraud.demo.worker", arguments, self._logs / f"{job.name}.log", hear, self._env)

    def _watch(self) -> None:
        while not self._end.wait(_GLANCE):
            with self._lock:
                for job in self._jobs.values():
                    if job.child is not None and job.state not in ("stopped", "failed") and job.child.poll() is not None:
                        self._ended(job)

    def _ended(self, job: _Job) -> None:
        assert job.child is not None
        job.child.kill()
        if job.state == "stopping":
            job.state = "stopped"
            return
        job.failures = job.failures + 1 if time.monotonic() - job.begun < _CALM else 1
        if job.failures >= _HOPELESS:
            job.state = "failed"
            job.message = job.message or f"it ended {job.failures} times in a row; see {self._logs / job.name}.log"
            return
        job.restarts += 1
        self._begin(job, "restarting")
