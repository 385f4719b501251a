"""Streams written once in Python, run on Apache Spark as batch, micro-batch or real-time."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError
from headrace.fronts import read
from headrace.fronts.stream import Stream
from headrace.fronts.tables import table
from headrace.job import Job
from headrace.kernel.python_scan import scan_python
from headrace.kernel.scan import Timer, scan
from headrace.ops.features import last_n, latest, previous, running, seen_before, since, within
from headrace.ops.windows import sessions, sliding, tumbling
from headrace.run.session import session
from headrace.run.triggers import every, once

if TYPE_CHECKING:
    from headrace.fronts import topics

__all__ = [  # noqa: RUF022 - in reading order
    "read", "table", "Stream", "Job", "session", "topics",
    "scan", "Timer", "scan_python",
    "running", "within", "last_n", "previous", "since", "seen_before", "latest",
    "tumbling", "sliding", "sessions",
    "every", "once",
    "HeadraceError",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "topics":  # a Kafka client of its own, which most programs do not need, and which takes a while to import
        return import_module("headrace.fronts.topics")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
