"""A job that is started again when it fails: after a while, after a longer while, and at some point no more.

The job runs in a process of its own, so whatever ends it, a crash of Java or `kill -9`, ends only that. What a new start cannot mend, such
as a mistake in the program, is not tried again.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import IO

import typer

from headrace.errors import DefinitionError, FencedError, HeadraceError, JobError, ModeError

SUPERVISED = "HEADRACE_SUPERVISED"
"""Set for the process that is supervised."""

REFUSED = 78
"""With this it exits when a new start would end the same way: sysexits.h calls it a configuration error."""

_NOT_BEGUN = (-signal.SIGTERM, -signal.SIGINT, 130)
"""How a job ends that is told to while it still starts: there is nothing to save."""

_LAST_LINES = 20
_CLOSE = 0.1


def run_again_and_again(restarts: int, *, as_json: bool) -> None:
    """This very command, without `--supervise`, in a process of its own. JobError with a report if it is given up."""
    own = [argument for argument in sys.argv[1:] if argument != "--supervise"]

    def tell(attempt: Attempt, pause: float) -> None:
        if as_json:
            typer.echo(json.dumps({"event": "restart", **asdict(attempt), "pause": pause}))
        else:
            typer.echo(f"the job ended ({attempt.ending}) after {attempt.seconds:,.0f} s; it starts again in {pause:,.0f} s", err=True)

    Supervisor([sys.executable, "-c", "from headrace.cli import app; app()", *own], Policy(restarts), tell).run()


def exit_status(error: HeadraceError) -> int:
    """What `headrace` exits with: 1, unless a supervisor wants to know more. (One that was fenced would fence its successor next.)"""
    return REFUSED if SUPERVISED in os.environ and isinstance(error, DefinitionError | FencedError | ModeError) else 1


@dataclass(frozen=True)
class Attempt:
    """One run of the job: when it began, how long it ran, how it ended, and its last words."""

    at: str
    seconds: float
    status: int
    words: str

    @property
    def ending(self) -> str:
        """For people: "exit 1", "killed by SIGKILL"."""
        if self.status >= 0:
            return f"exit {self.status}"
        return f"killed by {signal.Signals(-self.status).name}"


@dataclass(frozen=True)
class Policy:
    """When to try again. The first pause doubles with each failure in a row, up to the longest. A run that lasted `steady` seconds was no
    failure in a row: what comes after it is counted anew."""

    restarts: int = 10
    first_pause: float = 1.0
    longest_pause: float = 60.0
    steady: float = 300.0

    def pause(self, failures: int) -> float:
        """Before the start after so many failures in a row."""
        return float(min(self.longest_pause, self.first_pause * 2.0 ** (failures - 1)))


@dataclass
class Supervisor:
    """Runs a command until it ends well, is told to end, or fails too often in a row. `tell` gets each failure and the pause after it."""

    command: Sequence[str]
    policy: Policy
    tell: Callable[[Attempt, float], None]
    _child: subprocess.Popen[str] | None = field(default=None, init=False)
    _told_to_end: threading.Event = field(default_factory=threading.Event, init=False)

    def run(self) -> None:
        """Until it has ended well. JobError with the report on all attempts if it is given up."""
        attempts: list[Attempt] = []
        before = {number: signal.signal(number, self._end) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            while (attempt := self._once()).status != 0:
                attempts = [attempt] if attempt.seconds >= self.policy.steady else [*attempts, attempt]
                if self._told_to_end.is_set():
                    if attempt.status in _NOT_BEGUN:
                        return
                    raise _given_up(attempts, "it was told to end, and failed")
                if attempt.status == REFUSED:
                    raise _given_up(attempts, "a new start would fail the same way")
                if len(attempts) > self.policy.restarts:
                    raise _given_up(attempts, f"it failed {len(attempts)} times in a row")
                pause = self.policy.pause(len(attempts))
                self.tell(attempt, pause)
                if self._told_to_end.wait(pause):
                    return
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _once(self) -> Attempt:
        at, began = datetime.now(UTC), time.monotonic()
        lines: deque[str] = deque(maxlen=_LAST_LINES)
        environment = os.environ | {SUPERVISED: str(os.getpid())}
        self._child = subprocess.Popen(self.command, stderr=subprocess.PIPE, text=True, errors="replace", env=environment)
        assert self._child.stderr is not None
        copying = threading.Thread(target=_copy, args=(self._child.stderr, lines), daemon=True)
        copying.start()
        if self._told_to_end.is_set():  # between two children
            self._child.terminate()
        status = self._child.wait()
        copying.join(_CLOSE if status < 0 else None)  # what it has started may live on, and hold its standard error open
        return Attempt(at.isoformat(timespec="seconds"), round(time.monotonic() - began, 1), status, "".join(lines).strip())

    def _end(self, number: int, _: object) -> None:
        """Pass a signal on, each time it comes: the second one stops a job at once."""
        self._told_to_end.set()
        if self._child is not None and not (number == signal.SIGINT and _from_the_keyboard()):
            with suppress(ProcessLookupError):
                self._child.send_signal(number)


def _from_the_keyboard() -> bool:
    """Then the terminal has sent it to the child as well."""
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False


def _copy(source: IO[str], lines: deque[str]) -> None:
    with source:
        for line in source:
            lines.append(line)
            sys.stderr.write(line)
            sys.stderr.flush()


def _given_up(attempts: Sequence[Attempt], why: str) -> JobError:
    report = "\n".join(f"  {n}. {attempt.at}  ran {attempt.seconds:,.0f} s  {attempt.ending}" for n, attempt in enumerate(attempts, 1))
    words = attempts[-1].words
    last = f"\nits last words:\n{words}" if words else ""
    return JobError(
        f"the job is given up: {why}\n{report}{last}",
        fix="mend what its last words name, and start it again: it goes on where it last saved",
    )
