"""The time of the clock, as a column."""

from __future__ import annotations

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from headrace.kernel import jvm
from headrace.kernel.python.mapping import plans_one_by_one


def now() -> Column:
    """The time at which a record is looked at: that of its micro-batch, which a replay has again; in real time its own. A batch has one for
    all of it."""
    if not plans_one_by_one():
        return F.current_timestamp()
    return jvm.python_column(jvm.package(SparkSession.active()).ClockTime.column())
