"""Processes on this machine that outlive the program that starts them, and are never left behind: see `supervisor.py`."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from headrace.embedded import locks
from headrace.errors import SetupError

_START_SECONDS = 90.0
_STOP_SECONDS = 30.0


@dataclass(frozen=True)
class Part:
    """One of the processes: its `name`, which its log has too, the `command`, and the port that someone must listen at before it begins."""

    name: str
    command: Sequence[str]
    after: int | None = None


@dataclass(frozen=True)
class Kept:
    """What runs in a directory `home`: `title` in errors, stopped by the command `down`; `mend` is the way on if it does not start."""

    home: Path
    title: str
    down: str
    mend: str

    @property
    def alone(self) -> contextlib.AbstractContextManager[None]:
        """Nobody else starts or stops it meanwhile."""
        return locks.exclusive(self.home / "start.lock")

    def share(self) -> int:
        """Use it, until the descriptor is closed or this process ends. Waits while what nobody used any more is being stopped."""
        return locks.share(self.home / "users.lock")

    def keep(self) -> None:
        """Let it run without users."""
        (self.home / "keep").touch()

    @property
    def is_kept(self) -> bool:
        return (self.home / "keep").exists()

    @property
    def is_supervised(self) -> bool:
        return locks.held(self.home / "supervisor.lock")

    @property
    def address(self) -> dict[str, str] | None:
        """Where it is, in its own words; none if it does not run, or is just starting or stopping."""
        if not self.is_supervised:
            return None
        try:
            address: dict[str, str] = json.loads((self.home / "address.json").read_text())
        except FileNotFoundError:
            return None
        return address

    def start(
        self, parts: Sequence[Part], address: Mapping[str, str], answers: Callable[[], bool], environment: Mapping[str, str] | None = None
    ) -> None:
        """Run these processes; at `address` when they answer. SetupError, and nothing is left of them, if they do not."""
        for name in ("address.json", "keep"):
            (self.home / name).unlink(missing_ok=True)
        script = [sys.executable, str(Path(__file__).with_name("supervisor.py")), str(self.home), json.dumps([*map(asdict, parts)])]
        done = subprocess.run(
            script, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        if done.returncode != 0:
            raise SetupError(f"{self.title} did not start: {done.stderr.strip()}", fix=f"run `{self.down}`, then try again")
        self.await_answer(answers)  # only then is it there for others, and worth to be started again
        draft = self.home / f"address.json.{os.getpid()}"
        draft.write_text(json.dumps(address))
        draft.rename(self.home / "address.json")

    def await_answer(self, answers: Callable[[], bool]) -> None:
        """Ask until it answers; SetupError, and it is stopped, if it dies or takes too long."""
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and self.is_supervised:
            if answers():
                return
        self.stop()
        log = _telling(sorted(self.home.glob("*.log")))
        raise SetupError(f"{self.title} did not start: {last_words(log)} Its log: {log}", fix=self.mend)

    def stop(self) -> bool:
        """Stop it, also under the hands of those who use it. False if it does not run."""
        alive = self.home / "alive.lock"
        if not locks.held(alive):
            return False
        for signum in (signal.SIGTERM, signal.SIGKILL):
            for pid in _pids(alive):
                self._signal(pid, signum)
            deadline = time.monotonic() + _STOP_SECONDS
            while time.monotonic() < deadline:
                if not locks.held(alive):
                    (self.home / "address.json").unlink(missing_ok=True)
                    return True
                time.sleep(0.05)
        raise SetupError(f"{self.title} in {self.home} does not stop", fix=f"end the processes {_pids(alive)} yourself")

    def _signal(self, pid: int, signum: signal.Signals) -> None:
        import psutil  # a while to import

        with contextlib.suppress(psutil.Error):  # it is gone
            process = psutil.Process(pid)
            # The pid may be another process by now: only one that works on this directory is signalled.
            if any(str(self.home) in part for part in process.cmdline()):
                process.send_signal(signum)


def _pids(alive: Path) -> list[int]:
    """The supervisor's and those of its processes, as the holder of the lock wrote them."""
    return [int(pid) for pid in alive.read_text().split()]


def last_words(log: Path) -> str:
    """The line of a log that tells most about why its writer ended."""
    lines = _lines(log)
    return (_telling_lines(lines) or lines or ["it said nothing."])[-1]


def _telling(logs: Sequence[Path]) -> Path:
    """The log that says most about a failure."""
    return next((log for log in logs if _telling_lines(_lines(log))), logs[0])


def _lines(log: Path) -> list[str]:
    return [line.strip() for line in log.read_text(errors="replace").splitlines()] if log.exists() else []


def _telling_lines(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if ("Exception" in line or "ERROR" in line or "FATAL" in line) and not line.startswith("at ")]
