"""Ports of a scan: rows under several names, what is late and when, and what a step knows of the watermark."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.kernel.counting import count, each_shape, n

from headrace.errors import DefinitionError
from headrace.kernel.scan import Port, Timer, port, scan
from headrace.testing.microbatches import MicroBatches
from headrace.testing.shapes import FINISH, Shape
from headrace.testing.tables import assert_table, table

pytestmark = pytest.mark.usefixtures("spark")

EVENTS = """
    k | v:int | ts:timestamp
    a | 1     | 10:00:01
    a | 20    | 10:00:02
    b | 30    | 10:00:03
    a | 4     | 10:00:04
"""
CLOSING = """
    k | v:int | ts:timestamp
    z | 0     | 23:00:00
"""


def sorted_out(df: DataFrame) -> DataFrame:
    """Large values from a port of their own, two rows each, and small ones from the main one."""
    twice = F.array(*(F.struct("k", F.col("v"), F.lit(i).alias("copy")) for i in (1, 2)))
    return count(df, when="v < 10", ports={"large": Port(output=twice, when="v >= 10")})


@each_shape
@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("main", "k | v | n\na | 1 | 1\na | 4 | 3"),
        ("large", "k | v  | copy\na | 20 | 1\na | 20 | 2\nb | 30 | 1\nb | 30 | 2"),
    ],
)
def test_a_port_has_its_own_rows_and_columns(shape: Shape, name: str, rows: str) -> None:
    assert_table(shape.run(lambda df: port(sorted_out(df), name), EVENTS), rows)


def test_each_row_is_of_exactly_one_port(spark: SparkSession) -> None:
    rows = sorted_out(table(spark, EVENTS)).collect()
    assert [sum(value is not None for value in row) for row in rows] == [1] * 6


@each_shape
def test_records_and_alarms_may_put_out_to_the_same_port(shape: Shape) -> None:
    def operator(df: DataFrame) -> DataFrame:
        alarm = Timer(at="state.at", ports={"log": Port(output=["k", F.lit("rang").alias("what")])}, forget=True)
        scanned = scan(
            df, keys="k", state={"at": "timestamp"}, update={"at": F.col("ts") + F.expr("interval 1 hour")}, event_time="ts",
            delay="10 seconds", ports={"log": Port(output=["k", F.lit("came").alias("what")])}, timer=alarm,
        )  # fmt: skip
        return port(scanned, "log").where("k = 'b'")

    assert_table(shape.run(operator, EVENTS, closing=CLOSING), "k | what\nb | came\nb | rang")


# when records come at 10:00:40 and the watermark is at 10:00:30: what is late
LATENESS = {
    "by its own time": (None, [20, 29, 30]),
    "ten seconds later": ("ts + interval 10 seconds", [20]),
    "at the end of its minute": ("date_trunc('minute', ts) + interval 1 minute", []),
    "if it is null": ("if(v = 29, null, ts + interval 1 hour)", [29]),
}


@pytest.mark.parametrize("wait", [True, False], ids=["waiting", "at once"])
@pytest.mark.parametrize("case", LATENESS)
def test_a_record_is_late_when_late_after_is_not_after_the_watermark(case: str, wait: bool) -> None:
    late_after, late = LATENESS[case]

    def operator(df: DataFrame) -> DataFrame:
        return count(df, event_time="ts", delay="10 seconds", late_after=late_after, wait=wait, output=["v"])

    with MicroBatches(operator, "k string, v int, ts timestamp") as stream:
        stream.feed("k | v:int | ts:timestamp\na | 40 | 10:00:40")
        stream.tick()
        rows = stream.feed("k | v:int | ts:timestamp\na | 20 | 10:00:20\na | 29 | 10:00:29\na | 30 | 10:00:30\na | 31 | 10:00:31")
        rows += stream.feed(CLOSING) + stream.tick()
    assert sorted(row.late.v for row in rows.rows if row.late is not None) == late
    taken = {row.main.v for row in rows.rows if row.main is not None}
    assert {20, 29, 30, 31} - taken == set(late)


def test_when_the_input_has_ended_a_step_sees_a_watermark_that_is_behind_all_time() -> None:
    def operator(df: DataFrame) -> DataFrame:
        return port(count(df, event_time="ts", delay="10 seconds", output=["v", F.col("scan.watermark").alias("watermark")]), "main")

    rows = FINISH.run(operator, "k | v:int | ts:timestamp\na | 1 | 10:00:00\na | 2 | 10:00:40\nb | 3 | 10:00:50").rows
    (end,) = {row.watermark for row in rows if row.v > 1}
    assert end.replace(tzinfo=UTC) == datetime(9999, 12, 31, tzinfo=UTC)


def test_a_step_sees_the_watermark_and_in_a_batch_it_is_before_all_time(spark: SparkSession) -> None:
    def operator(df: DataFrame) -> DataFrame:
        seen = F.date_format("scan.watermark", "yyyy HH:mm:ss").alias("watermark")
        return port(count(df, event_time="ts", delay="10 seconds", wait=False, output=["v", seen]), "main")

    schema = "k string, v int, ts timestamp"
    with MicroBatches(operator, schema) as stream:
        first = stream.feed("k | v:int | ts:timestamp\na | 1 | 10:00:40")
        second = stream.feed("k | v:int | ts:timestamp\na | 2 | 10:00:50")
    before_all = "0001 00:00:00"
    assert [(row.v, row.watermark) for row in first.rows] == [(1, before_all)]
    assert [(row.v, row.watermark[5:]) for row in second.rows] == [(2, "10:00:30")]
    batch = operator(table(spark, "k | v:int | ts:timestamp\na | 1 | 10:00:40"))
    assert [(row.v, row.watermark) for row in batch.collect()] == [(1, before_all)]


WRONG: dict[str, tuple[dict[str, object], str]] = {
    "a port that there is anyway": ({"ports": {"late": Port(output=["k"])}}, "ports: 'late' is a port that scans have anyway"),
    "no Port": ({"ports": {"x": ["k"]}}, "ports.x: ['k'] is no Port"),
    "a column that is not there": ({"ports": {"x": Port(output=["nothing"])}}, "ports.x.output: there is no column 'nothing'"),
    "late_after without a time": ({"late_after": "ts"}, "late_after: says when a record is late, which only event_time makes it"),
    "late_after that is no time": (
        {"event_time": "ts", "late_after": "v"},
        "late_after: it is of type INT, but a timestamp is needed",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_a_port_or_a_time_is_refused_where_it_is_defined(case: str, spark: SparkSession) -> None:
    options, what = WRONG[case]
    with pytest.raises(DefinitionError) as refused:
        count(table(spark, EVENTS), **options)
    assert refused.value.what.startswith(f"scan: {what}")
    assert str(refused.value.where).startswith(__file__) or "counting.py" in str(refused.value.where)


def test_several_counts_of_one_record_are_of_one_state(spark: SparkSession) -> None:
    """A record that goes to two ports changes the state once."""
    both = count(table(spark, EVENTS), output=["k", n().alias("n")], ports={"also": Port(output=["k", n().alias("n")])})
    numbers = {name: sorted((row.k, row.n) for row in port(both, name).collect()) for name in ("main", "also")}
    assert numbers["main"] == numbers["also"] == [("a", 0), ("a", 1), ("a", 2), ("b", 0)]
