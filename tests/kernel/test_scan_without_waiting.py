"""A scan by event time that does not wait for the order: rows at once, late records and alarms by event time all the same."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.kernel.scan import port
from headrace.testing.microbatches import MicroBatches
from headrace.testing.results import Result
from headrace.testing.shapes import BATCH, MICRO_BATCH, Shape

pytestmark = pytest.mark.usefixtures("spark")
each_shape = pytest.mark.parametrize("shape", [BATCH, *MICRO_BATCH], ids=str)

START = datetime(2026, 1, 1, 10, tzinfo=UTC)


def totals(df: DataFrame) -> DataFrame:
    """The sum so far of each record's key; the last one a minute after the first record."""
    end, total = F.col("state.end"), F.col("state.total")
    return hr.scan(
        df,
        keys="k",
        state={"total": F.lit(0), "end": "timestamp"},
        update={"total": total + F.col("n"), "end": F.coalesce(end, F.col("at") + F.expr("INTERVAL 1 MINUTE"))},
        output=["k", (total + F.col("n")).alias("total"), F.lit(False).alias("last")],
        event_time="at",
        delay="10 seconds",
        wait=False,
        timer=hr.Timer(at=end, output=["k", total.alias("total"), F.lit(True).alias("last")], forget=F.lit(True)),
    )


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def shown(result: Result) -> list[tuple[object, ...]]:
    return [("late", row.late.n) if row.late is not None else (row.main.k, row.main.total, row.main.last) for row in result.rows]


def test_rows_come_at_once_in_the_order_of_arrival(spark: SparkSession) -> None:
    with MicroBatches(totals, "k string, at timestamp, n int", spark=spark) as stream:
        assert shown(stream.feed([("a", at(5), 1), ("a", at(0), 2), ("a", at(7), 3)])) == [
            ("a", 1, False),
            ("a", 3, False),
            ("a", 6, False),
        ]


def test_what_is_behind_the_watermark_or_has_no_time_is_late(spark: SparkSession) -> None:
    with MicroBatches(totals, "k string, at timestamp, n int", spark=spark) as stream:
        stream.feed([("a", at(30), 1)])
        assert shown(stream.feed([("a", at(20), 2), ("a", None, 3), ("a", at(20.000001), 4)])) == [
            ("late", 2),
            ("late", 3),
            ("a", 5, False),
        ]


def test_an_alarm_rings_when_the_watermark_has_passed_it_also_after_a_restart(spark: SparkSession) -> None:
    with MicroBatches(totals, "k string, at timestamp, n int", spark=spark) as stream:
        stream.feed([("a", at(0), 1), ("b", at(1), 10)])
        assert shown(stream.feed([("a", at(60), 5), ("c", at(70), 0)])) == [("a", 6, False), ("c", 0, False)]
        stream.restart()
        assert shown(stream.tick()) == [("a", 6, True)]
        assert shown(stream.feed([("c", at(100), 0)]) + stream.tick()) == [("c", 0, False), ("b", 10, True)]


def test_a_batch_has_nothing_late_and_every_alarm(spark: SparkSession) -> None:
    records = spark.createDataFrame([("a", at(50), 1), ("a", at(0), 2)], "k string, at timestamp, n int").coalesce(1)
    assert shown(Result.of(totals(records))) == [("a", 1, False), ("a", 3, False), ("a", 3, True)]


CLOSING = [("z", at(1000), 0)]


@each_shape
def test_an_alarm_rings_before_the_first_record_that_is_later(shape: Shape) -> None:
    records = [("a", at(0), 1), ("b", at(69), 10), ("a", at(61), 2), ("a", at(60), 4), ("a", at(62), 8)]
    result = shape.run(
        lambda df: totals(df).where("main.k <> 'z' OR main IS NULL"), records, "k string, at timestamp, n int", closing=CLOSING
    )
    assert [row for row in shown(result) if row[0] == "a"] == [
        ("a", 1, False), ("a", 1, True), ("a", 2, False), ("a", 6, False), ("a", 14, False), ("a", 14, True),
    ]  # fmt: skip


@each_shape
def test_an_idle_key_is_new_for_the_first_record_that_is_later(shape: Shape) -> None:
    def counted(df: DataFrame) -> DataFrame:
        n, options = F.col("state.n"), {"event_time": "at", "delay": "10 seconds", "wait": False, "idle": "5 seconds"}
        return (
            hr.scan(df, keys="k", state={"n": F.lit(0)}, update={"n": n + 1}, output=["k", n.alias("n")], **options)
            .select("main.*")
            .where("k <> 'z'")
        )

    records = [("a", at(2), 1), ("a", at(0), 1), ("b", at(11), 1), ("a", at(7), 1), ("a", at(13), 1), ("a", at(8), 1)]
    result = shape.run(counted, records, "k string, at timestamp, n int", closing=CLOSING)
    assert [row.n for row in result.rows if row.k == "a"] == [0, 1, 2, 0, 1]


def test_a_second_scan_keeps_the_watermark_of_the_first(spark: SparkSession) -> None:
    def twice(df: DataFrame) -> DataFrame:
        seen = {"seen": F.lit(True)}
        first = hr.scan(df, keys="k", state=seen, update={}, output=["record.*"], event_time="at", delay="10 seconds", wait=False)
        return totals(port(first, "main"))

    with MicroBatches(twice, "k string, at timestamp, n int", spark=spark) as stream:
        result = stream.feed([("a", at(0), 1)]) + stream.feed([("b", at(100), 0)])
        assert shown(result + stream.tick() + stream.tick()) == [("a", 1, False), ("b", 0, False), ("a", 1, True)]
