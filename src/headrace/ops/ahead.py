"""Records whose time cannot be: they are ahead of the clock, and would take the time of the whole stream with them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.definitions import durations
from headrace.kernel.expressions.clocks import now
from headrace.kernel.ports import MAIN
from headrace.ops import merging

FUTURE = "future"
"""The port of those records."""


def plausible(df: DataFrame, column: str, ahead: str) -> DataFrame:
    """The records in two ports: `main`, and `future` for those whose time is further ahead of the clock than that."""
    flag = merging.unused("_future", df)
    limit = F.timestamp_micros(F.unix_micros(now()) + F.lit(durations.micros(ahead)))
    judged = df.withColumn(flag, F.coalesce(merging.named(column).cast("timestamp") > limit, F.lit(False)))  # the clock is asked once
    row = F.struct(*map(merging.named, df.columns))
    return judged.select(F.when(~F.col(flag), row).alias(MAIN), F.when(F.col(flag), row).alias(FUTURE))
