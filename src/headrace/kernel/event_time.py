"""Event time: which column of a stream is its time, and up to where it has come, which Spark calls the watermark.

A stream that several sources were united to has the time that the slowest of them has reached. One that is silent holds it up, for nobody
knows that nothing of it is still to come; unless the program says how long it may be silent (`idle`).
"""

from __future__ import annotations

from pyspark.errors import IllegalArgumentException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.definitions import durations
from headrace.errors import DefinitionError, user_line
from headrace.kernel import jvm

WATERMARK = "spark.watermarkDelayMs"  # what Spark notes at a column that has a watermark; a stream has one only
IDLE = "headrace.idle"  # what is noted at a column whose source may be silent: for how many milliseconds
EXCLUSIVE = "headrace.exclusive"  # what is noted at a column whose rows are of the moment just before it: the end of a window


def time_columns(df: DataFrame) -> list[str]:
    """The columns that have a watermark."""
    return [field.name for field in df.schema if WATERMARK in field.metadata]


def watermarked(df: DataFrame, event_time: str, delay: str) -> DataFrame:
    """A stream with a watermark on that column; one that it has already stays."""
    if not df.isStreaming or event_time not in df.columns or event_time in time_columns(df):
        return df
    return _with_watermark("scan", df, event_time, delay)


def timed(df: DataFrame, column: str, delay: str, *, idle: str | None = None, mark: Column | None = None) -> DataFrame:
    """A stream with a watermark on that column, and no other. With `mark`, only the records for which that is true move it. Refused behind
    a scan that waits for a watermark: no record would ever come that could begin the second."""
    if df.isStreaming and jvm.package(df.sparkSession).Scan.holdsBack(df._jdf):
        raise DefinitionError(
            "event_time: the records come from a scan by event time that waits, and both would wait for each other",
            fix="leave it out, for the time goes on behind such a scan unless one by the clock follows; or begin another job, from a topic",
            where=user_line(),
        )
    if mark is None or not df.isStreaming:
        return _with_watermark("event_time", _silent(df, column, idle), column, delay)
    measured = "_marked"
    while measured in df.columns:
        measured += "_"
    noted = _silent(df.withColumn(measured, F.when(mark, _named(column))), measured, idle)
    marked = _with_watermark("event_time", noted, measured, delay)
    # What follows goes by the column, which is as good as measured. And a condition that follows must not keep the marks away.
    known = {**df.schema[column].metadata, WATERMARK: durations.delay(delay) // 1000}
    time = jvm.python_column(jvm.package(df.sparkSession).Held.column(_named(column)._jc)).alias(column, metadata=known)
    return marked.select(*(time if name == column else _named(name) for name in df.columns))


def _silent(df: DataFrame, column: str, idle: str | None) -> DataFrame:
    """The same, with a note at the column of how long its source may be silent."""
    if idle is None or not df.isStreaming:
        return df
    return df.withMetadata(column, {**df.schema[column].metadata, IDLE: durations.micros(idle) // 1000})


def _named(column: str) -> Column:
    return F.col(f"`{column}`")


def united(df: DataFrame, other: DataFrame) -> DataFrame:
    """The records of both. Refused if only one of them has an event time: what follows would go by it, and find the other's late."""
    if df.isStreaming and (halves := set(time_columns(df)) ^ set(time_columns(other))):
        name = min(halves)
        raise DefinitionError(
            f"union: '{name}' is the event time of one stream only, and the records of the other would be late by it",
            fix=f'.event_time("{name}", …) on both before .union, or on neither and behind it',
            where=user_line(),
        )
    return df.unionByName(other)


def _with_watermark(operator: str, df: DataFrame, column: str, delay: str) -> DataFrame:
    marked = df.withWatermark(column, durations.spark(delay))
    try:
        return jvm.data_frame(jvm.package(df.sparkSession).Watermarks.placed(marked._jdf), df.sparkSession)
    except IllegalArgumentException as failure:
        raise jvm.definition_error(operator, failure) from None
