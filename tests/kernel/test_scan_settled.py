"""Rows that a key puts out when its records of a batch have been taken, and alarms by the clock in a scan by event time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import headrace as hr
from headrace.testing.clocks import ManualClock
from headrace.testing.microbatches import MicroBatches
from headrace.testing.results import Result
from headrace.testing.shapes import BATCH, ONE_BATCH, RECORD_PER_BATCH

pytestmark = pytest.mark.usefixtures("spark")

START = datetime(2026, 1, 1, 10, tzinfo=UTC)
SCHEMA = "k string, at timestamp, n int"


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def summed(df: DataFrame, **options: Any) -> DataFrame:
    total = F.col("state.total")
    row = hr.Port(output=["k", total.alias("total")], when=total > 1)
    return hr.scan(df, keys="k", state={"total": 0}, update={"total": total + F.col("n")}, settled=row, **options)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [(BATCH, [("a", 6), ("b", 4)]), (ONE_BATCH, [("a", 6), ("b", 4)]), (RECORD_PER_BATCH, [("a", 3), ("a", 6), ("b", 4)])],
    ids=str,
)
@pytest.mark.parametrize("options", [{}, {"event_time": "at", "wait": False}], ids=["by arrival", "by event time"])
def test_a_key_settles_once_a_batch(shape: Any, expected: list[Any], options: dict[str, Any]) -> None:
    def operator(df: DataFrame) -> DataFrame:
        return hr.port(summed(df, **options), "main") if options else summed(df)

    records = [("a", at(5), 1), ("a", at(6), 2), ("b", at(7), 4), ("a", at(8), 3)]
    assert sorted(tuple(row) for row in shape.run(operator, records, SCHEMA).rows) == expected


def buffered(df: DataFrame) -> DataFrame:
    """The sum of a key, five seconds of the clock after its first record since the last time; and a last one at ten past."""
    total, first, end = F.col("state.total"), F.col("state.first"), F.col("state.end")
    return hr.scan(
        df, keys="k", state={"total": 0, "first": "timestamp", "end": "timestamp"},
        update={"total": total + F.col("n"), "first": F.coalesce(first, F.col("scan.now")), "end": F.lit(at(600))},
        event_time="at", delay="10 seconds", wait=False,
        clock=hr.Timer(
            at=first + F.expr("INTERVAL 5 SECONDS"), update={"first": F.lit(None).cast("timestamp")},
            output=["k", total.alias("total"), F.lit("clock").alias("by")],
        ),
        timer=hr.Timer(at=end, output=["k", total.alias("total"), F.lit("time").alias("by")], forget=True),
    )  # fmt: skip


def shown(result: Result) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.main) if row.main is not None else ("late", row.late.n) for row in result.rows)


def test_an_alarm_by_the_clock_and_one_by_event_time_ring_each_at_its_time() -> None:
    clock = ManualClock()
    with MicroBatches(buffered, SCHEMA, clock=clock) as stream:
        assert shown(stream.feed([("a", at(0), 1), ("b", at(1), 10)])) == []
        clock.advance("4 seconds")
        assert shown(stream.feed([("b", at(2), 20)])) == []
        clock.advance("1 second")
        assert shown(stream.tick()) == [("a", 1, "clock"), ("b", 30, "clock")]
        clock.advance("1 hour")
        assert shown(stream.tick()) == []
        assert shown(stream.feed([("a", at(3), 2), ("c", at(610), 5)])) == []
        stream.restart()
        assert shown(stream.tick()) == [("a", 3, "time"), ("b", 30, "time"), ("c", 5, "time")]
        assert shown(stream.feed([("a", at(600), 7)])) == [("late", 7)]


def test_what_is_still_set_by_event_time_rings_at_the_end_of_the_input() -> None:
    with MicroBatches(buffered, SCHEMA) as stream:
        stream.feed([("a", at(0), 1)])
        assert shown(stream.finish()) == [("a", 1, "time")]


def test_a_batch_has_no_clock() -> None:
    assert shown(BATCH.run(buffered, [("a", at(0), 1), ("a", at(1), 2)], SCHEMA)) == [("a", 3, "time")]


@pytest.mark.parametrize("options", [{}, {"event_time": "at"}, {"event_time": "at", "wait": False, "time_out": "k"}], ids=str)
def test_an_alarm_by_the_clock_is_refused_where_it_is_not_the_second(options: dict[str, Any]) -> None:
    records = hr.session().createDataFrame([], SCHEMA)
    with pytest.raises(hr.HeadraceError, match=r"scan: clock: .*event_time= and wait=False"):
        summed(records, clock=hr.Timer(at="state.end"), **options)


def kept(df: DataFrame) -> DataFrame:
    """A row puts itself out ten seconds after its time, and again half a minute after it; until then it can be called back."""

    def row(what: str) -> list[Any]:
        return ["k", F.col("bag.n").alias("n"), F.lit(what).alias("what")]

    called = hr.Each(between=("at", "at"), remove=F.col("n") < 0, output=row("called back"), when=F.col("n") < 0)
    waiting = hr.Bag(
        add=["n", "at"], when=F.col("n") > 0, time="at", each=called,
        expire=hr.Expire(after="10 seconds", output=row("first"), into="seen", change={"n": F.col("bag.n") * 100}),
    )  # fmt: skip
    seen = hr.Bag(add=["n", "at"], when=False, time="at", each=called, expire=hr.Expire(after="30 seconds", output=row("last")))
    return hr.scan(
        df,
        keys="k",
        bags={"waiting": waiting, "seen": seen},
        event_time="at",
        wait=False,
        late_after=F.col("at") + F.expr("INTERVAL 1 DAY"),
    )


def test_a_row_that_leaves_a_bag_may_go_over_into_another() -> None:
    with MicroBatches(kept, SCHEMA) as stream:
        stream.feed([("a", at(0), 1), ("a", at(3), 2), ("b", at(0), 5)])
        assert shown(stream.feed([("c", at(12), -1)]) + stream.tick()) == [("a", 1, "first"), ("b", 5, "first")]
        assert shown(stream.feed([("b", at(0), -1), ("b", at(0), -1)])) == [("b", 500, "called back")]
        assert shown(stream.feed([("c", at(30), -1)]) + stream.tick()) == [("a", 2, "first"), ("a", 100, "last")]
        assert shown(stream.finish()) == [("a", 200, "last")]


def test_rows_go_over_only_into_another_bag_of_the_same_columns() -> None:
    records = hr.session().createDataFrame([], SCHEMA)
    bags = {
        "one": hr.Bag(add=["at"], time="at", expire=hr.Expire(after="1 second", into="other", output=["k"])),
        "other": hr.Bag(add=["at", "n"], time="at", expire=hr.Expire(after="1 second")),
    }
    with pytest.raises(hr.HeadraceError, match=r"one\.expire\.into: the rows of 'other' are"):
        hr.scan(records, keys="k", bags=bags, event_time="at")
