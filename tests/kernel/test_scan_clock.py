"""A scan by the clock: alarms and expiry, with a clock of the tests' own."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.kernel.counting import count, n

from headrace.kernel.scan import Timer, scan
from headrace.testing.clocks import START
from headrace.testing.microbatches import MicroBatches
from headrace.testing.states import kept_rows
from headrace.testing.tables import assert_table, table

pytestmark = pytest.mark.usefixtures("spark")


def test_a_processing_time_alarm_rings_when_the_clock_has_passed_it(spark: SparkSession) -> None:
    def operator(df: DataFrame) -> DataFrame:
        return scan(
            df,
            keys="k",
            state={"at": "timestamp"},
            update={"at": F.col("at")},
            output=["k", F.lit("set").alias("what")],
            timer=Timer(at=F.col("state.at"), output=["k", F.lit("rang").alias("what")], forget=F.lit(True)),
        )

    with MicroBatches(operator, table(spark, [], "k string, at timestamp").schema, spark=spark) as stream:
        now = stream.clock.now
        rows = spark.createDataFrame([("a", now)], "k string, at timestamp").withColumn("at", F.col("at") + F.expr("interval 10 seconds"))
        assert [row.what for row in stream.feed(rows).rows] == ["set"]
        stream.clock.advance("9 seconds")
        assert [row.what for row in stream.tick().rows] == []
        stream.clock.advance("2 seconds")
        assert [row.what for row in stream.tick().rows] == ["rang"]
        stream.clock.advance("60 seconds")
        assert [row.what for row in stream.tick().rows] == []


def test_idle_by_the_clock_forgets_a_key_in_a_stream(spark: SparkSession) -> None:
    with MicroBatches(lambda df: count(df, idle="10 seconds"), table(spark, [], "k string, v int").schema, spark=spark) as stream:
        assert [row.n for row in stream.feed(table(spark, [("a", 1), ("a", 2)], "k string, v int")).rows] == [1, 2]
        stream.clock.advance("9 seconds")
        assert [row.n for row in stream.feed(table(spark, [("a", 3)], "k string, v int")).rows] == [3]
        stream.clock.advance("11 seconds")
        assert [row.n for row in stream.feed(table(spark, [("a", 4)], "k string, v int")).rows] == [1]


def ringing(df: DataFrame, **more: object) -> DataFrame:
    """Rings at the record's time `at`; a record without a value forgets the key."""
    alarm = Timer(at=F.col("state.at"), output=["k", F.lit("rang").alias("what")])
    options = {"state": {"at": "timestamp"}, "update": {"at": F.col("at")}, "output": ["k", F.lit("set").alias("what")]}
    return scan(df, keys="k", timer=alarm, forget=F.col("v").isNull(), **options, **more)  # type: ignore[arg-type]


def test_a_batch_begins_with_a_table_and_rings_for_its_keys_that_have_a_record(spark: SparkSession) -> None:
    rows = "k string, v int, at timestamp"
    first = table(spark, [("a", START), ("never comes", START)], "k string, at timestamp")
    result = ringing(table(spark, [("a", 1, START), ("b", 1, None)], rows), initial=first)
    assert_table(
        result,
        """
        k | what
        a | set
        a | rang
        b | set
    """,
    )


def test_an_alarm_of_the_table_to_begin_with_rings_in_a_stream(spark: SparkSession) -> None:
    first = table(spark, [("never comes", START)], "k string, at timestamp")
    with MicroBatches(lambda df: ringing(df, initial=first), "k string, v int, at timestamp", spark=spark) as stream:
        stream.clock.advance("1 second")
        rang = stream.tick() + stream.tick()
        assert [(row.k, row.what) for row in rang.rows] == [("never comes", "rang")]


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_forgotten_key_rings_for_the_same_time_again_however_the_stream_is_cut(spark: SparkSession, cut: int) -> None:
    with MicroBatches(ringing, "k string, v int, at timestamp", spark=spark) as stream:
        soon = stream.clock.now + timedelta(seconds=1)
        stream.feed([("a", 1, soon)])
        stream.clock.advance("2 seconds")
        assert [row.what for row in stream.tick().rows] == ["rang"]
        records = [("a", 1, soon), ("a", None, soon), ("a", 1, soon)]
        parts = [records[start : start + cut] for start in range(0, len(records), cut)]
        result = sum((stream.feed(part) for part in parts), stream.nothing) + stream.tick()
        assert [row.what for row in result.rows] == ["set", "set", "set", "rang"]


