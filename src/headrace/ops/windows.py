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
from pyspark.sql import types as T

from headrace.definitions import durations
from headrace.errors import DefinitionError, user_line


@dataclass(frozen=True)
class Window:
    """How time is cut: `length` and `slide` of fixed windows, or the `gap` that ends a session."""

    length: str = ""
    slide: str | None = None
    gap: str = ""

    @property
    def merges(self) -> bool:
        """Whether it is a session: windows of one record each, which become one when they touch."""
        return bool(self.gap)

    def over(self, column: str) -> Column:
        if self.merges:
            return F.session_window(column, durations.spark(self.gap))
        return F.window(column, durations.spark(self.length), self.slide and durations.spark(self.slide))


def tumbling(length: str) -> Window:
    """Windows of one length, one after the other."""
    durations.micros(length, "tumbling")
    return Window(length)


def sliding(length: str, slide: str) -> Window:
    """Windows of one length that begin every `slide`; a record is in length/slide of them."""
    if durations.micros(length, "sliding") < durations.micros(slide, "sliding: slide"):
        raise DefinitionError(
            f"sliding: the slide ({slide}) is longer than the window ({length}), and records between two windows would be in none",
            fix="give the length first, then the slide, which may be as long: sliding('10 minutes', '5 minutes')", where=user_line(),
        )  # fmt: skip
    return Window(length, slide)


def sessions(gap: str) -> Window:
    """For each key, records with pauses of at most `gap` between them: one that is equal to it joins."""
    durations.micros(gap, "sessions")
    return Window(gap=gap)


def aggregate(frame: DataFrame, window: Window, on: str, by: Sequence[str], columns: Sequence[Column]) -> DataFrame:
    """One row for each window of `on` and each key, with the window's `start` and `end`, the key and the aggregates."""
    kind = frame.select(on).schema[0].dataType
    if not isinstance(kind, T.TimestampType | T.TimestampNTZType | T.DateType):
        raise DefinitionError(
            f"window: the time {on!r} is of type {kind.simpleString()}, but a timestamp is needed",
            fix=f"make it one before: with_columns({on}=F.to_timestamp({on!r})); or name another: on='at'", where=user_line(),
        )  # fmt: skip
    cut = window.over(on).alias("window")
    grouped = frame.groupBy(cut, *by).agg(*columns)
    return grouped.select(
        F.col("window.start").alias("start"), F.col("window.end").alias("end"), *(c for c in grouped.columns if c != "window")
    )
