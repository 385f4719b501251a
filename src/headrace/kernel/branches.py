"""Several branches of one stream in one plan, so that they are of one state and one watermark."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import IllegalArgumentException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.kernel import jvm
from headrace.kernel.event_time import time_columns, united


def merge(fork: DataFrame, branches: Sequence[DataFrame], *, outputs: bool = False) -> DataFrame:
    """The rows of all branches, which begin at `fork` and have the same columns; `outputs`: they stay apart, and each goes its own way.

    A branch may select, filter, explode, and join a static table by `inner` or `left`. The fork is computed once: each of its rows is
    copied for each branch, and every operator of a branch lets the copies of others pass. So does a scan.
    """
    scala = jvm.package(fork.sparkSession)
    try:
        return jvm.data_frame(scala.Branches.merge(fork._jdf, [branch._jdf for branch in branches], outputs), fork.sparkSession)
    except IllegalArgumentException as failure:
        raise jvm.definition_error("branches", failure) from None


def union(df: DataFrame, other: DataFrame, fork: DataFrame) -> DataFrame:
    """The records of two branches that begin at `fork`, which is computed once where one plan can hold both. With an event time they stay
    two streams: Spark takes the time of the slower."""
    both = united(df, other)
    if time_columns(both) or not hold(fork, [df, other]):
        return both
    return merge(fork, [part.select(*(F.col(f"`{c.name}`").cast(c.dataType).alias(c.name) for c in both.schema)) for part in (df, other)])


def hold(fork: DataFrame, branches: Sequence[DataFrame]) -> bool:
    """Whether branches that begin at `fork` can be in one plan."""
    return bool(jvm.package(fork.sparkSession).Branches.hold(fork._jdf, [branch._jdf for branch in branches]))
