"""Features: values of a key as they were before a record came, all in one scan."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.ops.events import EVENTS, each_shape

from headrace.ops.features import Feature, last_n, latest, previous, recent, running, seen_before, since, with_features, within
from headrace.testing.shapes import Shape
from headrace.testing.tables import assert_table, table

pytestmark = pytest.mark.usefixtures("spark")


def features(**wanted: Callable[[], Feature]) -> Callable[[DataFrame], DataFrame]:
    def operator(df: DataFrame) -> DataFrame:
        made = {name: make() for name, make in wanted.items()}
        return with_features(df, keys="k", time="ts", features=made).select("k", "v", *made)

    return operator


@each_shape
def test_running_aggregates_are_of_the_records_before(shape: Shape) -> None:
    operator = features(
        n=lambda: running(F.count("*")), vs=lambda: running(F.count("v")), total=lambda: running(F.sum("v")),
        least=lambda: running(F.min("v")), most=lambda: running(F.max("v")), mean=lambda: running(F.avg("v")),
        first=lambda: running(F.first("v")), last=lambda: running(F.last("v")), ids=lambda: running(F.approx_count_distinct("id")),
    )  # fmt: skip
    assert_table(
        shape.run(operator, EVENTS),
        """
        k | v  | n | vs | total | least | most | mean | first | last | ids
        a | 10 | 0 | 0  | -     | -     | -    | -    | -     | -    | 0
        a | 30 | 1 | 1  | 10    | 10    | 10   | 10   | 10    | 10   | 1
        b | 1  | 0 | 0  | -     | -     | -    | -    | -     | -    | 0
        a | -  | 2 | 2  | 40    | 10    | 30   | 20   | 10    | 30   | 2
        a | 20 | 3 | 2  | 40    | 10    | 30   | 20   | 10    | -    | 2
        a | 50 | 4 | 3  | 60    | 10    | 30   | 20   | 10    | 20   | 3
        a | 7  | 5 | 4  | 110   | 10    | 50   | 27.5 | 10    | 50   | 3
    """,
    )


@each_shape
def test_aggregates_that_spark_writes_as_others_are_features_too(shape: Shape) -> None:
    def large() -> Column:
        return F.col("v") >= 20

    operator = features(
        n=lambda: running(F.count_if(large())), some=lambda: running(F.bool_or(large())), all=lambda: running(F.bool_and(large())),
        any=lambda: running(F.any_value("v", ignoreNulls=True)), pairs=lambda: running(F.regr_count("v", "v")),
        recent=lambda: within("5 seconds", F.count_if(large())), two=lambda: last_n(2, F.bool_or(large())),
    )  # fmt: skip
    assert_table(
        shape.run(operator, EVENTS).select(["k", "v", "n", "some", "all", "any", "pairs", "recent", "two"]),
        """
        k | v  | n | some  | all   | any | pairs | recent | two
        a | 10 | 0 | -     | -     | -   | 0     | 0      | -
        a | 30 | 0 | false | false | 10  | 1     | 0      | false
        b | 1  | 0 | -     | -     | -   | 0     | 0      | -
        a | -  | 1 | true  | false | 10  | 2     | 1      | true
        a | 20 | 1 | true  | false | 10  | 2     | 1      | true
        a | 50 | 2 | true  | false | 10  | 3     | 0      | true
        a | 7  | 3 | true  | false | 10  | 4     | 0      | true
    """,
    )


@each_shape
def test_inclusive_counts_the_record_itself_and_only_counts_some(shape: Shape) -> None:
    operator = features(
        n=lambda: running(F.count("*"), inclusive=True),
        large=lambda: running(F.max("v")).only(F.col("v") < 40),
        spread=lambda: running(F.stddev_pop("v"), inclusive=True),
    )
    expected = """
        k | v  | n | large | spread
        a | 10 | 1 | -     | 0.0
        a | 30 | 2 | 10    | 10.0
        b | 1  | 1 | -     | 0.0
        a | -  | 3 | 30    | 10.0
        a | 20 | 4 | 30    | 8.16496580927726
        a | 50 | 5 | 30    | 14.79019945774904
        a | 7  | 6 | 30    | 15.564061166674975
    """
    assert_table(shape.run(operator, EVENTS), expected, tolerance=1e-12)


@each_shape
def test_inclusive_counts_the_record_itself_only_if_it_meets_the_condition(shape: Shape) -> None:
    large, known = F.col("v") >= 20, F.col("id").isNotNull()
    operator = features(
        running_=lambda: running(F.count("*"), inclusive=True).only(large),
        within_=lambda: within("10 seconds", F.count("*"), inclusive=True).only(large),
        last_n_=lambda: last_n(2, F.sum("v"), inclusive=True).only(large),
        both=lambda: running(F.count("*"), inclusive=True).only(large).only(known),
    )
    assert_table(
        shape.run(
            operator,
            """
        k | v:double | ts:timestamp | id
        a | 5        | 10:00:00     | x
        a | 20       | 10:00:05     | -
        a | 10       | 10:00:06     | x
        a | 30       | 10:00:10     | x
        a | -        | 10:00:12     | x
        a | 40       | 10:00:16     | x
    """,
        ),
        """
        k | v  | running_ | within_ | last_n_ | both
        a | 5  | 0        | 0       | -       | 0
        a | 20 | 1        | 1       | 20      | 0
        a | 10 | 1        | 1       | 20      | 0
        a | 30 | 2        | 2       | 50      | 1
        a | -  | 2        | 2       | 50      | 1
        a | 40 | 3        | 2       | 70      | 2
    """,
    )


@each_shape
def test_previous_counts_records_and_null_is_a_value(shape: Shape) -> None:
    operator = features(one=lambda: previous("v"), two=lambda: previous("v", 2), gap=lambda: since("ts"), grown=lambda: since("v"))
    assert_table(
        shape.run(operator, EVENTS),
        """
        k | v  | one | two | gap | grown
        a | 10 | -   | -   | -   | -
        a | 30 | 10  | -   | 5   | 20
        b | 1  | -   | -   | -   | -
        a | -  | 30  | 10  | 5   | -
        a | 20 | -   | 30  | -3  | -10
        a | 50 | 20  | -   | 13  | 30
        a | 7  | 50  | 20  | -   | -43
    """,
    )


@each_shape
def test_a_window_ends_at_the_record_and_has_both_its_ends(shape: Shape) -> None:
    operator = features(
        n=lambda: within("5 seconds", F.count("*")),
        total=lambda: within("5 seconds", F.sum("v"), keep="1 minute"),
        with_this=lambda: within("5 seconds", F.count("*"), keep="1 minute", inclusive=True),
    )
    assert_table(
        shape.run(operator, EVENTS),
        """
        k | v  | n | total | with_this
        a | 10 | 0 | -     | 1
        a | 30 | 1 | 10    | 2
        b | 1  | 0 | -     | 1
        a | -  | 1 | 30    | 2
        a | 20 | 1 | 30    | 2
        a | 50 | 0 | -     | 1
        a | 7  | 0 | -     | 0
    """,
    )


@each_shape
def test_the_last_n_records_are_aggregated(shape: Shape) -> None:
    operator = features(two=lambda: last_n(2, F.sum("v")), with_this=lambda: last_n(2, F.sum("v"), inclusive=True))
    assert_table(
        shape.run(operator, EVENTS),
        """
        k | v  | two | with_this
        a | 10 | -   | 10
        a | 30 | 10  | 40
        b | 1  | -   | 1
        a | -  | 40  | 30
        a | 20 | 30  | 20
        a | 50 | 20  | 70
        a | 7  | 70  | 57
    """,
    )


@each_shape
def test_a_value_is_seen_before_until_the_newest_time_leaves_it_behind(shape: Shape) -> None:
    operator = features(ten=lambda: seen_before("id", "10 seconds"), minute=lambda: seen_before("id", "1 minute"))
    assert_table(
        shape.run(operator, EVENTS),
        """
        k | v  | ten   | minute
        a | 10 | false | false
        a | 30 | false | false
        b | 1  | false | false
        a | -  | true  | true
        a | 20 | false | false
        a | 50 | false | true
        a | 7  | false | false
    """,
    )


@each_shape
def test_repetitions_and_nulls_move_the_time_on_and_keep_no_value_alive(shape: Shape) -> None:
    result = shape.run(
        features(seen=lambda: seen_before("id", "10 seconds")),
        """
        k | v:double | ts:timestamp | id
        a | 1        | 10:00:00     | x
        a | 2        | 10:00:10     | x
        a | 3        | 10:00:11     | x
        b | 4        | 10:00:00     | x
        b | 5        | 23:00:00     | x
        c | 6        | 10:00:00     | x
        c | 7        | 10:00:11     | -
        c | 8        | 10:00:05     | x
        d | 9        | -            | x
        d | 10       | 10:00:00     | x
        d | 11       | -            | x
    """,
    )
    assert_table(
        result,
        """
        k | v  | seen
        a | 1  | false
        a | 2  | true
        a | 3  | false
        b | 4  | false
        b | 5  | false
        c | 6  | false
        c | 7  | false
        c | 8  | false
        d | 9  | false
        d | 10 | false
        d | 11 | true
    """,
    )


@each_shape
def test_a_window_may_reach_ahead_to_what_came_before_and_is_later(shape: Shape) -> None:
    operator = features(
        both=lambda: within("3 seconds", F.count("*"), ahead="3 seconds"), later=lambda: within("1 second", F.max("v"), ahead="3 seconds"),
        short=lambda: within("3 seconds", F.count("*"), ahead="2 seconds"),
    )  # fmt: skip
    result = shape.run(
        operator,
        """
        k | v:double | ts:timestamp | id
        a | 1        | 10:00:10     | x
        a | 2        | 10:00:13     | x
        a | 3        | 10:00:10     | x
        a | 4        | 10:00:07     | x
        a | 5        | -            | x
        b | 6        | 10:00:10     | x
        b | 7        | 10:00:06.5   | x
    """,
    )
    assert_table(
        result,
        """
        k | v | both | later | short
        a | 1 | 0    | -     | 0
        a | 2 | 1    | -     | 1
        a | 3 | 2    | 2     | 1
        a | 4 | 2    | 3     | 0
        a | 5 | 0    | -     | 0
        b | 6 | 0    | -     | 0
        b | 7 | 0    | -     | 0
    """,
    )


@each_shape
def test_recent_records_are_those_that_no_later_one_has_pushed_out(shape: Shape) -> None:
    result = shape.run(features(ids=lambda: recent("10 seconds", "id"), whole=lambda: recent("5 seconds", "id", "ts")), EVENTS)
    assert [[row.id for row in record.ids] for record in result.rows if record.k == "a"] == [
        [], ["x"], ["x", "y"], ["x", "y", "x"], ["x", "y", "x", "z"], ["x", "y"],
    ]  # fmt: skip
    assert [[row.id for row in record.whole] for record in result.rows if record.k == "a"] == [
        [], ["x"], ["x", "y"], ["y", "x"], ["y", "x", "z"], ["y"],
    ]  # fmt: skip


@each_shape
def test_features_see_the_value_that_others_have_for_this_record(shape: Shape) -> None:
    operator = features(
        new=lambda: running(F.count("*"), inclusive=True).only(~F.col("again")), again=lambda: seen_before("id", "1 hour"),
        most_new=lambda: running(F.max("new")), two=lambda: running(F.count("*")).only("two < 2"), pause=lambda: since("NEW"),
    )  # fmt: skip
    assert_table(
        shape.run(operator, EVENTS),
        """
        k | v  | new | again | most_new | two | pause
        a | 10 | 1   | false | -        | 0   | -
        a | 30 | 2   | false | 1        | 1   | 1
        b | 1  | 1   | false | -        | 0   | -
        a | -  | 2   | true  | 2        | 2   | 0
        a | 20 | 3   | false | 2        | 2   | 1
        a | 50 | 3   | true  | 3        | 2   | 0
        a | 7  | 4   | false | 3        | 2   | 1
    """,
    )


def test_a_feature_that_another_mentions_is_no_part_of_the_record(spark: SparkSession) -> None:
    rows = table(spark, [("a", 1), ("a", 2)], "k string, v int")
    wanted = {"n": running(F.count("*")), "some": running(F.count("*")).only("n > 0"), "before": previous(F.struct("*"))}
    assert [row.before for row in with_features(rows, keys="k", features=wanted).collect()] == [None, ("a", 1)]


def test_late_records_are_as_they_came_where_features_mention_each_other(spark: SparkSession) -> None:
    wanted = {"n": running(F.count("*")), "some": running(F.count("*")).only("n > 0")}
    result = with_features(table(spark, EVENTS), keys="k", features=wanted, event_time="ts")
    assert result.schema["late"].dataType.fieldNames() == ["k", "v", "ts", "id"]
    assert [tuple(row) for row in result.where("main IS NOT NULL AND main.k = 'a'").select("main.v", "main.n", "main.some").collect()] == [
        (10, 0, 0), (30, 1, 0), (20, 2, 1), (None, 3, 2), (50, 4, 3),
    ]  # fmt: skip


def test_columns_may_have_any_name(spark: SparkSession) -> None:
    events = spark.createDataFrame([("a", 1, 2, 3)], "`my key` string, _stream int, `_said_0` int, `a.b` int")
    places = spark.createDataFrame([("a", "Oslo", 4)], "`my key` string, `home city` string, `a.b` int")
    wanted = {"place": latest(places, "home city", "a.b"), "before": previous(F.struct("`a.b`")), "the sum": running(F.sum("_stream"))}
    result = with_features(events, keys="my key", features=wanted).collect()
    assert [tuple(row) for row in result] == [("a", 1, 2, 3, ("Oslo", 4), None, None)]


def test_the_condition_of_only_may_be_text(spark: SparkSession) -> None:
    rows = table(spark, [("a", 1), ("a", 2), ("a", 3)], "k string, v int")
    result = with_features(rows, keys="k", features={"n": running(F.count("*")).only("v > 1").only("v < 3")}).collect()
    assert [row.n for row in result] == [0, 0, 1]


def test_a_star_is_the_record_without_the_state(spark: SparkSession) -> None:
    rows = table(spark, [("a", 1), ("a", 2)], "k string, v int")
    result = with_features(rows, keys="k", features={"n": running(F.count("*")), "before": previous(F.struct("*"))}).collect()
    assert [row.before for row in result] == [None, ("a", 1)]


def test_all_features_of_a_key_share_one_shuffle_and_one_state(spark: SparkSession) -> None:
    plan = features(n=lambda: running(F.count("*")), recent=lambda: within("5 seconds", F.sum("v")), last=lambda: previous("v"))
    text = plan(table(spark, EVENTS))._jdf.queryExecution().executedPlan().toString()
    assert text.count("TransformWithState") == 1
    assert text.count("Exchange") == 1
