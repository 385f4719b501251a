"""Rows that a key remembers: one more at the end, and those that are too old gone, as Spark's own functions would have it."""

from __future__ import annotations

from itertools import product

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headrace.kernel.expressions.recent_rows import recent
from headrace.testing.microbatches import configured

KIND = "array<struct<id:string,ts:timestamp>>"


@pytest.mark.parametrize("interpreted", [False, True], ids=["compiled", "interpreted"])
def test_recent_rows_are_those_of_filter_and_concat(spark: SparkSession, interpreted: bool) -> None:
    """With nothing, few and more than 64 rows (a second word of null bits), in disorder, with nulls, of several lengths."""
    times: list[list[int | None]] = [[], [5], [9, 1, 5], [None, 3], [4] * 63, [2, 8] * 32, [1, None, 9] * 50]
    cases = [
        ([(f"{n}" * (n % 20), time) for n, time in enumerate(rows)], added, oldest)
        for rows, added, oldest in product(times, [("new", 6), ("", 1), (None, None), None], [None, 0, 4, 100])
    ]
    schema = "rows array<struct<id:string,ts:bigint>>, added struct<id:string,ts:bigint>, oldest bigint"
    table = spark.createDataFrame(cases, schema).select(
        F.transform("rows", lambda row: F.struct(row["id"].alias("id"), F.timestamp_seconds(row["ts"]).alias("ts"))).alias("rows"),
        F.when(F.col("added").isNotNull(), F.struct("added.id", F.timestamp_seconds("added.ts").alias("ts"))).alias("added"),
        F.timestamp_seconds("oldest").alias("oldest"),
    )
    stored = table.repartition(1)  # behind a shuffle arrays are in the form in which a state has them
    more = F.when(F.col("added").isNull(), F.array().cast(KIND)).otherwise(F.array("added"))
    expected = F.coalesce(F.filter(F.concat("rows", more), lambda row: row["ts"] >= F.col("oldest")), F.array().cast(KIND))
    settings = {"spark.sql.codegen.factoryMode": "NO_CODEGEN", "spark.sql.codegen.wholeStage": "false"} if interpreted else {}
    with configured(spark, settings):
        for rows in (table, stored):
            compared = rows.select(
                recent(spark, F.col("rows"), F.col("added"), F.col("oldest"), at="ts").alias("got"), expected.alias("want")
            )
            assert compared.where("got <> want OR got IS NULL").collect() == []
            assert compared.count() == len(cases)
