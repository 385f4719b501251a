"""Streams written once in Python, run on Apache Spark as batch, micro-batch or real-time."""

from headrace.errors import HeadraceError
from headrace.fronts import read
from headrace.fronts.stream import Stream
from headrace.job import Job
from headrace.kernel.python_scan import scan_python
from headrace.kernel.scan import Timer, scan
from headrace.ops.features import last_n, latest, previous, running, seen_before, since, within
from headrace.ops.windows import sessions, sliding, tumbling
from headrace.run.session import session
from headrace.run.triggers import every, finish, once

__all__ = [  # noqa: RUF022 - in reading order
    "read", "Stream", "Job", "session",
    "scan", "Timer", "scan_python",
    "running", "within", "last_n", "previous", "since", "seen_before", "latest",
    "tumbling", "sliding", "sessions",
    "every", "once", "finish",
    "HeadraceError",
]  # fmt: skip
