"""Scans that put out a row for each record of a stream, and of a batch the last row alone: as Flink's rolling aggregates do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pyspark.sql import DataFrame

from headrace.fronts.stream import Stream
from headrace.kernel.ports import LATE, MAIN, port
from headrace.kernel.python.scanning import PythonScanOptions, ports_of_python, scan_python
from headrace.kernel.scan import ports_of, scan
from headrace.planning import recipe
from headrace.planning.recipe import Step


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


def with_ports(stream: Stream, keys: Sequence[str], options: PythonScanOptions, *, late: bool) -> dict[str, Stream]:
    """A scan in Python as streams by port: `main`, `side`, and `late` if a record can be late."""
    both = recipe.grow("scan_python", lambda df: scan_python(df, keys=keys, **options), stream.step, row="scan_python")

    def part(name: str, beside: Mapping[str, Step]) -> Stream:
        return Stream(recipe.grow("scan_python", partial(port, name=name), both, row="port", beside=beside))

    others = {name: part(name, {}) for name in ("side", *([LATE] if late else []))}
    lost = {LATE: others[LATE].step} if late else {}
    return {MAIN: part(MAIN, lost), **others}
