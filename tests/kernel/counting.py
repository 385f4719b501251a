"""A scan that counts the records of a key, for tests of what else a scan does."""

from __future__ import annotations

import pytest
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.kernel.scan import port, scan
from headrace.testing.shapes import BATCH, MICRO_BATCH

each_shape = pytest.mark.parametrize("shape", [BATCH, *MICRO_BATCH], ids=str)  # in real time it is tested by the laws


def n() -> Column:
    return F.col("state.n")


def count(df: DataFrame, **more: object) -> DataFrame:
    options: dict[str, object] = {"update": {"n": n() + 1}, "output": ["k", "v", (n() + 1).alias("n")], **more}
    return scan(df, keys="k", state={"n": F.lit(0)}, **options)  # type: ignore[arg-type]


def on_time(df: DataFrame) -> DataFrame:
    """What a scan by event time puts out, but for late records and those that only close the others."""
    return port(df, "main").where("k <> 'z'")
