"""When Spark's JVM ends under the program: killed, out of memory, crashed. It is told once, in words.

Python reaches the JVM through py4j. When a connection breaks, py4j raises one of several errors, or takes it for an answer without meaning,
and writes a trace into Python's log; from whatever thread it happens in: the program's, that of a batch's callback, or the one that tells
the JVM which objects are not needed any more. So the log is kept quiet, and an error is judged by whether the JVM still answers.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import py4j
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError

from headrace.errors import HeadraceError
from headrace.spark import launch

Error = TypeVar("Error", bound=HeadraceError)

_PY4J = f"{Path(py4j.__file__).parent}{os.sep}"
_SUSPECT = (Py4JError, PySparkRuntimeError, ConnectionError, EOFError)  # the last two from where rows are fetched


def error(kind: type[Error]) -> Error:
    """That it has ended, in words."""
    return kind(
        "Spark's JVM has ended under this program: killed, or out of memory",
        fix=f"start the program again, with more memory if need be (spark.driver.memory); Spark's log is {launch.log()}",
    )


@contextmanager
def translated(kind: type[HeadraceError]) -> Iterator[None]:
    """Whatever is raised inside because the JVM has ended becomes an error of this kind. Also a decorator."""
    try:
        yield
    except _SUSPECT as raised:
        if because(raised):
            raise error(kind) from None
        raise


def because(raised: BaseException) -> bool:
    """Whether this was raised because the JVM has ended."""
    if isinstance(raised, Py4JNetworkError):
        return True
    return isinstance(raised, _SUSPECT) and not isinstance(raised, Py4JJavaError) and _ended()  # an exception of Java's is an answer


def _ended() -> bool:
    gateway = SparkContext._gateway
    if gateway is None:
        return False
    try:
        gateway.jvm.System.currentTimeMillis()
    except (Py4JError, ConnectionError):
        return True
    return False


def quiet() -> None:
    """Keep out of Python's log what py4j and PySpark write there with a trace and then raise: what is raised is enough."""
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger", "py4j"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_not_py4js)  # to which py4j writes, too, past its own


def _not_py4js(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.CRITICAL or not record.pathname.startswith(_PY4J)


def quiet_accumulators(context: SparkContext) -> None:
    """PySpark's server of accumulators prints a trace when the JVM, its only client, hangs up. It is told here what is no error."""
    server = context._accumulatorServer
    tell = server.handle_error

    def tell_if_an_error(request: Any, address: Any) -> None:
        if not isinstance(sys.exception(), (EOFError, ConnectionError)):
            tell(request, address)

    if "handle_error" not in vars(server):
        server.handle_error = tell_if_an_error  # type: ignore[method-assign, assignment]


def survive_terminate(context: SparkContext) -> None:
    """A polite kill may reach all processes of a program at once, from a service manager or `timeout`. The JVM must not end then, under a
    job that is being saved: it ends with the program."""
    jvm: Any = context._jvm
    jvm.sun.misc.Signal.handle(jvm.sun.misc.Signal("TERM"), jvm.sun.misc.SignalHandler.SIG_IGN)
