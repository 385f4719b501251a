"""What a running job shows: a table that keeps up, or a JSON object a line."""

from __future__ import annotations

import json
import logging
import math
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import Protocol

import typer
from rich.live import Live
from rich.text import Text

from headrace.cli.view import View, outages
from headrace.errors import DefinitionError
from headrace.job import Job
from headrace.planning import guarantees, triggers
from headrace.planning.table import Mode
from headrace.planning.triggers import REAL_TIME_INTERVAL, Trigger
from headrace.run.reports import watching
from headrace.run.running import STOP_SECONDS, Running

_GLANCE = 0.25
_AT_ONCE = 2.0


def trigger(text: str | None) -> Trigger | None:
    """`once`, `finish` or an interval; DefinitionError if it is none of them."""
    if text is None:
        return None
    try:
        return triggers.trigger(text)
    except DefinitionError as error:
        raise DefinitionError(f"--trigger {text}: {error.what}", fix=f"--trigger once or finish, or {error.fix}") from None


def run(job: Job, mode: Mode, trigger: Trigger | None, *, early: Sequence[int] = (), metrics: int | None = None, as_json: bool) -> None:
    """Run a job, and show it, until it has ended or Ctrl-C; JobError if it fails. `early` has the signals that came before it ran."""
    if mode == "batch":
        began = time.monotonic()
        job.run(mode)
        seconds = round(time.monotonic() - began, 3)
        typer.echo(
            json.dumps({"job": job.name, "mode": mode, "seconds": seconds}) if as_json else f"{job.name}, batch: done in {seconds} s"
        )
        return
    with (
        shown_in_another_way(),
        job.start(mode, trigger=trigger) as running,
        nullcontext() if metrics is None else running.metrics(metrics),
        counted_signals() as signals,
    ):
        signals += early
        if as_json:
            _watch(running, signals, _Lines(job.name))
            return
        promises = guarantees.promise(job.outputs, mode, job.guarantee).values()
        notes = (*map(str, promises), _save_note(mode, trigger or job.trigger))
        with Live(auto_refresh=False) as screen:
            _watch(running, signals, _Screen(screen, View(job.name, mode, tuple(filter(None, notes)))))


@contextmanager
def shown_in_another_way() -> Iterator[None]:
    """The log does not say what the view does; when that is over, it does again."""
    log = logging.getLogger(watching.__name__)
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


def _save_note(mode: Mode, trigger: Trigger) -> str:
    often = f"; it saves where it is every {trigger.interval or REAL_TIME_INTERVAL}" if mode == "real-time" else ""
    return f"Ctrl-C stops it{often}"


class _Shown(Protocol):
    """A way to show a job."""

    def now(self, running: Running, seconds_left: float | None = None) -> None:
        """As it is, a few times a second; with the seconds until it is interrupted, if it is stopping."""

    def stopped(self, running: Running, saved: bool) -> None:
        """That it was stopped on purpose; whether everything that it put out is saved."""


def _watch(running: Running, signals: list[int], shown: _Shown) -> None:
    """Until the job has ended. A signal lets it finish its batch, for a while; another one does not."""
    while not running.wait(_GLANCE) and not signals:
        shown.now(running)
    if running.active:
        deadline = time.monotonic() + STOP_SECONDS
        running.finish()
        while (left := deadline - time.monotonic()) > 0 and len(signals) < 2 and not running.wait(_GLANCE):
            shown.now(running, left)
        shown.stopped(running, running.stop(now=True))  # which does nothing if it has ended
    else:
        shown.now(running)


@contextmanager
def counted_signals(*numbers: int) -> Iterator[list[int]]:
    """Ctrl-C and a polite kill, or the one that is named, are noted, so that the job is stopped in order and not in the middle of a call
    into the JVM.

    A polite kill that comes twice at once is one: a service manager may send it to a supervisor and to its job, and the supervisor passes
    it on."""
    came: list[int] = []
    killed = [-math.inf]

    def note(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001
        before, now = killed[-1], time.monotonic()
        if signum == signal.SIGTERM:
            killed.append(now)
        if signum != signal.SIGTERM or now - before > _AT_ONCE:
            came.append(signum)

    before = {number: signal.signal(number, note) for number in numbers or (signal.SIGINT, signal.SIGTERM)}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Lines:
    """A line of JSON for each batch, and for what happens to the job: those have an `event`."""

    def __init__(self, job: str) -> None:
        self._job, self._told, self._stopping = job, 0, False

    def now(self, running: Running, seconds_left: float | None = None) -> None:
        for report in running.news():
            typer.echo(report.json())
        for notice in running.notices[self._told :]:
            typer.echo(notice.json())
            self._told += 1
        if seconds_left is not None and not self._stopping:
            self._stopping = True
            self._event("stopping", seconds_left=round(seconds_left))

    def stopped(self, running: Running, saved: bool) -> None:
        self.now(running)
        self._event("stopped", saved=saved)

    def _event(self, event: str, **more: object) -> None:
        typer.echo(json.dumps({"job": self._job, "event": event, **more}))


class _Screen:
    """A table that is drawn anew in place."""

    def __init__(self, screen: Live, view: View) -> None:
        self._screen, self._view = screen, view

    def now(self, running: Running, seconds_left: float | None = None) -> None:
        if seconds_left is None:
            self._draw(running)
        else:
            saving = f"stopping: it saves what it has done, for which it has {seconds_left:.0f} s; Ctrl-C again stops it at once"
            self._draw(running, Text(saving, style="bold yellow"))

    def stopped(self, running: Running, saved: bool) -> None:
        self._draw(running, Text(_SAVED, style="green") if saved else Text(_CUT, style="bold yellow"))

    def _draw(self, running: Running, *news: Text) -> None:
        drawn = self._view(self._screen.console.width, running.state, running.snapshot(), [*outages(running.notices), *news])
        self._screen.update(drawn, refresh=True)


_SAVED = "stopped; everything that it put out is saved"
_CUT = "stopped in the middle of a batch: what it put out since it last saved may be put out again at the next start"
