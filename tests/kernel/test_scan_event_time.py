"""A scan by event time: order, lateness, alarms and expiry, in every shape of execution."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.kernel.counting import count, each_shape, n, on_time

from headrace.kernel.scan import Timer, port, scan
from headrace.testing.clocks import START
from headrace.testing.microbatches import MicroBatches
from headrace.testing.shapes import Shape
from headrace.testing.tables import assert_table, table

pytestmark = pytest.mark.usefixtures("spark")


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


# EVENTS in the order of their times, counted by key
COUNTED = """
    k | v | n
    a | 1 | 1
    a | 2 | 2
    a | 3 | 3
    b | 1 | 1
    a | 8 | 4
    a | 9 | 5
"""


@each_shape
def test_event_time_orders_records_behind_the_watermark(shape: Shape) -> None:
    result = shape.run(lambda df: on_time(count(df, event_time="ts", delay="10 seconds")), EVENTS, closing=CLOSING)
    assert_table(result, COUNTED)


@each_shape
def test_a_record_from_before_1970_does_not_hold_up_those_behind_it(shape: Shape) -> None:
    result = shape.run(
        lambda df: on_time(count(df, event_time="ts", delay="10 seconds")),
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
    return on_time(
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
    result = shape.run(lambda df: on_time(count(df, event_time="ts", delay="10 seconds", idle="5 seconds")), EVENTS, closing=CLOSING)
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
    assert [row.main for row in late.rows if row.late is None] == []


def alive_by_minute(df: DataFrame) -> DataFrame:
    """Two scans by event time, one after the other: the minutes in which a key was seen, and how many of these there were before."""
    minute = F.date_trunc("minute", "ts")
    seen = scan(
        df,
        keys="k",
        state={"end": "timestamp", "n": F.lit(0)},
        update={"end": minute + F.expr("interval 1 minute"), "n": n() + 1},
        timer=Timer(at=F.col("state.end"), output=["k", F.col("timer.time").alias("end"), n().alias("n")], forget=True),
        event_time="ts",
        delay="10 seconds",
        time_out="end",
    )
    counted = {"state": {"n": F.lit(0)}, "update": {"n": n() + 1}, "output": ["k", "end", F.col("record.n"), n().alias("before")]}
    return on_time(scan(port(seen, "main"), keys="k", event_time="end", **counted))  # type: ignore[arg-type]


@each_shape
def test_a_scan_by_event_time_may_follow_another(shape: Shape) -> None:
    records = """
        k | v:int | ts:timestamp
        a | 1     | 10:00:30
        b | 1     | 10:00:40
        a | 2     | 10:00:35
        a | 3     | 10:01:30
        b | 2     | 10:01:25
        a | 4     | 10:05:00
    """
    assert_table(
        shape.run(alive_by_minute, records, closing=CLOSING),
        """
        k | end      | n | before
        a | 10:01:00 | 2 | 0
        a | 10:02:00 | 1 | 1
        a | 10:06:00 | 1 | 2
        b | 10:01:00 | 1 | 0
        b | 10:02:00 | 1 | 1
    """,
    )


def passed_on_by_the_clock(df: DataFrame) -> DataFrame:
    """The records as they are, from a scan that goes by the clock behind a watermark."""
    return count(df.withWatermark("ts", "10 seconds"), idle="1 hour", output=["record.*"])


@each_shape
def test_a_scan_by_event_time_behind_one_by_the_clock_has_a_watermark_of_its_own(shape: Shape) -> None:
    def operator(df: DataFrame) -> DataFrame:
        return on_time(count(passed_on_by_the_clock(df), event_time="ts", delay="10 seconds"))

    assert_table(shape.run(operator, EVENTS, closing=CLOSING), COUNTED)


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

    def main(df: DataFrame) -> DataFrame:
        return port(df, "main") if "main" in df.columns else df

    def marks(df: DataFrame) -> list[str]:
        return [field.name for field in df.schema if "spark.watermarkDelayMs" in field.metadata]

    ring = Timer(at=F.lit(START))
    clocks = {"idle": {"idle": "1 hour"}, "alarm": {"timer": ring}, "none": {}, "event time": {"event_time": "ts", "wait": False}}
    marked = {name: marks(main(count(timed.withWatermark("ts", "1 hour"), output=["record.*"], **how))) for name, how in clocks.items()}
    assert marked == {"idle": [], "alarm": [], "none": ["ts"], "event time": ["ts"]}


def test_a_batch_looks_at_its_timers_twice_at_most(spark: SparkSession) -> None:
    def operator(df: DataFrame) -> DataFrame:
        return on_time(count(df, event_time="ts", delay="1 second"))

    with MicroBatches(operator, "k string, v int, ts timestamp", spark=spark, partitions=1) as stream:
        looks = []
        for second in range(0, 60, 10):
            stream.feed([(key, 1, START + timedelta(seconds=second)) for key in "ab"])
            looks.append(int(stream.progress[-1]["stateOperators"][0]["customMetrics"]["numExpiredTimers"]))
        assert max(looks) <= 2, looks
