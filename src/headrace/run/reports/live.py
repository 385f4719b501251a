"""A job that runs, drawn anew in place: in a notebook's output, else on the terminal."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

_PAUSE = 0.5  # seconds between two drawings


class Watched(Protocol):
    """What can be watched: it says what it is at when it is shown, and when it has ended."""

    def wait(self, seconds: float) -> bool: ...


def watch(job: Watched, seconds: float | None) -> None:
    """Draw a job until it has ended, so many seconds have passed, or Ctrl-C, which ends the drawing and not the job."""
    deadline = float("inf") if seconds is None else time.monotonic() + seconds
    with (_notebook if _in_notebook() else _terminal)(job) as draw, _interrupts() as interrupted:
        with suppress(KeyboardInterrupt):  # what `wait` makes of Ctrl-C
            while not interrupted.is_set() and (left := deadline - time.monotonic()) > 0 and not job.wait(min(_PAUSE, left)):
                draw()
        draw()


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")  # what was not imported is not what runs this
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


@contextmanager
def _notebook(job: Watched) -> Iterator[Callable[[], None]]:
    from IPython.display import display

    handle: Any = display(job, display_id=True)  # type: ignore[no-untyped-call]
    yield lambda: handle.update(job)


@contextmanager
def _terminal(job: Watched) -> Iterator[Callable[[], None]]:
    from rich.live import Live
    from rich.text import Text

    with Live(Text(repr(job)), auto_refresh=False) as live:
        yield lambda: live.update(Text(repr(job)), refresh=True)


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """Ctrl-C, or a notebook's "interrupt", sets a flag. PySpark's own way with it is to cancel what Spark is at, and the job would fail."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = signal.signal(signal.SIGINT, lambda *_: asked.set())
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)
