"""Several branches of one stream in one plan, so that they are of one state and one watermark."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import IllegalArgumentException
from pyspark.sql import DataFrame

from headrace.kernel import jvm


def merge(fork: DataFrame, branches: Sequence[DataFrame]) -> DataFrame:
    """The rows of all branches, which begin at `fork` and have the same columns.

    A branch may select, filter, explode, and join a static table by `inner` or `left`. The fork is computed once: each of its rows is
    copied for each branch, and every operator of a branch lets the copies of others pass. So does a scan.
    """
    scala = jvm.package(fork.sparkSession)
    try:
        return jvm.data_frame(scala.Branches.merge(fork._jdf, [branch._jdf for branch in branches]), fork.sparkSession)
    except IllegalArgumentException as failure:
        raise jvm.definition_error("branches", failure) from None


def hold(fork: DataFrame, branches: Sequence[DataFrame]) -> bool:
    """Whether branches that begin at `fork` can be in one plan."""
    return bool(jvm.package(fork.sparkSession).Branches.hold(fork._jdf, [branch._jdf for branch in branches]))
