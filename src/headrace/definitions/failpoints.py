"""Named lines at which a process kills itself, for tests of what survives that: HEADRACE_FAILPOINT=name, or name:3 for the third time.

Nothing else is done with them, and without the variable nothing at all.
"""

from __future__ import annotations

import os
import signal
from collections import Counter

VARIABLE = "HEADRACE_FAILPOINT"

_reached: Counter[str] = Counter()


def reach(name: str) -> None:
    """Kill this process, if it was asked to die here; with -9, and with all of its group if it leads one, such as Spark's JVM."""
    asked = os.environ.get(VARIABLE)
    if asked is None:
        return
    _reached[name] += 1
    if asked in (name, f"{name}:{_reached[name]}"):
        leads = os.getpgrp() == os.getpid()
        (os.killpg if leads else os.kill)(os.getpid(), signal.SIGKILL)