def test_a_key_forgotten_by_the_clock_leaves_nothing_behind(spark: SparkSession) -> None:
    with MicroBatches(lambda df: ringing(df, idle="10 seconds"), "k string, v int, at timestamp", spark=spark) as stream:
        stream.feed([("a", 1, stream.clock.now + timedelta(seconds=5))])
        stream.clock.advance("6 seconds")
        assert [row.what for row in stream.tick().rows] == ["rang"]
        stream.clock.advance("11 seconds")
        stream.tick()
        assert kept_rows(stream) == 0


def test_an_alarm_that_rings_does_not_keep_an_idle_key_alive(spark: SparkSession) -> None:
    """It rings every four seconds by the clock; ten seconds after its last record the key is forgotten all the same."""
    again = F.col("state.at") + F.expr("interval 4 seconds")
    alarm = Timer(at=F.col("state.at"), update={"at": again}, output=["k", F.lit("rang").alias("what"), n().alias("n")])

    def operator(df: DataFrame) -> DataFrame:
        options = {"state": {"n": F.lit(0), "at": "timestamp"}, "update": {"n": n() + 1, "at": F.col("at")}, "idle": "10 seconds"}
        return scan(df, keys="k", timer=alarm, output=["k", F.lit("set").alias("what"), n().alias("n")], **options)  # type: ignore[arg-type]

    with MicroBatches(operator, "k string, at timestamp", spark=spark) as stream:
        soon = stream.clock.now + timedelta(seconds=4)
        stream.feed([("a", soon)])
        rang = []
        for _ in range(8):
            stream.clock.advance("2 seconds")
            rang.append(len(stream.tick().rows))
        assert rang == [0, 1, 0, 1, 0, 0, 0, 0]
        assert kept_rows(stream) == 0


@pytest.mark.parametrize(("pause", "rows"), [("9 seconds", [("set", 1)]), ("10 seconds", [("rang", 1), ("set", 0)])])
def test_a_key_that_was_idle_is_new_for_a_record_that_comes_before_its_expiry_was_looked_at(
    spark: SparkSession, pause: str, rows: list[tuple[str, int]]
) -> None:
    alarm = Timer(at=F.col("state.at"), output=["k", F.lit("rang").alias("what"), n().alias("n")])

    def operator(df: DataFrame) -> DataFrame:
        state = {"state": {"n": F.lit(0), "at": "timestamp"}, "update": {"n": n() + 1, "at": F.col("at")}, "idle": "10 seconds"}
        return scan(df, keys="k", timer=alarm, output=["k", F.lit("set").alias("what"), n().alias("n")], **state)  # type: ignore[arg-type]

    with MicroBatches(operator, "k string, at timestamp", spark=spark) as stream:
        stream.feed([("a", stream.clock.now + timedelta(seconds=5))])
        stream.clock.advance(pause)
        assert [(row.what, row.n) for row in stream.feed([("a", None)]).rows] == rows


def test_an_idle_key_of_the_table_to_begin_with_is_forgotten(spark: SparkSession) -> None:
    first = table(spark, [("never comes", None)], "k string, at timestamp")
    with MicroBatches(lambda df: ringing(df, initial=first, idle="10 seconds"), "k string, v int, at timestamp", spark=spark) as stream:
        stream.tick()
        assert kept_rows(stream) > 0
        stream.clock.advance("11 seconds")
        stream.tick()
        assert kept_rows(stream) == 0
