"""The origin of a row: the place of the record that it was made of, and which row of it it is, whatever batch it came in."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.kernel.counting import count, each_shape

from headrace.kernel import origins
from headrace.kernel.branches import merge, union
from headrace.kernel.python.mapping import led_past, map_python
from headrace.kernel.scan import Port, Timer, scan
from headrace.ops.features import running, with_features
from headrace.testing.shapes import REAL_TIME, Shape
from headrace.testing.tables import assert_table, table

pytestmark = pytest.mark.usefixtures("spark")
Operator = Callable[[DataFrame], DataFrame]

RECORDS = """
    topic | partition:int | offset:bigint | k | v:int
    t     | 0             | 0             | a | 1
    t     | 0             | 1             | b | 2
    t     | 0             | 2             | a | 3
"""


def up_to_v(df: DataFrame) -> DataFrame:
    """So many rows of each record."""
    return df.select("k", F.explode(F.sequence(F.lit(1), F.col("v"))).alias("v"))


def known(df: DataFrame) -> DataFrame:
    return df.join(F.broadcast(df.sparkSession.createDataFrame([("a", 10), ("a", 20), ("c", 30)], "k string, of int")), "k", "left")


def in_two_ports(df: DataFrame) -> DataFrame:
    """Of each record a row, and two of those that are large."""
    twice = F.array(*(F.struct("k", "v") for _ in range(2)))
    both = count(df, output=["k", "v"], ports={"large": Port(output=twice, when="v > 2")})
    return both.select(F.coalesce("main.v", F.col("large.v") * 10).alias("v"))


def as_outputs(df: DataFrame) -> DataFrame:
    """Two streams of the same records, each its own way."""
    return merge(df, [up_to_v(df).select("v"), df.select(F.col("v") * 10)], outputs=True)


def counted(df: DataFrame) -> DataFrame:
    return with_features(up_to_v(df), keys=["k"], features={"n": running(F.count("*"))}).where("n <> 1").select(F.col("n").alias("v"))


def past_a_scan(df: DataFrame) -> DataFrame:
    """Rows that a scan makes, and others, which pass it by."""
    scanned = count(df.where("v <> 2")).select(F.col("n").cast("int").alias("v"))
    return union(df.where("v = 2").select("v"), scanned, df)


# what is made of the records -> a value and the origin of each row
MADE: dict[str, tuple[Operator, str]] = {
    "select, where": (lambda df: df.where("v <> 2").select("v"), "1 t/0/0, 3 t/0/2"),
    "explode": (lambda df: up_to_v(df).where("v <> 2"), "1 t/0/0/0, 1 t/0/1/0, 1 t/0/2/0, 3 t/0/2/2"),
    "union": (lambda df: df.where("v = 1").union(df.where("v < 3")).select("v"), "1 t/0/0+0, 1 t/0/0+1, 2 t/0/1+1"),
    "a scan": (lambda df: count(df).select(F.col("n").alias("v")), "1 t/0/0, 1 t/0/1, 2 t/0/2"),
    "ports of a scan": (in_two_ports, "1 t/0/0/0, 2 t/0/1/0, 3 t/0/2/0, 30 t/0/2/1, 30 t/0/2/2"),
    "features of what explode gives": (counted, "0 t/0/0/0, 0 t/0/1/0, 2 t/0/2/1, 3 t/0/2/2"),
    "a table": (lambda df: known(df).select(F.coalesce("of", "v").alias("v")), "10 t/0/0/#, 20 t/0/0/#, 2 t/0/1/#, 10 t/0/2/#, 20 t/0/2/#"),
    "several outputs": (as_outputs, "1 t/0/0/0, 1 t/0/1/0, 2 t/0/1/1, 1 t/0/2/0, 2 t/0/2/1, 3 t/0/2/2, 10 t/0/0, 20 t/0/1, 30 t/0/2"),
    "a union with what passes a scan by": (past_a_scan, "2 t/0/1/0, 1 t/0/0/1, 2 t/0/2/1"),
    "flat_map": (
        lambda df: map_python(df, kind="flat_map", function=lambda r: [{"v": 10 * i} for i in range(r["v"])], output="v int"),
        "0 t/0/0/0, 0 t/0/1/0, 10 t/0/1/1, 0 t/0/2/0, 10 t/0/2/1, 20 t/0/2/2",
    ),
    "map of what a scan gives": (
        lambda df: map_python(count(df), kind="map", function=lambda r: {"v": r["n"]}, output="v int"),
        "1 t/0/0/0, 1 t/0/1/0, 2 t/0/2/0",
    ),
}  # fmt: skip
each_operator = pytest.mark.parametrize(("operator", "rows"), MADE.values(), ids=list(MADE))


def of_a_test(operator: Operator) -> Operator:
    """The value and the origin of each row; where Spark may find a table's rows in any order, only that they have numbers of their own."""

    def apply(df: DataFrame) -> DataFrame:
        with led_past():
            rows = origins.shown(operator(df))
        origin = F.regexp_replace("__origin", "^[^/]*", "t")  # in real time Kafka's topic has a name of its own
        return rows.select("v", F.regexp_replace(origin, "/[01]$", "/#") if operator is MADE["a table"][0] else origin)

    return apply


