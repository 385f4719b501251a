"""Records with the rows of a table that have the same keys: Spark's own join, with the table sent to every task."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_

from pyspark.sql import DataFrame

from headrace.ops.joins import checks
from headrace.ops.merging import named

HOW = ("inner", "left", "semi", "anti")


def join(df: DataFrame, table: DataFrame, keys: Sequence[str], how: str) -> DataFrame:
    """The records of `df` with the rows of `table` that have the same keys.

    The keys come first and once, then the other columns of `df`, then those of `table`; a name that both have is refused.
    """
    checks.keys("join", df, table, keys)
    condition = reduce(and_, [named(key, _OWN) == named(key, _OTHER) for key in keys])
    joined = df.alias(_OWN).join(table.alias(_OTHER), condition, {"semi": "left_semi", "anti": "left_anti"}.get(how, how))
    if how in ("semi", "anti"):
        return joined.select(*(named(name, _OWN) for name in df.columns))
    checks.names("join", df, table, keys)
    own = (named(name, _OWN) for name in (*keys, *(name for name in df.columns if name not in keys)))
    return joined.select(*own, *(named(name, _OTHER) for name in table.columns if name not in keys))


_OWN, _OTHER = "_own", "_other"
