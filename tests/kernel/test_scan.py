"""The scan: what it carries along, what it gives, and in which order, in every shape of execution."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.errors import DefinitionError
from headrace.kernel.scan import Timer, scan
from headrace.testing.clocks import START
from headrace.testing.microbatches import MicroBatches, configured
from headrace.testing.shapes import BATCH, MICRO_BATCH, Shape
from headrace.testing.states import kept_rows
from headrace.testing.tables import assert_table, table


def n() -> Column:
    return F.col("state.n")


pytestmark = pytest.mark.usefixtures("spark")  # a shape would start a session of its own, before the one that the others ask for
each_shape = pytest.mark.parametrize("shape", [BATCH, *MICRO_BATCH], ids=str)  # in real time it is tested by the laws


def count(df: DataFrame, **more: object) -> DataFrame:
    told: dict[str, object] = {"update": {"n": n() + 1}, "output": ["k", "v", (n() + 1).alias("n")], **more}
    return scan(df, keys="k", state={"n": F.lit(0)}, **told)  # type: ignore[arg-type]


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
    told, rows = PLAIN[plain]
    assert [tuple(row) for row in count(table(spark, [("a", 1), ("a", 2)], "k string, v int"), **told()).collect()] == rows


def test_a_star_is_the_record_without_the_state(spark: SparkSession) -> None:
    rows = table(spark, [("a", 7)], "k string, v int")
    told = {"state": {"n": F.lit(0), "m": "int"}, "update": {"n": n() + 1}}
    alarm = Timer(at=F.lit(START), output=["*", F.col("state.n").alias("v")])
    found = scan(rows, keys="k", output=["*", F.struct("*").alias("all"), "state.*"], **told)  # type: ignore[arg-type]
    assert [tuple(row) for row in found.collect()] == [("a", 7, ("a", 7), 0, None)]
    nested = rows.withColumn("n", F.struct("v"))
    assert scan(nested, keys="k", output=["n.*"], **told).collect() == [(7,)]  # type: ignore[arg-type]
    rung = scan(rows, keys="k", output=["*"], timer=alarm, **told)  # type: ignore[arg-type]
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


EVENTS = """
    k | v:int | ts:timestamp
    a | 1     | 10:00:01
    a | 3     | 10:00:03
    a | 2     | 10:00:02
    b | 1     | 10:00:03
    a | 9     | 10:00:30
    a | 8     | 10:00:25
"""
CLOSING = """
    k | v:int | ts:timestamp
    z | 0     | 23:00:00
