"""Calling a Python function for one record at a time, in every mode: the function, packed for the workers.

A worker is PySpark's own, forked and kept between batches by Spark; what it runs is the loop of the package `worker`. Functions travel by
value with the module that they are defined in, unless that is installed.
"""

from __future__ import annotations

import functools
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark import cloudpickle
from pyspark.core.rdd import _wrap_function
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headrace.definitions import pickles
from headrace.kernel import jvm
from headrace.kernel.python import worker
from headrace.kernel.python.worker.functions import Called
from headrace.kernel.python.worker.loop import Loop

REFUSED = T.StructType([T.StructField("reason", T.StringType()), T.StructField("line", T.StringType())])
"""Why a function refused a record, and where in the user's program."""


def call(df: DataFrame, function: Called, *arguments: Column, returns: T.DataType, limit: float | None = None) -> Column:
    """The answer of a function to these structs, as a column. The optimiser copies a column as it likes: only a scan calls it once."""
    return jvm.python_column(jvm.package(df.sparkSession).PythonCall.column(*packed(df, function, arguments, returns, limit)))


def packed(df: DataFrame, function: Called, arguments: tuple[Column, ...], returns: T.DataType, limit: float | None) -> list[Any]:
    """What the kernel needs to call a function."""
    token = uuid.uuid4().hex
    loop = Loop(token, pickled(function))
    cloudpickle.register_pickle_by_value(worker)  # type: ignore[no-untyped-call]
    wrapped = _wrap_function(df.sparkSession.sparkContext, _one, loop, loop)
    # What remembers something must find it again in the next batch of a stream: it keeps its worker. That takes a Python process for each
    # task to start, which a batch run, that has no next one, is spared, unless there is something to close: a process of Spark's own pool
    # is not told of the end.
    closes = hasattr(function.function, "close")
    pinned = token if closes or (hasattr(function.function, "open") and df.isStreaming) else ""
    return [wrapped, jvm.java_column(F.struct(*arguments)), returns.json(), int((limit or 0) * 1000), pinned]


def _one(_: int, stream: Any) -> tuple[Any]:
    return (stream,)


def pickled(function: Called) -> bytes:
    """The function as bytes; DefinitionError with the reason if it holds what cannot be sent."""
    travels_with_the_job(function.function)
    pickles.check(f"{function.name}: the function", function.function)
    cloudpickle.register_pickle_by_value(worker)  # type: ignore[no-untyped-call]
    return bytes(cloudpickle.dumps(function))  # type: ignore[no-untyped-call]


def travels_with_the_job(function: Callable[..., Any]) -> None:
    """A worker can import what is installed, but not the user's own script: that is sent by value."""
    while isinstance(function, functools.partial):
        function = function.func
    module = sys.modules.get(getattr(function, "__module__", None) or type(function).__module__)
    file = getattr(module, "__file__", None)
    if module is not None and file is not None and module.__name__ != "__main__" and not _is_installed(module.__name__, file):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def _is_installed(name: str, file: str) -> bool:
    """By value, modules of Python itself could not be sent, and for the rest of the process nothing that has to do with them."""
    return name.partition(".")[0] in sys.stdlib_module_names or not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)
