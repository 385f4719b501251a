"""Windows over event time, as Spark has them: values that say how time is cut, and one function that aggregates along the cut.

| window                           | the windows that a record at 12:07 is in                                        |
|----------------------------------|---------------------------------------------------------------------------------|
| `tumbling("10 minutes")`         | [12:00, 12:10)                                                                  |
| `sliding("10 minutes", "5 minutes")` | [12:00, 12:10) and [12:05, 12:15)                                           |
| `sessions("10 minutes")`         | one from the first record of its key to 10 minutes after the last, no longer pause inside |

A window's start is in it, its end is not. State: one row for each key and open window; with `event_time` a window closes, and its row goes,
when the watermark passes its end; without, nothing ever goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


@dataclass(frozen=True)
class Window:
    """How time is cut: `length` and `slide` of fixed windows, or the `gap` that ends a session."""

    length: str = ""
    slide: str | None = None
    gap: str = ""

    def over(self, column: str) -> Column:
        return F.session_window(column, self.gap) if self.gap else F.window(column, self.length, self.slide)


def tumbling(length: str) -> Window:
    """Windows of one length, one after the other."""
    return Window(length)


def sliding(length: str, slide: str) -> Window:
    """Windows of one length that begin every `slide`; a record is in length/slide of them."""
    return Window(length, slide)


def sessions(gap: str) -> Window:
    """For each key, records with pauses of at most `gap` between them: one that is equal to it joins."""
    return Window(gap=gap)


def aggregate(frame: DataFrame, window: Window, on: str, by: Sequence[str], columns: Sequence[Column]) -> DataFrame:
    """One row for each window of `on` and each key, with the window's `start` and `end`, the key and the aggregates."""
    cut = window.over(on).alias("window")
    grouped = frame.groupBy(cut, *by).agg(*columns)
    return grouped.select(
        F.col("window.start").alias("start"), F.col("window.end").alias("end"), *(c for c in grouped.columns if c != "window")
    )