"""


@each_shape
def test_event_time_orders_records_behind_the_watermark(shape: Shape) -> None:
    result = shape.run(lambda df: count(df, event_time="ts", delay="10 seconds").where("k <> 'z'").drop("late"), EVENTS, closing=CLOSING)
    assert_table(
        result,
        """
        k | v | n
        a | 1 | 1
        a | 2 | 2
        a | 3 | 3
        b | 1 | 1
        a | 8 | 4
        a | 9 | 5
    """,
    )


def passed_on_by_the_clock(df: DataFrame) -> DataFrame:
    """The records as they are, from a scan that goes by the clock behind a watermark."""
    return count(df.withWatermark("ts", "10 seconds"), idle="1 hour", output=["record.*"])


@each_shape
def test_a_scan_by_event_time_behind_one_by_the_clock_has_a_watermark_of_its_own(shape: Shape) -> None:
    def operator(df: DataFrame) -> DataFrame:
        return count(passed_on_by_the_clock(df), event_time="ts", delay="10 seconds").where("k <> 'z'").drop("late")

    assert_table(
        shape.run(operator, EVENTS, closing=CLOSING),
        """
        k | v | n
        a | 1 | 1
        a | 2 | 2
        a | 3 | 3
        b | 1 | 1
        a | 8 | 4
        a | 9 | 5
    """,
    )


@each_shape
def test_windows_close_behind_a_scan_by_the_clock_and_an_event_time_anew(shape: Shape) -> None:
    def operator(df: DataFrame) -> DataFrame:
        timed = passed_on_by_the_clock(df).withWatermark("ts", "10 seconds")
        return timed.groupBy("k", F.window("ts", "10 seconds")).agg(F.count("*").alias("n")).drop("window")

    assert_table(
        shape.run(operator, EVENTS, closing=CLOSING, output_mode="append"),
        """
        k | n
        a | 3
        b | 1
        a | 1
        a | 1
    """,
    )


def test_what_a_scan_by_the_clock_puts_out_has_no_watermark_and_what_others_put_out_keeps_theirs(spark: SparkSession) -> None:
    timed = spark.readStream.format("rate").load().select(F.lit("a").alias("k"), F.col("timestamp").alias("ts"), F.lit(1).alias("v"))

    def marks(df: DataFrame) -> list[str]:
        return [field.name for field in df.schema if "spark.watermarkDelayMs" in field.metadata]

    ring = Timer(at=F.lit(START))
    clocks = {"idle": {"idle": "1 hour"}, "alarm": {"timer": ring}, "none": {}, "event time": {"event_time": "ts", "wait": False}}
    found = {name: marks(count(timed.withWatermark("ts", "1 hour"), output=["record.*"], **how)) for name, how in clocks.items()}
    assert found == {"idle": [], "alarm": [], "none": ["ts"], "event time": ["ts"]}


@each_shape
def test_a_record_from_before_1970_does_not_hold_up_those_behind_it(shape: Shape) -> None:
    result = shape.run(
        lambda df: count(df, event_time="ts", delay="10 seconds").where("k <> 'z'").drop("late"),
        """
        k | v:int | ts:timestamp
        a | 1     | 1969-12-31 23:59:50
        a | 3     | 1970-01-01 00:00:01
        a | 2     | 1970-01-01 00:00:00
    """,
        closing=CLOSING,
    )
    assert_table(
        result,
        """
        k | v | n
        a | 1 | 1
        a | 2 | 2
        a | 3 | 3
    """,
    )


def quiet_for(pause: str) -> Timer:
    return Timer(
        at=F.col("state.last") + F.expr(f"interval {pause}"),
        update={"n": F.lit(0)},
        output=["k", F.lit("quiet").alias("what"), F.date_format("timer.time", "HH:mm:ss").alias("at"), n().alias("n")],
    )


def with_alarm(df: DataFrame) -> DataFrame:
    return (
        scan(
            df,
            keys="k",
            state={"n": F.lit(0), "last": "timestamp"},
            update={"n": n() + 1, "last": F.col("ts")},
            event_time="ts",
            delay="10 seconds",
            timer=quiet_for("5 seconds"),
            output=["k", F.lit("record").alias("what"), F.date_format("ts", "HH:mm:ss").alias("at"), n().alias("n")],
        )
        .where("k <> 'z'")
        .drop("late")
    )


@each_shape
def test_an_alarm_rings_between_the_records_at_its_own_time(shape: Shape) -> None:
    assert_table(
        shape.run(with_alarm, EVENTS, closing=CLOSING),
        """
        k | what   | at       | n
        a | record | 10:00:01 | 0
        a | record | 10:00:02 | 1
        a | record | 10:00:03 | 2
        a | quiet  | 10:00:08 | 3
        a | record | 10:00:25 | 0
        a | record | 10:00:30 | 1
        a | quiet  | 10:00:35 | 2
        b | record | 10:00:03 | 0
        b | quiet  | 10:00:08 | 1
    """,
    )


@each_shape
def test_a_key_that_was_idle_for_longer_is_new(shape: Shape) -> None:
    result = shape.run(
        lambda df: count(df, event_time="ts", delay="10 seconds", idle="5 seconds").where("k <> 'z'").drop("late"), EVENTS, closing=CLOSING
    )
    assert_table(
        result,
        """
        k | v | n
        a | 1 | 1
        a | 2 | 2
        a | 3 | 3
        b | 1 | 1
        a | 8 | 1
        a | 9 | 2
    """,
    )


def test_what_the_watermark_has_passed_goes_out_as_late(spark: SparkSession) -> None:
    schema = "k string, v int, ts timestamp"
    with MicroBatches(lambda df: count(df, event_time="ts", delay="1 second"), table(spark, [], schema).schema, spark=spark) as stream:
        stream.feed(
            table(
                spark,
                """
            k | v:int | ts:timestamp
            a | 1     | 10:00:30
        """,
                schema,
            )
        )
        late = stream.feed(
            table(
                spark,
                """
            k | v:int | ts:timestamp
            a | 2     | 10:00:29
            a | 3     | -
            a | 4     | 10:00:31
        """,
                schema,
            )
        )
    assert sorted(row.late.v for row in late.rows if row.late is not None) == [2, 3]
    assert [row.v for row in late.rows if row.late is None] == []


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


@pytest.mark.parametrize(("kind", "value"), [
    ("double", "v"), ("bigint", "v"), ("decimal(12,2)", "v"), ("double", "float(v)"), ("date", "null"), ("array<bigint>", "array(v, null)"),
    ("struct<x: bigint, y: string>", "named_struct('x', v, 'y', null)"), ("map<string, bigint>", "map('a', v)"),
])  # fmt: skip
def test_a_number_widens_and_null_is_of_every_type(spark: SparkSession, kind: str, value: str) -> None:
    rows = table(spark, [("a", 7), ("a", 7)], "k string, v int")
    found = scan(rows, keys="k", state={"x": kind}, update={"x": F.expr(value)}, output=["v", F.col("state.x").alias("x")]).collect()
    assert [row.x for row in found] == [None, rows.select(F.expr(value).cast(kind).alias("x")).collect()[0].x]


def ringing(df: DataFrame, **more: object) -> DataFrame:
    """Rings at the record's time `at`; a record without a value forgets the key."""
    alarm = Timer(at=F.col("state.at"), output=["k", F.lit("rang").alias("what")])
    told = {"state": {"at": "timestamp"}, "update": {"at": F.col("at")}, "output": ["k", F.lit("set").alias("what")]}
    return scan(df, keys="k", timer=alarm, forget=F.col("v").isNull(), **told, **more)  # type: ignore[arg-type]


