"""Each record with the windows that it is in: one row for each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headrace.errors import DefinitionError, user_line
from headrace.kernel.event_time import EXCLUSIVE
from headrace.ops import merging
from headrace.ops.windows.kinds import Fixed

_MANY = 64  # so many windows of a record are written out as an array; more are counted
LAST = datetime(9999, 12, 31, tzinfo=UTC)


@dataclass(frozen=True)
class Assigned:
    """Records with the columns `start` and `end` of a window, and whether it is the `last` of the record's windows (None: there is but
    one)."""

    df: DataFrame
    start: str
    end: str
    last: str | None


def micros(df: DataFrame, on: str) -> Column:
    """The time of a record, in microseconds. That of a window that was put out is the last moment in it: just before its end."""
    field = df.schema[on]
    time = F.unix_micros(merging.named(on).cast("timestamp"))
    return time - 1 if EXCLUSIVE in field.metadata else time


def check_time(df: DataFrame, on: str) -> None:
    kind = df.select(merging.named(on)).schema[0].dataType
    if not isinstance(kind, T.TimestampType | T.TimestampNTZType | T.DateType):
        raise DefinitionError(
            f"window: the time {on!r} is of type {kind.simpleString()}, but a timestamp is needed",
            fix=f"make it one before: with_columns({on}=F.to_timestamp({on!r})); or name another: on='at'", where=user_line(),
        )  # fmt: skip


def assign(df: DataFrame, window: Fixed, time: Column) -> Assigned:
    """`time` is in microseconds. A record without a time has one row, and no window."""
    start, end, last = (merging.unused(name, df) for name in ("_start", "_end", "_last"))
    first = time - F.pmod(time - window.offset, F.lit(window.slide))  # of the window that began last
    if window.several == 1:
        timed = df.withColumns({start: F.timestamp_micros(first), end: F.timestamp_micros(first + window.length)})
        return Assigned(timed, start, end, None)
    if window.step:
        ends = _each(window.several, lambda i: first + (i + 1) * window.step, lambda border: border > time)
        cut = df.withColumns({start: F.timestamp_micros(first), end: F.explode_outer(F.when(time.isNotNull(), ends))})
        return Assigned(cut.withColumn(last, F.unix_micros(end) == F.unix_micros(start) + window.length), start, end, last)
    starts = _each(window.several, lambda i: first - i * window.slide, lambda border: border > time - window.length)
    cut = df.withColumn(start, F.explode_outer(F.when(time.isNotNull(), starts)))
    began = F.unix_micros(start)
    return Assigned(cut.withColumns({end: F.timestamp_micros(began + window.length), last: began + window.slide > time}), start, end, last)


def _each(number: int, border: Callable[[Any], Column], inside: Callable[[Column], Column]) -> Column:
    """The borders that are inside, as an array of timestamps."""
    if number <= _MANY:
        return F.array_compact(F.array(*[F.when(inside(each), F.timestamp_micros(each)) for each in map(border, range(number))]))
    counted = F.transform(F.sequence(F.lit(0).cast("bigint"), F.lit(number - 1).cast("bigint")), lambda i: border(i))
    return F.transform(F.filter(counted, lambda each: inside(each)), F.timestamp_micros)


def later(time: Column, micros: int) -> Column:
    """A time so many microseconds later."""
    return F.timestamp_micros(F.unix_micros(time) + F.lit(micros)) if micros else time
