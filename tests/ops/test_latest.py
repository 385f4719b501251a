"""The newest of another stream of the same key, by arrival and by event time."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.ops.events import EVENTS, at, each_shape

from headrace.errors import DefinitionError
from headrace.kernel.scan import port
from headrace.ops.features import latest, with_features
from headrace.testing.microbatches import MicroBatches
from headrace.testing.shapes import Shape
from headrace.testing.tables import assert_table, table

pytestmark = pytest.mark.usefixtures("spark")


def test_latest_finds_what_another_stream_last_said_of_the_key(spark: SparkSession) -> None:
    places = table(
        spark,
        """
        k | lat:double | at:timestamp
        a | 1          | 10:00:00
        a | 3          | 10:00:30
        a | 2          | 10:00:20
    """,
    )
    events = table(spark, EVENTS).where("v is not null")
    result = with_features(
        events, keys="k", features={"arrived": latest(places, "lat"), "newest": latest(places, "lat", "at", by="at")}
    ).select("k", "v", "arrived.lat", F.col("newest.lat").alias("newest"))
    assert_table(
        result,
        """
        k | v  | lat | newest
        a | 10 | 2   | 3
        a | 30 | 2   | 3
        b | 1  | -   | -
        a | 20 | 2   | 3
        a | 50 | 2   | 3
        a | 7  | 2   | 3
    """,
    )


@pytest.mark.parametrize(("ours", "theirs"), [("int", "bigint"), ("string", "int"), ("int", "string"), ("date", "timestamp")])
def test_the_key_of_the_other_stream_must_fit_that_of_the_records(spark: SparkSession, ours: str, theirs: str) -> None:
    events, places = table(spark, [], f"k {ours}, v int"), table(spark, [], f"k {theirs}, lat double")
    with pytest.raises(DefinitionError) as caught:
        with_features(events, keys="k", features={"at": latest(places, "lat")})
    assert f"'k' is of type {theirs.upper()}, but here of type {ours.upper()}" in caught.value.what
    assert "cast" in caught.value.fix
    assert str(caught.value.where).startswith(__file__)


@pytest.mark.parametrize(("ours", "theirs"), [("bigint", "int"), ("double", "float"), ("decimal(20,2)", "int"), ("string", "string")])
def test_a_narrower_key_of_the_other_stream_becomes_that_of_the_records(spark: SparkSession, ours: str, theirs: str) -> None:
    events, places = table(spark, [("7",)], "k string"), table(spark, [("7", 1.5)], "k string, lat double")
    features = {"at": latest(places.withColumn("k", F.col("k").cast(theirs)), "lat")}
    result = with_features(events.withColumn("k", F.col("k").cast(ours)), keys="k", features=features)
    assert result.schema["k"].dataType.simpleString() == ours
    assert [row["at"].lat for row in result.collect()] == [1.5]


def test_the_time_of_the_other_stream_must_be_of_the_same_kind(spark: SparkSession) -> None:
    events, places = table(spark, [], "k int, ts timestamp"), table(spark, [], "k int, ts timestamp_ntz, lat double")
    with pytest.raises(DefinitionError, match="'ts' is of type TIMESTAMP_NTZ, but here of type TIMESTAMP"):
        with_features(events, keys="k", features={"at": latest(places, "lat")}, event_time="ts")


def test_by_event_time_latest_finds_what_had_been_said_at_the_time_of_the_record(spark: SparkSession) -> None:
    places = table(
        spark,
        """
        k | lat:double | ts:timestamp
        a | 1          | 10:00:03
        a | 2          | 10:00:06
        a | 3          | 10:00:15
    """,
    )
    result = with_features(table(spark, EVENTS), keys="k", features={"at": latest(places, "lat")}, event_time="ts")
    assert_table(
        port(result, "main").select("k", "ts", "at.lat"),
        """
        k | ts       | lat
        a | 10:00:00 | -
        a | 10:00:05 | 1
        b | 10:00:05 | -
        a | 10:00:07 | 2
        a | 10:00:10 | 2
        a | 10:00:20 | 3
    """,
    )


def spent_and_places(df: DataFrame) -> DataFrame:
    """One source as two streams: the records without a place, with the last place of their key up to their time."""
    place = {"at": latest(df.where("place IS NOT NULL"), "place")}
    spent = df.where("place IS NULL").drop("place")
    result = with_features(spent, keys="k", features=place, event_time="ts", delay="10 seconds")
    return result.select("main.k", "main.ts", "main.at.place", "late")


CLOSING = """
    k | ts:timestamp | place
    z | 23:00:00     | -
    z | 23:00:00     | far
"""


@each_shape
def test_at_equal_times_what_the_other_stream_says_comes_first(shape: Shape) -> None:
    result = shape.run(
        spent_and_places,
        """
        k | ts:timestamp | place
        a | 10:00:00     | -
        a | 10:00:01     | north
        a | 10:00:00     | home
        a | 10:00:00     | work
        a | 10:00:01     | -
    """,
        closing=CLOSING,
    )
    assert_table(
        result,
        """
        k | ts       | place | late
        a | 10:00:00 | work  | -
        a | 10:00:01 | north | -
    """,
    )


def test_the_slower_stream_is_not_late_because_the_other_is_ahead(spark: SparkSession) -> None:
    with MicroBatches(spent_and_places, "k string, ts timestamp, place string", spark=spark) as stream:
        early = stream.feed([("a", at(60), None)]) + stream.feed([("a", at(30), "home")])
        assert early.rows == ()
        stream.feed([("a", at(80), "work"), ("a", at(80), None)])
        assert [(row.place, row.late) for row in stream.tick().rows] == [("home", None)]


def test_late_are_the_records_as_they_came_and_none_of_the_other_stream(spark: SparkSession) -> None:
    with MicroBatches(spent_and_places, "k string, ts timestamp, place string", spark=spark) as stream:
        stream.feed([("a", at(60), None), ("a", at(60), "home")])
        late = stream.feed([("a", at(5), None), ("a", at(6), "work")])
    assert [row.late.asDict() for row in late.rows] == [{"k": "a", "ts": at(5).replace(tzinfo=None)}]
