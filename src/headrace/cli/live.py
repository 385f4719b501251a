"""What a running job shows: a table that keeps up, or a JSON object a line."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import typer
from rich.live import Live
from rich.table import Table
from rich.text import Text

from headrace.errors import DefinitionError
from headrace.job import Job
from headrace.run.modes import Mode, guarantee
from headrace.run.progress import Progress
from headrace.run.running import Running
from headrace.run.triggers import REAL_TIME_INTERVAL, Trigger, every, finish, once

_GLANCE = 0.25


def trigger(text: str | None) -> Trigger | None:
    """`once`, `finish` or an interval; DefinitionError if it is none of them."""
    if text is None:
        return None
    try:
        return {"once": once, "finish": finish}.get(text) or every(text)
    except DefinitionError as error:
        raise DefinitionError(f"--trigger {text}: {error.what}", fix=f"--trigger once or finish, or {error.fix}") from None


def run(job: Job, mode: Mode, trigger: Trigger | None, *, as_json: bool) -> None:
    """Run a job, and show it, until it has ended or Ctrl-C; JobError if it fails."""
    if mode == "batch":
        began = time.monotonic()
        job.run(mode)
        seconds = round(time.monotonic() - began, 3)
        typer.echo(
            json.dumps({"job": job.name, "mode": mode, "seconds": seconds}) if as_json else f"{job.name}, batch: done in {seconds} s"
        )
        return
    with job.start(mode, trigger=trigger) as running:
        if as_json:
            _watch(running, _lines)
            return
        notes = [f"{output.name}: {guarantee(output, mode)}" for output in job.outputs]
        if mode == "real-time":
            notes.append(
                f"numbers come with each save, every {(trigger or job.trigger).interval or REAL_TIME_INTERVAL}; rows go out at once"
            )
        with _redrawn(f"{job.name}, {mode}", "\n".join([*notes, "Ctrl-C stops it"])) as show:
            _watch(running, show)


def _watch(running: Running, show: Callable[[Running], None]) -> None:
    with _interrupt() as interrupted:
        while not running.wait(_GLANCE) and not interrupted.is_set():
            show(running)
        show(running)


@contextmanager
def _interrupt() -> Iterator[threading.Event]:
    """Ctrl-C and a polite kill set a flag, so that the job is stopped in order and not in the middle of a call into the JVM."""
    asked = threading.Event()

    def stop(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001
        asked.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _lines(running: Running) -> None:
    """A line of JSON for each batch."""
    for report in running.news():
        typer.echo(report.json())


@contextmanager
def _redrawn(title: str, caption: str) -> Iterator[Callable[[Running], None]]:
    """A table that is drawn anew in place."""
    with Live(_table(title, caption, []), refresh_per_second=4) as live:
        yield lambda running: live.update(_table(title, caption, running.progress()))


def _table(title: str, caption: str, reports: list[Progress]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", caption=caption, caption_justify="left")
    for name in ("output", "batch", "records/s", "behind", "batch took", "latency p50 / p99", "state", "watermark"):
        table.add_column(name, justify="left" if name in ("output", "watermark") else "right")
    for report in reports:
        table.add_row(
            report.query,
            str(report.batch),
            f"{report.rate:,.0f}",
            "–" if report.lag is None else Text(f"{report.lag:,}", style="yellow" if report.lag else "green"),
            f"{report.seconds:,.2f} s",
            "–" if report.latency_ms is None else f"{report.latency_ms:,.0f} / {report.latency_p99_ms:,.0f} ms",
            f"{report.state_rows:,} rows, {_size(report.state_bytes)}" if report.state_rows else "–",
            (report.watermark or "–").replace("T", " ").removesuffix(".000Z"),
        )
    if not reports:
        table.add_row(Text("no batch has ended yet", style="dim"), *[""] * 7)
    return table


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