def written(rows: str) -> str:
    return "v | origin\n" + "\n".join(" | ".join(row.split()) for row in rows.split(","))


@each_shape
@each_operator
def test_a_row_has_the_place_of_its_record_and_its_number_among_the_rows_of_it(shape: Shape, operator: Operator, rows: str) -> None:
    assert_table(shape.run(lambda df: of_a_test(operator)(df).toDF("v", "origin"), RECORDS), written(rows))


THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"


@pytest.mark.parametrize("threshold", ["-1", "2000"], ids=["sorted and merged", "the records are the smaller side"])
@pytest.mark.parametrize("first", ["records", "table"])
def test_no_two_rows_have_one_origin_however_large_the_table_is(spark: SparkSession, first: str, threshold: str) -> None:
    """Left to itself Spark would not send the table to every task: rows of one record would come apart."""
    name = F.element_at(F.array(F.lit("a"), F.lit("b"), F.lit("c")), (F.col("id") % 3 + 1).cast("int"))
    records, large = table(spark, RECORDS), spark.range(0, 999, 1, 3).select(name.alias("k"), "id")
    before = str(spark.conf.get(THRESHOLD))
    spark.conf.set(THRESHOLD, threshold)
    try:
        rows = origins.shown(records.join(large, "k") if first == "records" else large.join(records, "k"))
        all_ = [row["__origin"] for row in rows.collect()]
    finally:
        spark.conf.set(THRESHOLD, before)
    assert len({*all_}) == len(all_) == 999


def test_no_hint_is_left_that_spark_would_warn_of_with_each_batch(spark: SparkSession) -> None:
    known = table(spark, "k | of\na | x").hint("broadcast").alias("known")
    plan = origins.shown(table(spark, RECORDS).join(known, "k"))._jdf.queryExecution().analyzed().toString()
    assert "rightHint=(strategy=broadcast)" in plan
    assert "ResolvedHint" not in plan


def test_in_real_time_it_is_the_same() -> None:
    operator, rows = MADE["features of what explode gives"]
    assert_table(REAL_TIME.run(lambda df: of_a_test(operator)(df).toDF("v", "origin"), RECORDS), written(rows))


def alarmed(df: DataFrame) -> DataFrame:
    alarm = Timer(at="state.at", output=[F.lit(1).alias("v")])
    return scan(df, keys="k", state={"at": "timestamp"}, update={}, output=["v"], timer=alarm)


REFUSED: dict[str, tuple[Operator, str]] = {
    "an aggregate": (lambda df: df.groupBy("k").count(), "its rows are not each made of one record"),
    "an alarm": (alarmed, "it has rows of an alarm, which no record makes"),
    "no place": (lambda df: df.drop("offset").localCheckpoint(), "its records have no offset, by which they could be told apart"),
}


@pytest.mark.parametrize(("operator", "reason"), REFUSED.values(), ids=list(REFUSED))
def test_what_is_not_of_one_record_has_no_origin(spark: SparkSession, operator: Operator, reason: str) -> None:
    assert origins.refusal(operator(table(spark, RECORDS))) == reason
