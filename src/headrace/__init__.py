"""Streams written once in Python, run on Apache Spark as batch, micro-batch or real-time."""

from headrace.errors import HeadraceError
from headrace.fronts import read
from headrace.fronts.stream import Stream
from headrace.job import Job
from headrace.ops.windows import sessions, sliding, tumbling
from headrace.run.session import session
from headrace.run.triggers import every, once

__all__ = ["HeadraceError", "Job", "Stream", "every", "once", "read", "session", "sessions", "sliding", "tumbling"]
