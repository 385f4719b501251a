"""Scans that put out a row for each record of a stream, and of a batch the last row alone: as Flink's rolling aggregates do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame

from headrace.fronts.stream import Stream
from headrace.kernel.ports import MAIN, port
from headrace.kernel.python.scanning import PythonScanOptions, ports_of_python, scan_python
from headrace.kernel.scan import ports_of, scan
from headrace.planning import recipe


def native(stream: Stream, options: Callable[[bool], Mapping[str, Any]]) -> Stream:
    """A scan of columns by `key`; its options are asked for, for a batch or not."""

    def apply(df: DataFrame) -> DataFrame:
        chosen: Any = options(not df.isStreaming)
        rows = scan(df, keys="key", **chosen)
        return rows if len(ports_of(chosen)) == 1 else port(rows, MAIN)

    return Stream(recipe.grow("scan", apply, stream.step, row="scan"))


def in_python(stream: Stream, keys: Sequence[str], options: Callable[[bool], PythonScanOptions]) -> Stream:
    """The same with a Python function."""

    def apply(df: DataFrame) -> DataFrame:
        chosen = options(not df.isStreaming)
        rows = scan_python(df, keys=keys, **chosen)
        return rows if len(ports_of_python(chosen)) == 1 else port(rows, MAIN)

    return Stream(recipe.grow("scan_python", apply, stream.step, row="scan_python"))
