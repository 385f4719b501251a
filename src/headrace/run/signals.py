"""Ctrl-C and SIGTERM, for a program that waits for a job."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def deferred() -> Iterator[Callable[[], None]]:
    """Holds both back until what this gives is called: that raises KeyboardInterrupt or SystemExit if one has come.

    Raised in the middle of a call into the JVM they would leave its answer unread; and PySpark's own way with Ctrl-C is to cancel the
    very batch that is to be finished. Handlers that the program has set itself stay.
    """
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        came.append(number)

    def raise_one() -> None:
        if came:
            raise KeyboardInterrupt if came[0] == signal.SIGINT else SystemExit(128 + came[0])

    before = {number: handler for number in _SIGNALS if _replaceable(handler := signal.getsignal(number))} if _in_main_thread() else {}
    for number in before:
        signal.signal(number, note)
    try:
        yield raise_one
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    raise_one()


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def _replaceable(handler: Any) -> bool:
    """Whether nobody but Python or PySpark has set it."""
    return handler in (signal.SIG_DFL, signal.default_int_handler) or getattr(handler, "__module__", "").startswith("pyspark.")


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
