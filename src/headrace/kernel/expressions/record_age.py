"""How long ago: for measuring a stream, never for computing with it."""

from __future__ import annotations

from pyspark.sql import Column, SparkSession

from headrace.kernel import jvm


def millis_since(spark: SparkSession, timestamp: Column) -> Column:
    """Milliseconds from a timestamp until the record is looked at, whatever batch it is in."""
    return jvm.python_column(jvm.package(spark).Elapsed.column(jvm.java_column(timestamp)))
