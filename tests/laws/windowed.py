"""Windows for the laws."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from tests.laws.records import DELAY

from headrace.kernel.scan import port
from headrace.ops import windows
from headrace.testing.microbatches import Operator


def in_windows(window: windows.Window, **options: Any) -> Operator:
    """The panes of a window, without the late records."""

    def operator(df: DataFrame) -> DataFrame:
        windowing = windows.Windowing(window, ("customer",), "ts", timed=True, **{"mode": "append", **options})
        total = {"n": F.count("*"), "top": F.max("amount"), "kinds": F.count_distinct("amount")}
        return port(windows.aggregate(df.withWatermark("ts", DELAY), windowing, total), "main")

    return operator


def by_the_clock(df: DataFrame) -> DataFrame:
    return windows.aggregate(df, windows.Windowing(windows.tumbling("1 second"), by_clock=True, mode="append"), {"n": F.count("*")})


def before_the_end(window: windows.Window, rows: str, **options: Any) -> Operator:
    """Without what only the end of the input brings, which some shapes do not have."""
    return lambda df: in_windows(window, **options)(df).where(rows)
