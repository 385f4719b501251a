"""The keys of a scan, and the order of the records of each."""

from __future__ import annotations

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.kernel.scan import port, scan
from headrace.testing.microbatches import MicroBatches
from headrace.testing.shapes import BATCH, MICRO_BATCH, Shape
from headrace.testing.tables import assert_table, table

pytestmark = pytest.mark.usefixtures("spark")
each_shape = pytest.mark.parametrize("shape", [BATCH, *MICRO_BATCH], ids=str)  # in real time it is tested by the laws


def n() -> Column:
    return F.col("state.n")


def count(df: DataFrame, *, keys: tuple[str, ...] = ("k",), order: tuple[str, ...] = ()) -> DataFrame:
    return scan(df, keys=keys, state={"n": F.lit(0)}, update={"n": n() + 1}, output=[*keys, "v", (n() + 1).alias("n")], order=order)


@each_shape
@pytest.mark.parametrize("kind", ["double", "date", "decimal(9,2)", "struct<x:int,y:string>", "array<int>", "boolean", "binary"])
def test_a_key_may_be_of_any_type_that_groups(shape: Shape, kind: str) -> None:
    rows = {
        "double": "cast(k as double)",
        "date": "date_add(date'2026-01-01', k)",
        "decimal(9,2)": "cast(k as decimal(9,2))",
        "struct<x:int,y:string>": "named_struct('x', k, 'y', string(k))",
        "array<int>": "array(k, null)",
        "boolean": "k = 1",
        "binary": "cast(string(k) as binary)",
    }

    def operator(df: DataFrame) -> DataFrame:
        typed = df.withColumn("key", F.expr(rows[kind]))
        return scan(typed, keys=["key", "v"], state={"n": F.lit(0)}, update={"n": n() + 1}, output=["k", "v", n()])

    result = shape.run(
        operator,
        """
        k:int | v:int
        1     | 1
        2     | 1
        1     | 1
        1     | 2
    """,
    )
    assert_table(
        result,
        """
        k | v | n
        1 | 1 | 0
        2 | 1 | 0
        1 | 1 | 1
        1 | 2 | 0
    """,
    )


def test_zero_and_minus_zero_are_one_key_and_all_nan_are_one(spark: SparkSession) -> None:
    rows = table(spark, [(0.0, 1), (-0.0, 2), (float("nan"), 3), (float("nan"), 4)], "k double, v int")
    assert sorted(row.n for row in count(rows).collect()) == [1, 1, 2, 2]


@pytest.mark.parametrize("kind", ["struct<x: double, y: array<float>>", "array<double>"])
def test_zero_and_minus_zero_are_one_key_also_inside_another_value(spark: SparkSession, kind: str) -> None:
    nested = {"array<double>": [[0.0], [-0.0]]}.get(kind, [(0.0, [0.0]), (-0.0, [-0.0])])
    rows, first = table(spark, [(nested[0], 1), (nested[1], 2)], f"k {kind}, v int"), table(spark, [(nested[1], 7)], f"k {kind}, n int")
    assert sorted(row.n for row in count(rows).collect()) == [1, 2]
    begun = scan(rows, keys="k", state={"n": F.lit(0)}, update={"n": n() + 1}, output=[n().alias("n")], initial=first)
    assert sorted(row.n for row in begun.collect()) == [7, 8]


def test_a_micro_batch_of_any_size_keeps_the_order_of_arrival(spark: SparkSession) -> None:
    """Two keys, 200,000 records from one reader, through a shuffle: the sort spills nothing of the order."""
    numbers = spark.range(200_000, numPartitions=1).select((F.col("id") % 2).cast("string").alias("k"), F.col("id").alias("v"))
    with MicroBatches(lambda df: count(df).where("n <> floor(v / 2) + 1"), numbers.schema, spark=spark) as stream:
        assert stream.feed(numbers).rows == ()
        assert stream.progress[-1]["numInputRows"] == 200_000


def test_order_columns_take_the_place_of_arrival(spark: SparkSession) -> None:
    rows = table(
        spark,
        """
        k | v:int | place:int
        a | 30    | 3
        a | 10    | 1
        a | 20    | 2
    """,
    )
    assert_table(
        count(rows, order=("place",)).drop("k"),
        """
        v  | n
        10 | 1
        20 | 2
        30 | 3
    """,
    )


def test_what_is_equal_in_order_keeps_the_order_of_arrival(spark: SparkSession) -> None:
    numbers = spark.range(20_000, numPartitions=1).select(F.lit("a").alias("k"), F.col("id").alias("v"), F.lit(1).alias("place"))
    assert count(numbers, order=("place",)).where("n <> v + 1").count() == 0


@each_shape
def test_order_columns_break_the_ties_of_event_time_however_the_records_came(shape: Shape) -> None:
    def operator(df: DataFrame) -> DataFrame:
        by = {"order": "v", "event_time": "ts", "delay": "10 seconds"}
        scanned = scan(df, keys="k", state={"n": F.lit(0)}, update={"n": n() + 1}, output=["k", "v", n()], **by)
        return port(scanned, "main").where("k <> 'z'")

    result = shape.run(
        operator,
        """
        k | v:int | ts:timestamp
        a | 3     | 10:00:00
        a | 1     | 10:00:00
        a | 2     | 10:00:00
    """,
        closing="""
        k | v:int | ts:timestamp
        z | 1     | 11:00:00
    """,
    )
    assert_table(
        result,
        """
        k | v | n
        a | 1 | 0
        a | 2 | 1
        a | 3 | 2
    """,
    )


@each_shape
def test_keys_with_the_same_hash_are_two(shape: Shape) -> None:
    # A null adds nothing to a hash, so these two keys have the same one, and their records come mixed.
    result = shape.run(
        lambda df: count(df, keys=("k", "l")),
        """
        k | l | v:int
        a | - | 1
        - | a | 2
        a | - | 3
        - | a | 4
        a | - | 5
    """,
    )
    assert_table(
        result,
        """
        k | l | v | n
        a | - | 1 | 1
        - | a | 2 | 1
        a | - | 3 | 2
        - | a | 4 | 2
        a | - | 5 | 3
    """,
    )


def test_a_record_that_changes_nothing_writes_nothing(spark: SparkSession) -> None:
    def highest(df: DataFrame) -> DataFrame:
        best = F.greatest("state.best", "v")
        return scan(df, keys="k", state={"best": "int"}, update={"best": best}, output=["k", best.alias("best")])

    with MicroBatches(highest, "k string, v int", spark=spark) as stream:
        written = []
        for value in (5, 3, 7, 7):
            stream.feed([("a", value)])
            written.append(stream.progress[-1]["stateOperators"][0]["numRowsUpdated"])
        assert written == [1, 0, 1, 0]
