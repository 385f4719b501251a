"""The scan: what it carries along and what it gives, in every shape of execution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.kernel.counting import count, each_shape, n

from headrace.errors import DefinitionError
from headrace.kernel.scan import Timer, scan
from headrace.testing.clocks import START
from headrace.testing.microbatches import configured
from headrace.testing.shapes import Shape
from headrace.testing.tables import assert_table, table

pytestmark = pytest.mark.usefixtures("spark")


@each_shape
def test_output_sees_the_state_before_the_record_and_null_is_a_key(shape: Shape) -> None:
    def operator(df: DataFrame) -> DataFrame:
        return scan(
            df,
            keys="k",
            state={"n": F.lit(0), "top": "bigint"},
            update={"n": n() + 1, "top": F.greatest("state.top", "v")},
            output=["k", "v", n().alias("before"), F.col("state.top").alias("top_before")],
        )

    result = shape.run(
        operator,
        """
        k | v:bigint
        a | 1
        b | 9
        a | 3
        - | 4
        a | 2
        - | -
    """,
    )
    assert_table(
        result,
        """
        k | v | before | top_before
        a | 1 | 0      | -
        b | 9 | 0      | -
        a | 3 | 1      | 1
        - | 4 | 0      | -
        a | 2 | 2      | 3
        - | - | 1      | 4
    """,
    )


def second_ring() -> Timer:
    return Timer(at="timestamp_micros(state.n)", when="state.n = 2", forget=True, update={"n": 0}, output=[n().alias("v")])


PLAIN: dict[str, tuple[Callable[[], dict[str, Any]], list[tuple[Any, ...]]]] = {
    "a condition as text": (lambda: {"when": "v > 1"}, [("a", 2, 2)]),
    "a condition that is true": (lambda: {"forget": True}, [("a", 1, 1), ("a", 2, 1)]),
    "a condition that is false": (lambda: {"when": False}, []),
    "a value that is no column": (lambda: {"update": {"n": 5}}, [("a", 1, 1), ("a", 2, 6)]),
    "a null": (lambda: {"update": {"n": None}}, [("a", 1, 1), ("a", 2, None)]),
    "one column by its name": (lambda: {"output": "record.v"}, [(1,), (2,)]),
    "an alarm in text and plain values": (lambda: {"output": ["v"], "timer": second_ring()}, [(1,), (2,), (2,)]),
}  # fmt: skip


@pytest.mark.parametrize("plain", PLAIN)
def test_what_is_no_column_is_taken_for_one(spark: SparkSession, plain: str) -> None:
    options, rows = PLAIN[plain]
    assert [tuple(row) for row in count(table(spark, [("a", 1), ("a", 2)], "k string, v int"), **options()).collect()] == rows


def test_a_star_is_the_record_without_the_state(spark: SparkSession) -> None:
    rows = table(spark, [("a", 7)], "k string, v int")
    options = {"state": {"n": F.lit(0), "m": "int"}, "update": {"n": n() + 1}}
    alarm = Timer(at=F.lit(START), output=["*", F.col("state.n").alias("v")])
    result = scan(rows, keys="k", output=["*", F.struct("*").alias("all"), "state.*"], **options)  # type: ignore[arg-type]
    assert [tuple(row) for row in result.collect()] == [("a", 7, ("a", 7), 0, None)]
    nested = rows.withColumn("n", F.struct("v"))
    assert scan(nested, keys="k", output=["n.*"], **options).collect() == [(7,)]  # type: ignore[arg-type]
    rung = scan(rows, keys="k", output=["*"], timer=alarm, **options)  # type: ignore[arg-type]
    assert [tuple(row) for row in rung.collect()] == [("a", 7), ("a", 1)]


@each_shape
def test_an_array_of_structs_gives_as_many_rows_as_it_has(shape: Shape) -> None:
    def operator(df: DataFrame) -> DataFrame:
        copies = F.transform(F.sequence(F.lit(1), F.col("v")), lambda i: F.struct("k", i.alias("copy"), n().alias("before")))
        return scan(df, keys="k", state={"n": F.lit(0)}, update={"n": n() + 1}, output=F.when(F.col("v") > 0, copies))

    result = shape.run(
        operator,
        """
        k | v:int
        a | 2
        a | 0
        a | 1
    """,
    )
    assert_table(
        result,
        """
        k | copy | before
        a | 1    | 0
        a | 2    | 0
        a | 1    | 2
    """,
    )


@each_shape
def test_when_is_false_or_null_nothing_goes_out_but_the_state_moves_on(shape: Shape) -> None:
    result = shape.run(
        lambda df: count(df, when=F.col("v") % 2 == 0),
        """
        k | v:int
        a | 1
        a | 2
        a | -
        a | 4
    """,
    )
    assert_table(
        result,
        """
        k | v | n
        a | 2 | 2
        a | 4 | 4
    """,
    )


@each_shape
def test_forget_starts_the_key_anew(shape: Shape) -> None:
    result = shape.run(
        lambda df: count(df, forget=F.col("v") == 0),
        """
        k | v:int
        a | 1
        a | 0
        a | 2
        a | 0
    """,
    )
    assert_table(
        result,
        """
        k | v | n
        a | 1 | 1
        a | 0 | 2
        a | 2 | 1
        a | 0 | 2
    """,
    )


@each_shape
def test_the_state_begins_with_the_table_that_is_given(shape: Shape, spark: SparkSession) -> None:
    first = table(
        spark,
        """
        k | n:int
        a | 100
        z | 1
    """,
    )
    result = shape.run(
        lambda df: count(df, initial=first),
        """
        k | v:int
        a | 1
        b | 2
        a | 3
    """,
    )
    assert_table(
        result,
        """
        k | v | n
        a | 1 | 101
        b | 2 | 1
        a | 3 | 102
    """,
    )


def test_names_in_the_table_to_begin_with_are_compared_as_spark_does(spark: SparkSession) -> None:
    rows, first = table(spark, [("a", 1)], "k string, v int"), table(spark, [("a", 100)], "K string, N int")
    assert [row.n for row in count(rows, initial=first).collect()] == [101]
    with configured(spark, {"spark.sql.caseSensitive": "true"}), pytest.raises(DefinitionError, match=r"of the state \(n\): K, N"):
        count(rows, initial=first)


@pytest.mark.parametrize(("kind", "value"), [
    ("double", "v"), ("bigint", "v"), ("decimal(12,2)", "v"), ("double", "float(v)"), ("date", "null"), ("array<bigint>", "array(v, null)"),
    ("struct<x: bigint, y: string>", "named_struct('x', v, 'y', null)"), ("map<string, bigint>", "map('a', v)"),
])  # fmt: skip
def test_a_number_widens_and_null_is_of_every_type(spark: SparkSession, kind: str, value: str) -> None:
    rows = table(spark, [("a", 7), ("a", 7)], "k string, v int")
    result = scan(rows, keys="k", state={"x": kind}, update={"x": F.expr(value)}, output=["v", F.col("state.x").alias("x")]).collect()
    assert [row.x for row in result] == [None, rows.select(F.expr(value).cast(kind).alias("x")).collect()[0].x]
