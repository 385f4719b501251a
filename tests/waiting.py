"""Waiting for what another process or thread does: two looks at a condition, with a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

_NEVER = threading.Event()


def eventually(condition: Callable[[], bool], *, within: float = 30) -> bool:
    """Whether it holds by then."""
    deadline = time.monotonic() + within
    while not condition() and time.monotonic() < deadline:
        _NEVER.wait(0.05)
    return condition()
