"""Spark's aggregates, taken apart and put together again, give what Spark gives."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import Column, Row, SparkSession
from pyspark.sql import functions as F

from headrace.kernel.folds import Fold

VALUES = [3.0, None, -1.5, 7.25, 7.25, None, 0.0]

AGGREGATES = {
    "count(*)": lambda: F.count("*"),
    "count": lambda: F.count("x"),
    "count_if": lambda: F.count_if(F.col("x") > 0),
    "sum": lambda: F.sum("x"),
    "sum of decimals": lambda: F.sum(F.col("x").cast("decimal(10, 2)")),
    "min": lambda: F.min("x"),
    "max": lambda: F.max("x"),
    "avg": lambda: F.avg("x"),
    "first": lambda: F.first("x"),
    "last": lambda: F.last("x", ignorenulls=True),
    "max_by": lambda: F.max_by("n", "x"),
    "stddev": lambda: F.stddev("x"),
    "var_pop": lambda: F.var_pop("x"),
    "corr": lambda: F.corr("x", "n"),
    "bool_or": lambda: F.bool_or(F.col("x") > 7),
    "approx_count_distinct": lambda: F.approx_count_distinct("x"),
    "percentile_approx, of which the summary has a size": lambda: F.percentile_approx("x", 0.5),
    "approx_top_k": lambda: F.expr("approx_top_k(x, 2, 10)"),
    "approx_top_k of some": lambda: F.expr("approx_top_k(x, 2, 10) FILTER (WHERE n > 1)"),
    "count_min_sketch": lambda: F.expr("count_min_sketch(n, 0.5d, 0.5d, 1)"),
}

GROWING = {
    "count_distinct": lambda: F.count_distinct("x"),
    "count_distinct of two": lambda: F.count_distinct("x", "n"),
    "sum_distinct": lambda: F.sum_distinct("x"),
    "count_distinct of some": lambda: F.expr("count(DISTINCT x) FILTER (WHERE n > 1)"),
    "collect_list": lambda: F.collect_list("x"),
    "collect_set": lambda: F.sort_array(F.collect_set("x")),
    "median": lambda: F.median("x"),
    "percentile_approx": lambda: F.percentile_approx("x", 0.5),
    "mode": lambda: F.mode("x"),
    "collect_list of some": lambda: F.expr("collect_list(x) FILTER (WHERE n > 1)"),
    "quotient": lambda: F.sum("x") / F.count("x") + F.count_distinct("x"),
    "quotient of the same": lambda: F.sum("x") / F.greatest(F.sum("x"), F.lit(1.0)),
}


def struct(columns: list[Column]) -> Column:
    return F.struct(*[column.alias(f"_{i}") for i, column in enumerate(columns)])


def fields(row: Column, number: int) -> list[Column]:
    return [row[f"_{i}"] for i in range(number)]


def folded(fold: Fold, rows: Column) -> Column:
    """What a fold has of an array of its inputs, as a struct of its buffers."""
    size = len(fold.initial)
    return F.aggregate(
        rows, struct(fold.initial), lambda before, row: struct(fold.update(fields(before, size), fields(row, len(fold.inputs))))
    )


@pytest.mark.parametrize("cut", [0, 3, len(VALUES)], ids=["nothing and all", "in the middle", "all and nothing"])
def test_two_parts_merged_have_the_value_of_the_whole(spark: SparkSession, cut: int) -> None:
    df = spark.createDataFrame(list(enumerate(VALUES)), "n int, x double").coalesce(1)
    aggregates = AGGREGATES | GROWING
    folds = {name: Fold(df, aggregate(), growing=name in GROWING) for name, aggregate in aggregates.items()}
    parts = df.agg(*[
        F.collect_list(F.when(side, struct([*fold.inputs, F.lit(0)]))).alias(f"{name} {part}")
        for name, fold in folds.items()
        for part, side in (("a", F.col("n") < cut), ("b", F.col("n") >= cut))
    ])  # fmt: skip

    def merged(name: str, fold: Fold) -> Column:
        a, b = (fields(folded(fold, F.col(f"`{name} {part}`")), len(fold.initial)) for part in ("a", "b"))
        return fold.result(fold.merge(a, b)).alias(name)

    got = parts.select(*[merged(name, fold) for name, fold in folds.items()]).first()
    want = df.agg(*[aggregate().alias(name) for name, aggregate in aggregates.items()]).first()
    for name, value in numbers(want).items():
        near = value if isinstance(value, str | bytes | bytearray) else pytest.approx(value, rel=1e-12)
        assert numbers(got)[name] == near, name


def numbers(row: Row | None) -> dict[str, Any]:
    assert row is not None

    def plain(value: Any) -> Any:
        rows = isinstance(value, list) and any(isinstance(each, Row) for each in value)
        return float(value) if isinstance(value, int | float | Decimal) else str(value) if rows else value

    return {name: plain(value) for name, value in row.asDict().items()}
