"""The end of the input: what alarms are still set ring, in a batch as in a stream that is finished."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.errors import DefinitionError, JobError
from headrace.kernel.scan import ScanOptions, Timer, port, scan
from headrace.planning.table import Mode
from headrace.testing.clocks import START
from headrace.testing.shapes import BATCH, FINISH, MICRO_BATCH, Shape
from headrace.testing.tables import assert_table, table

pytestmark = pytest.mark.usefixtures("spark")
each_shape = pytest.mark.parametrize("shape", [BATCH, *MICRO_BATCH, FINISH], ids=str)

EVENTS = """
    k | ts:timestamp
    a | 10:00:01
    b | 10:00:03
    a | 10:00:30
"""

CLOSING = """
    k | ts:timestamp
    z | 23:00:00
"""


def reminded(df: DataFrame, *, times: int | None, **options: Any) -> DataFrame:
    """Every five seconds after the last record of a key, so many times, and only then, there is a row."""
    nth = F.col("state.nth")
    due = F.col("state.last") + F.expr("make_dt_interval(0, 0, 0, 5 * (state.nth + 1))")
    alarm = Timer(
        at=due if times is None else F.when(nth < times, due),
        update={"nth": nth + 1},
        output=["k", F.date_format("timer.time", "HH:mm:ss").alias("at")],
    )
    state, update = {"last": "timestamp", "nth": 0}, {"last": F.col("ts"), "nth": 0}
    scanned = scan(df, keys="k", state=state, update=update, event_time="ts", delay="10 seconds", timer=alarm, **options)
    return port(scanned, "main").where("k <> 'z'")


@each_shape
def test_an_alarm_that_sets_the_next_rings_until_none_is_set(shape: Shape) -> None:
    assert_table(
        shape.run(lambda df: reminded(df, times=3), EVENTS, closing=CLOSING),
        """
        k | at
        a | 10:00:06
        a | 10:00:11
        a | 10:00:16
        b | 10:00:08
        b | 10:00:13
        b | 10:00:18
        a | 10:00:35
        a | 10:00:40
        a | 10:00:45
    """,
    )


@each_shape
def test_an_alarm_that_sets_itself_for_ever_rings_until_the_key_is_idle(shape: Shape) -> None:
    assert_table(
        shape.run(lambda df: reminded(df, times=None, idle="12 seconds"), EVENTS, closing=CLOSING),
        """
        k | at
        a | 10:00:06
        a | 10:00:11
        b | 10:00:08
        b | 10:00:13
        a | 10:00:35
        a | 10:00:40
    """,
    )


@pytest.mark.parametrize("mode", ["batch", "micro-batch"])
def test_an_alarm_that_sets_itself_for_ever_fails_at_the_end_in_words(mode: Mode) -> None:
    beats = hr.read.memory("k string, ts timestamp", [("a", START)])
    reminders = beats.then(lambda df: reminded(df, times=None)).to.callback(lambda rows, batch: None)  # noqa: ARG005
    with pytest.raises(JobError) as failed:
        hr.Job("endless", reminders, trigger=hr.finish).run(mode)
    assert "the timer of a key sets itself again and again: it has rung 100000 times since the input ended" in failed.value.what
    assert failed.value.fix.startswith("give the scan idle=…, or let the timer's `at` become null")


def test_only_the_timer_may_put_out_rows(spark: SparkSession) -> None:
    """Of any form, and without a time: then a batch rings at its end."""
    copies = F.array(F.struct("k", F.lit(1).alias("copy")), F.struct("k", F.lit(2).alias("copy")))
    records = table(spark, [("a", 1), ("a", 2)], "k string, v int")
    rung = scan(records, keys="k", state={"n": 0}, update={"n": F.col("v")}, timer=Timer(at="timestamp_seconds(state.n)", output=copies))
    assert_table(
        rung,
        """
        k | copy
        a | 1
        a | 2
    """,
    )


@pytest.mark.parametrize("timer", [None, Timer(at="timestamp_seconds(state.n)")], ids=["no timer", "a silent timer"])
def test_something_must_put_out_rows(timer: Timer | None, spark: SparkSession) -> None:
    with pytest.raises(DefinitionError) as refused:
        scan(table(spark, [], "k string, v int"), keys="k", state={"n": 0}, update={}, timer=timer)
    assert refused.value.what == "scan: output: there is none, of the records or of a timer: nothing would ever come out"
    assert (refused.value.where or "").startswith(__file__)


@each_shape
def test_what_only_a_timer_puts_out_may_be_many_rows_with_event_time_too(shape: Shape) -> None:
    def operator(df: DataFrame) -> DataFrame:
        alarm = Timer(at="state.at", output=F.transform(F.array(F.lit(1), F.lit(2)), lambda i: F.struct("k", i.alias("copy"))))
        options: ScanOptions = {"state": {"at": "timestamp"}, "update": {"at": F.col("ts")}, "event_time": "ts", "timer": alarm}
        return port(scan(df, keys="k", **options), "main").where("k <> 'z'")

    assert_table(
        shape.run(operator, "k | ts:timestamp\na | 10:00:00", closing=CLOSING),
        """
        k | copy
        a | 1
        a | 2
    """,
    )
