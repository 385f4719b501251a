"""Streams written once in Python, run on Apache Spark as batch, micro-batch or real-time."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from headrace import errors
from headrace.definitions.guarantees import Guarantee
from headrace.embedded.places import data as data_directory
from headrace.errors import HeadraceError
from headrace.fronts import hints as _hints
from headrace.fronts import read
from headrace.fronts.sql import sql
from headrace.fronts.stream import Stream
from headrace.fronts.tables import table
from headrace.fronts.windowed import clock
from headrace.io.connectors import Run, Sink, Writer
from headrace.io.receiver import Receiver
from headrace.job import Job
from headrace.kernel.bags import Bag, Each, Expire
from headrace.kernel.python.scanning import PythonTimer, scan_python
from headrace.kernel.scan import Port, Timer, port, scan
from headrace.ops.features import last_n, latest, previous, recent, running, seen_before, since, within
from headrace.ops.features.deviations import median_deviation, zscore
from headrace.ops.patterns.matching import match
from headrace.ops.patterns.pattern import group, step
from headrace.ops.windows import (
    after_all,
    after_any,
    after_each,
    after_records,
    after_time,
    after_watermark,
    cumulating,
    fold,
    fold_python,
    forever,
    keeping,
    or_finally,
    repeatedly,
    sessions,
    sliding,
    tumbling,
    until,
)
from headrace.planning.triggers import every, finish, once
from headrace.spark.session import session

if _TYPE_CHECKING:
    from headrace.fronts import topics

__all__ = [  # noqa: RUF022 - in reading order
    "read", "table", "sql", "Receiver", "Stream", "Sink", "Writer", "Run", "Guarantee", "Job", "session", "topics", "data_directory",
    "scan", "Timer", "Bag", "Each", "Expire", "Port", "port", "scan_python", "PythonTimer",
    "running", "within", "recent", "last_n", "previous", "since", "seen_before", "latest",
    "zscore", "median_deviation",
    "tumbling", "sliding", "cumulating", "sessions", "forever", "until", "keeping", "clock", "fold", "fold_python",
    "after_records", "after_time", "after_watermark", "after_any", "after_all", "after_each", "repeatedly", "or_finally",
    "match", "step", "group",
    "every", "once", "finish",
    "errors", "HeadraceError",
]  # fmt: skip

if not _TYPE_CHECKING:  # a type checker shall go on to find wrong names by itself

    def __getattr__(name: str) -> _Any:
        if name == "topics":  # a Kafka client of its own, which most programs do not need, and which takes a while to import
            return _import_module("headrace.fronts.topics")
        raise _hints.of_headrace(name, __all__, ["kafka", "files", "rate", "socket", "receiver", "memory"])
