"""What is made of bags: joins, sessions, partial matches."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.kernel.bagged import AFTER, BEFORE, GAP, assert_same, interval_join, main, nearest_quote, next_quote, rises, seconds, sessions
from tests.kernel.counting import each_shape

from headrace.testing.clocks import START
from headrace.testing.shapes import BATCH, Shape, random_cuts
from headrace.testing.tables import assert_table, table

pytestmark = pytest.mark.usefixtures("spark")
SIDES = """
    k | left:boolean | v:double | ts:timestamp
    a | true         | 1        | 10:00:01
    a | false        | 10       | 10:00:04
    b | true         | 5        | 10:00:04
    a | true         | 2        | 10:00:04
    a | false        | 11       | 10:00:02
    a | false        | 12       | 10:00:04.000001
    a | true         | 3        | 10:00:20
    b | false        | 50       | 10:00:15
    c | true         | 6        | 10:00:16
    c | false        | 60       | 10:00:14
    c | false        | 61       | 10:00:13.999999
    c | true         | 7        | 10:00:15
"""
CLOSING = """
    k | left:boolean | v:double | ts:timestamp
    z | true         | 0        | 23:00:00
"""


def joined_by_spark(df: DataFrame, how: str) -> DataFrame:
    lefts = df.where("left").select(F.col("k").alias("lk"), F.col("v").alias("l"), F.col("ts").alias("lt"))
    rights = df.where("NOT left").select(F.col("k").alias("rk"), F.col("v").alias("r"), F.col("ts").alias("rt"))
    near = F.col("rt").between(F.col("lt") - seconds(BEFORE), F.col("lt") + seconds(AFTER))
    joined = lefts.join(rights, (F.col("lk") == F.col("rk")) & near, how)
    if how in ("semi", "anti"):
        return joined.select(F.col("lk").alias("k"), "l", F.lit(None).cast("double").alias("r"))
    return joined.select(F.coalesce("lk", "rk").alias("k"), "l", "r")


@pytest.mark.parametrize("shape", [BATCH, random_cuts(8)], ids=str)
@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
def test_an_interval_join_is_two_bags(spark: SparkSession, shape: Shape, how: str) -> None:
    assert_same(shape.run(lambda df: main(interval_join(df, how)), SIDES, closing=CLOSING), joined_by_spark(table(spark, SIDES), how))


@each_shape
def test_a_join_that_does_not_wait_gives_the_same_rows(spark: SparkSession, shape: Shape) -> None:
    result = shape.run(lambda df: main(interval_join(df, "full", wait=False)), SIDES, closing=CLOSING)
    assert_same(result, joined_by_spark(table(spark, SIDES), "full"))


@pytest.mark.parametrize("shape", [BATCH, random_cuts(8)], ids=str)
def test_sessions_in_any_order_are_those_of_spark(spark: SparkSession, shape: Shape) -> None:
    records = """
        k | v:double | ts:timestamp
        a | 1        | 10:00:00
        a | 2        | 10:00:09
        b | 1        | 10:00:02
        a | 3        | 10:00:04.5
        a | 4        | 10:00:20
        a | 5        | 10:00:16
        b | 2        | 10:00:18
        a | 6        | 10:00:01
    """
    window = F.session_window("ts", f"{GAP} seconds")
    ends = F.col("session_window.end") - seconds(GAP)
    by_spark = table(spark, records).groupBy("k", window).agg(F.stddev("v").alias("value"))
    expected = by_spark.select("k", F.col("session_window.start").alias("start"), ends.alias("end"), "value")
    closing = [("z", 0.0, START + timedelta(days=1))]
    result = shape.run(lambda df: main(sessions(df, F.stddev("v"))), records, closing=closing)
    assert_same(result, expected, tolerance=1e-9)


@each_shape
def test_an_as_of_join_that_looks_forward_keeps_what_waits_for_its_partner(shape: Shape) -> None:
    records = """
        k | left:boolean | v:double | ts:timestamp
        a | true         | 1        | 10:00:01
        a | true         | 2        | 10:00:02
        a | false        | 10       | 10:00:04
        a | false        | 11       | 10:00:04.5
        a | true         | 3        | 10:00:05
        a | false        | 12       | 10:00:08.000001
    """
    assert_table(
        shape.run(lambda df: main(next_quote(df)), records, closing=CLOSING),
        """
        k | l | r
        a | 1 | 10
        a | 2 | 10
        a | 3 |
    """,
    )


@each_shape
def test_an_as_of_join_takes_the_nearest_and_of_two_equally_near_the_earlier(shape: Shape) -> None:
    records = """
        k | left:boolean | v:double | ts:timestamp
        a | true         | 1        | 10:00:01
        a | true         | 5        | 10:00:05
        a | true         | 10       | 10:00:10
        a | false        | 10       | 10:00:01
        a | false        | 20       | 10:00:02
        a | false        | 30       | 10:00:03
        a | false        | 60       | 10:00:06
        a | false        | 70       | 10:00:07
        b | false        | 11       | 10:00:10
        b | true         | 1        | 10:00:11
        b | false        | 12       | 10:00:12
        b | false        | 13       | 10:00:12
        b | true         | 2        | 10:00:11.000001
        b | true         | 3        | 10:00:15
        b | true         | 4        | 10:00:15.000001
        b | true         | 5        | 10:00:18
        b | false        | 14       | 10:00:21
        b | false        | 15       | 10:00:21
        b | true         | 6        | 10:00:12
    """
    assert_table(
        shape.run(lambda df: main(nearest_quote(df)), records, closing=CLOSING),
        """
        k | l  | r
        a | 1  | 10
        a | 5  | 60
        a | 10 | 70
        b | 1  | 11
        b | 2  | 13
        b | 6  | 13
        b | 3  | 13
        b | 4  |
        b | 5  | 15
    """,
    )


@each_shape
def test_partial_matches_of_a_pattern_go_on_and_stay(shape: Shape) -> None:
    records = """
        k | left:boolean | v:double | ts:timestamp
        a | true         | 1        | 10:00:01
        a | true         | 1        | 10:00:02
        a | true         | 2        | 10:00:03
        a | true         | 9        | 10:00:04
        a | true         | 2        | 10:00:05
        a | true         | 3        | 10:00:11
        a | true         | 3        | 10:00:12
    """
    assert_table(
        shape.run(lambda df: main(rises(df)), records, closing=CLOSING),
        """
        k | path
        a | 01 03 11
        a | 01 05 11
        a | 02 03 11
        a | 02 05 11
        a | 02 03 12
        a | 02 05 12
    """,
    )
