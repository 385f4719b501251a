"""Windows under test: operators over records of a key, a value and a time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.kernel.event_time import watermarked
from headrace.ops import windows
from headrace.ops.windows import Windowing
from headrace.testing.results import Result

START = datetime(2026, 1, 1, 8, tzinfo=UTC)
SCHEMA = "k string, v int, at timestamp"
CLOSING = [("closing", 0, START + timedelta(days=1))]


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def windowed(
    window: windows.Window, *, delay: str = "0 seconds", aggregates: Any = None, **options: Any
) -> Callable[[DataFrame], DataFrame]:
    """The windows of each key, by event time."""
    options = {"by": ("k",), "on": "at", "timed": True, **options}

    def operator(df: DataFrame) -> DataFrame:
        named = {"n": F.count("*"), "total": F.sum("v")} if aggregates is None else aggregates()
        return windows.aggregate(watermarked(df, "at", delay), Windowing(window, **options), named)

    return operator


def seconds(time: datetime) -> float:
    return (time.astimezone(UTC) - START).total_seconds()


def spans(result: Result, *columns: str) -> list[tuple[Any, ...]]:
    """Start and end of each row in seconds, and these columns; of the late ones "late" and the value."""
    rows = [row.main or row.late for row in result.rows] if "main" in result.schema.names else result.rows
    shown = [
        (seconds(row.start), seconds(row.end), *(row[column] for column in columns)) if "start" in row else ("late", row.v) for row in rows
    ]
    return sorted((row for row in shown if row != ("late", 0)), key=lambda row: (row[0] == "late", row))