def test_a_batch_begins_with_a_table_and_rings_for_its_keys_that_have_a_record(spark: SparkSession) -> None:
    rows = "k string, v int, at timestamp"
    first = table(spark, [("a", START), ("never comes", START)], "k string, at timestamp")
    found = ringing(table(spark, [("a", 1, START), ("b", 1, None)], rows), initial=first)
    assert_table(
        found,
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
        told = sum((stream.feed(part) for part in parts), stream.nothing) + stream.tick()
        assert [row.what for row in told.rows] == ["set", "set", "set", "rang"]


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
        told = {"state": {"n": F.lit(0), "at": "timestamp"}, "update": {"n": n() + 1, "at": F.col("at")}, "idle": "10 seconds"}
        return scan(df, keys="k", timer=alarm, output=["k", F.lit("set").alias("what"), n().alias("n")], **told)  # type: ignore[arg-type]

    with MicroBatches(operator, "k string, at timestamp", spark=spark) as stream:
        soon = stream.clock.now + timedelta(seconds=4)
        stream.feed([("a", soon)])
        rang = []
        for _ in range(8):
            stream.clock.advance("2 seconds")
            rang.append(len(stream.tick().rows))
        assert rang == [0, 1, 0, 1, 0, 0, 0, 0]
        assert kept_rows(stream) == 0


@pytest.mark.parametrize(("pause", "told"), [("9 seconds", [("set", 1)]), ("10 seconds", [("rang", 1), ("set", 0)])])
def test_a_key_that_was_idle_is_new_for_a_record_that_comes_before_its_expiry_was_looked_at(
    spark: SparkSession, pause: str, told: list[tuple[str, int]]
) -> None:
    alarm = Timer(at=F.col("state.at"), output=["k", F.lit("rang").alias("what"), n().alias("n")])

    def operator(df: DataFrame) -> DataFrame:
        state = {"state": {"n": F.lit(0), "at": "timestamp"}, "update": {"n": n() + 1, "at": F.col("at")}, "idle": "10 seconds"}
        return scan(df, keys="k", timer=alarm, output=["k", F.lit("set").alias("what"), n().alias("n")], **state)  # type: ignore[arg-type]

    with MicroBatches(operator, "k string, at timestamp", spark=spark) as stream:
        stream.feed([("a", stream.clock.now + timedelta(seconds=5))])
        stream.clock.advance(pause)
        assert [(row.what, row.n) for row in stream.feed([("a", None)]).rows] == told


def test_an_idle_key_of_the_table_to_begin_with_is_forgotten(spark: SparkSession) -> None:
    first = table(spark, [("never comes", None)], "k string, at timestamp")
    with MicroBatches(lambda df: ringing(df, initial=first, idle="10 seconds"), "k string, v int, at timestamp", spark=spark) as stream:
        stream.tick()
        assert kept_rows(stream) > 0
        stream.clock.advance("11 seconds")
        stream.tick()
        assert kept_rows(stream) == 0


def test_a_scan_by_event_time_does_not_follow_one_that_puts_out_what_the_watermark_has_passed(spark: SparkSession) -> None:
    def chained(df: DataFrame, **first: object) -> DataFrame:
        told = {"state": {"at": "timestamp"}, "update": {"at": F.col("ts")}, "event_time": "ts"}
        once = scan(df, keys="k", output=["k", "ts"], **told, **first).drop("late")  # type: ignore[arg-type]
        return scan(once, keys="k", output=["ts"], **told)  # type: ignore[arg-type]

    stream = spark.readStream.format("rate").load().select(F.col("timestamp").alias("ts"), F.lit("a").alias("k"))
    for first in ({}, {"wait": False, "timer": Timer(at=F.col("state.at"))}):
        with pytest.raises(DefinitionError, match="a scan by event time that waits or has a timer") as caught:
            chained(stream, **first)
        assert "all in one scan" in caught.value.fix
    chained(stream, wait=False)
    chained(table(spark, [], "k string, ts timestamp"))


def other_state(schema: str) -> DataFrame:
    return table(SparkSession.active(), [], schema)


REFUSED = [
    (lambda: {"state": {}, "update": {}}, "state", "has no field"),
    (lambda: {"update": {"n": F.col("state.m") + 1}}, "update.n", "`state`.`m` cannot be resolved"),
    (lambda: {"update": {"n": F.col("k")}}, "update.n", "is of type STRING, but INT is needed"),
    (
        lambda: {"state": {"n": "timestamp"}, "update": {"n": F.lit(1).cast("bigint")}},
        "update.n",
        "is of type BIGINT, but TIMESTAMP is needed",
    ),
    (lambda: {"state": {"n": "string"}, "update": {"n": F.col("v")}}, "update.n", "is of type INT, but STRING is needed"),
    (lambda: {"state": {"n": "double"}, "update": {"n": F.col("v").cast("bigint")}}, "update.n", "is of type BIGINT, but DOUBLE is needed"),
    (lambda: {"state": {"n": "float"}, "update": {"n": F.col("v")}}, "update.n", "is of type INT, but FLOAT is needed"),
    (lambda: {"state": {"n": "struct<x:int,y:int>"}, "update": {"n": F.struct("v", "v")}}, "update.n", "is of type STRUCT<v: INT"),
    (lambda: {"update": {"m": F.lit(1)}}, "update.m", "is not a field of the state (n)"),
    (lambda: {"update": {"n": F.max("v")}}, "update.n", "looks at more than one record"),
    (lambda: {"update": {"n": F.rand().cast("int")}}, "update.n", "gives another value each time"),
    (lambda: {"update": {"n": F.unix_timestamp(F.current_timestamp()).cast("int")}}, "update.n", "reads the clock"),
    (lambda: {"update": {"n": F.hour(F.expr("localtimestamp()"))}}, "update.n", "reads the clock"),
    (lambda: {"update": {"n": F.udf(lambda v: v, "int")("v")}}, "update.n", "calls a Python function"),
    (lambda: {"update": {"n": F.col("n") + 1}}, "update.n", "`record`.`n` cannot be resolved"),
    (lambda: {"output": ["k", "amount"]}, "output", "`amount` cannot be resolved"),
    (lambda: {"output": ["k", "k"]}, "output", "has two columns named 'k'"),
    (lambda: {"output": [F.explode(F.array("v"))]}, "output", "looks at more than one record"),
    (lambda: {"output": F.col("v")}, "output", "must be one array of structs"),
    (lambda: {"when": "v >"}, "when", "Syntax error"),
    (lambda: {"update": {"n": F.expr("v >")}}, "update.n", "Syntax error"),
    (lambda: {"forget": 3}, "forget", "3 is no condition"),
    (lambda: {"update": {"n": "v + 1"}}, "update.n", "'v + 1' is text"),
    (lambda: {"update": {"n": object}}, "update.n", "is neither a column nor a value"),
    (lambda: {"update": [F.lit(1)]}, "update", "is no dict"),
    (lambda: {"state": "n int"}, "state", "is no dict"),
    (lambda: {"state": {"n": "dubble"}}, "state.n", "'dubble' is no type"),
    (lambda: {"output": ["k", 5]}, "output", "5 is neither a column nor the name of one"),
    (lambda: {"output": None}, "output", "None is neither a column nor the name of one"),
    (lambda: {"keys": F.col("k")}, "key", "is a column, and not the name of one"),
    (lambda: {"keys": ["k", F.col("v")]}, "key", "is a column, and not the name of one"),
    (lambda: {"order": F.col("v")}, "order", "is a column, and not the name of one"),
    (lambda: {"event_time": F.col("v")}, "event_time", "is a column, and not the name of one"),
    (lambda: {"event_time": "t", "delay": 5}, "delay", "5 is no text"),
    (lambda: {"timer": F.col("v")}, "timer", "is no Timer"),
    (lambda: {"timer": Timer(at=3)}, "timer.at", "3 is neither a column nor an expression"),
    (lambda: {"idle": 60}, "idle", "60 is not a duration"),
    (lambda: {"initial": [("a", 1)]}, "initial", "is no DataFrame"),
    (lambda: {"when": F.col("v")}, "when", "is of type INT, but BOOLEAN is needed"),
    (lambda: {"initial": other_state("k string, m int, n int, o int")}, "initial", "neither keys (k) nor fields of the state (n): m, o"),
    (lambda: {"initial": other_state("k string, n int, N int")}, "initial", "two columns named 'n'"),
    (lambda: {"keys": []}, "key", "there is none"),
    (lambda: {"keys": "customer"}, "key", "there is no column 'customer'; there are k, v, m"),
    (lambda: {"keys": "m"}, "key", "cannot be grouped"),
    (lambda: {"order": "place"}, "order", "there is no column 'place'"),
    (lambda: {"order": "m"}, "order", "which has no order"),
    (lambda: {"event_time": "v"}, "event_time", "a timestamp is needed"),
    (lambda: {"timer": Timer(at=F.col("v"), output=["k"])}, "timer.at", "cannot be resolved"),
    (lambda: {"timer": Timer(at=F.col("state.n"), output=["k"])}, "timer.at", "a timestamp is needed"),
    (lambda: {"timer": Timer(at=F.lit(None).cast("timestamp"), output=[F.lit(1).alias("k")])}, "timer.output", "the records' output is"),
]


@pytest.mark.parametrize(("wrong", "part", "reason"), REFUSED, ids=[f"{part}: {reason}" for _, part, reason in REFUSED])
def test_a_wrong_definition_is_refused_where_it_stands(
    spark: SparkSession, wrong: Callable[[], dict[str, object]], part: str, reason: str
) -> None:
    df = table(spark, [], "k string, v int, m map<string,int>")
    arguments = {"keys": "k", "state": {"n": F.lit(0)}, "update": {"n": n() + 1}, "output": ["k"]} | wrong()
    with pytest.raises(DefinitionError) as caught:
        scan(df, **arguments)  # type: ignore[arg-type]
    assert caught.value.what.startswith(f"scan: {part}: ")
    assert reason in caught.value.what
    assert str(caught.value.where).startswith(__file__)


@pytest.mark.parametrize("clock", ["current_time()", "localtimestamp(9)"])
def test_the_clock_is_refused_also_in_types_that_spark_has_to_be_asked_for(spark: SparkSession, clock: str) -> None:
    asked = {"spark.sql.timeType.enabled": "true", "spark.sql.timestampNanosTypes.enabled": "true"}
    with configured(spark, asked), pytest.raises(DefinitionError, match=r"update\.n: reads the clock"):
        count(table(spark, [], "k string, v int"), update={"n": F.expr(f"length(string({clock}))")})
