"""The Python twin means what the scan means, in batch and micro-batch."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.errors import DefinitionError
from headrace.kernel.python_scan import scan_python
from headrace.kernel.scan import scan
from headrace.testing.shapes import BATCH, MICRO_BATCH, Shape
from headrace.testing.tables import assert_table, table

each_shape = pytest.mark.parametrize("shape", [BATCH, *MICRO_BATCH], ids=str)  # in real time there is no Python

EVENTS = """
    k | v:bigint
    a | 1
    b | 9
    a | 3
    - | 4
    a | 0
    a | 2
    - | 5
"""


def count(state: dict[str, Any], record: dict[str, Any]) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    n = state["n"] + 1
    rows = [{"k": record["k"], "v": record["v"], "n": n}] if record["v"] != 9 else []
    return None if record["v"] == 0 else {"n": n}, rows


def in_python(df: DataFrame, initial: DataFrame | None = None) -> DataFrame:
    output = "k string, v bigint, n int"
    return scan_python(df, keys="k", state="n int", start={"n": 0}, function=count, output=output, initial=initial)


def natively(df: DataFrame, initial: DataFrame | None = None) -> DataFrame:
    n = F.col("state.n") + 1
    return scan(
        df, keys="k", state={"n": F.lit(0)}, update={"n": n}, output=["k", "v", n.alias("n")], when=F.col("v") != 9,
        forget=F.col("v") == 0, initial=initial,
    )  # fmt: skip


@each_shape
def test_the_twin_gives_what_the_scan_gives(shape: Shape) -> None:
    expected = """
        k | v | n
        a | 1 | 1
        a | 3 | 2
        - | 4 | 1
        a | 0 | 3
        a | 2 | 1
        - | 5 | 2
    """
    assert_table(shape.run(in_python, EVENTS), expected)
    assert_table(shape.run(natively, EVENTS), expected)


@each_shape
def test_the_twin_begins_with_the_table_that_is_given(shape: Shape, spark: SparkSession) -> None:
    first = table(
        spark,
        """
        k | n:int
        a | 100
    """,
    )
    expected = """
        k | v | n
        a | 1 | 101
        b | 2 | 1
    """
    rows = """
        k | v:bigint
        a | 1
        b | 2
    """
    assert_table(shape.run(lambda df: in_python(df, first), rows), expected)
    assert_table(shape.run(lambda df: natively(df, first), rows), expected)


def test_the_twin_keeps_the_order_of_arrival_through_a_shuffle(spark: SparkSession) -> None:
    numbers = spark.range(20_000, numPartitions=1).select((F.col("id") % 2).cast("string").alias("k"), (F.col("id") + 10).alias("v"))
    assert in_python(numbers).where("n <> floor((v - 10) / 2) + 1").count() == 0


@pytest.mark.parametrize(("wrong", "reason"), [
    ({"keys": "customer"}, "there is no column 'customer'"),
    ({"order": "place"}, "there is no column 'place'"),
    ({"start": {"m": 0}}, "start names 'm', which is not a field of the state (n)"),
])  # fmt: skip
def test_a_wrong_definition_is_refused_where_it_stands(spark: SparkSession, wrong: dict[str, Any], reason: str) -> None:
    arguments: dict[str, Any] = {"keys": "k", "state": "n int", "function": count, "output": "k string"} | wrong
    with pytest.raises(DefinitionError) as caught:
        scan_python(table(spark, [], "k string, v bigint"), **arguments)
    assert reason in caught.value.what
    assert str(caught.value.where).startswith(__file__)
