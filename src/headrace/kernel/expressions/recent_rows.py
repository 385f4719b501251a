"""Rows that a key remembers for a while, in an array of its state."""

from __future__ import annotations

from pyspark.sql import Column, SparkSession

from headrace.kernel import jvm


def recent(spark: SparkSession, rows: Column, added: Column, oldest: Column, *, at: str) -> Column:
    """An array of structs with one more at its end (none if that is null), without those whose time, the field `at`, is before `oldest`.

    It is `filter(concat(rows, array(added)), row -> row.at >= oldest)` for a time of type timestamp, and several times as fast.
    """
    return jvm.python_column(jvm.package(spark).RecentRows.column(rows._jc, added._jc, oldest._jc, at))
