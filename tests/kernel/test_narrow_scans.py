"""What is made of the rows of a scan right behind it is made in the scan; what nobody wants of them does not come out."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.kernel.counting import each_shape

from headrace.kernel.branches import merge
from headrace.kernel.scan import scan
from headrace.testing.shapes import Shape
from headrace.testing.tables import assert_table, table

pytestmark = pytest.mark.usefixtures("spark")

EVENTS = """
    k | v:int
    a | 1
    b | 2
    a | 3
    a | 4
"""


def remembered(df: DataFrame, **more: Any) -> DataFrame:
    """Each value with all that were before it, and their sum."""
    values = F.col("state.values")
    total = F.aggregate(values, F.lit(0), lambda sum, value: sum + value).alias("total")
    return scan(
        df, keys="k", state={"values": F.array().cast("array<int>")}, update={"values": F.array_append(values, F.col("v"))},
        output=["k", "v", values.alias("before"), total], **more,
    )  # fmt: skip


def rows_of_the_scan(df: DataFrame) -> list[str]:
    """The columns that come out of the scan of a plan that Spark has optimised."""
    plan: Any = df._jdf.queryExecution().optimizedPlan()  # type: ignore[operator]
    while plan.nodeName() != "TransformWithState":
        plan = plan.children().apply(0)
    return list(plan.outputObjAttr().dataType().fieldNames())


ALL = ["k", "v", "before", "total"]

PLANS = {
    "a computed column": (lambda df: df.select("k", F.size("before").alias("n")), ["k", "n"]),
    "a condition": (lambda df: df.where("size(before) > 1").select("v"), ["v"]),
    "a chain of steps": (lambda df: df.withColumn("n", F.size("before")).where("n > 1").select("k", "n"), ["k", "n"]),
    "dear and used once": (lambda df: df.select((F.col("total") + 1).alias("more")), ["more"]),
    "dear and used twice": (lambda df: df.select((F.col("total") + F.col("total")).alias("twice")), ALL),
    "what is another value each time": (lambda df: df.select("k", F.rand().alias("r")), ALL),
    "a Python function": (lambda df: df.select("k", F.udf(lambda v: v, "int")("v").alias("same")), ALL),
    "all of it": (lambda df: df, ALL),
}


@pytest.mark.parametrize("plan", PLANS)
def test_what_comes_out_of_a_scan(spark: SparkSession, plan: str) -> None:
    behind, columns = PLANS[plan]
    assert sorted(rows_of_the_scan(behind(remembered(table(spark, EVENTS))))) == sorted(columns)


@each_shape
def test_rows_are_the_same(shape: Shape) -> None:
    assert_table(
        shape.run(lambda df: remembered(df, when="v <> 3").where("size(before) > 0").select("k", F.size("before").alias("n")), EVENTS),
        """
        k | n:int
        a | 2
    """,
    )


PARTED = """
    k | v:int
    a | 1
    a |
    b | 2
    a | 3
"""


def parted(df: DataFrame) -> DataFrame:
    """Records with a value go through the scan; those without one pass it by."""
    good = remembered(df.where("v IS NOT NULL")).where("v <> 2").select("k", F.size("before").alias("n"))
    return merge(df, [good, df.where("v IS NULL").select("k", F.lit(-1).alias("n"))])


def test_rows_that_pass_by_are_made_in_the_scan_too_and_each_is_copied_once(spark: SparkSession) -> None:
    result = parted(table(spark, PARTED))
    assert rows_of_the_scan(result) == ["k", "n"]
    assert "Generate" not in result._jdf.queryExecution().optimizedPlan().toString()  # type: ignore[operator]


@each_shape
def test_rows_that_pass_by_are_the_same(shape: Shape) -> None:
    assert_table(
        shape.run(parted, PARTED),
        """
        k | n:int
        a | -1
        a | 0
        a | 1
    """,
    )
