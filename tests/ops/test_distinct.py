"""One record where a key has several is what plain Python says it is, and the others are not lost."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from tests.ops.ranking_oracle import Record
from tests.ops.test_ranking import SCHEMA, by_key, made

import headrace as hr
from headrace.errors import DefinitionError
from headrace.fronts.stream import Stream
from headrace.ops import windows
from headrace.ops.distinct import distinct
from headrace.testing.clocks import START
from headrace.testing.microbatches import MicroBatches, Operator
from headrace.testing.recipes import between
from headrace.testing.shapes import BATCH, FINISH, in_parts
from headrace.testing.states import kept_rows

pytestmark = pytest.mark.usefixtures("spark")

SPAN = timedelta(seconds=4)


def first(records: list[Record]) -> list[bool]:
    return [i == 0 for i, _ in enumerate(records)]


def first_within(records: list[Record]) -> list[bool]:
    passed: list[datetime] = []

    def passes(record: Record) -> bool:
        if record.ts is None or (passed and record.ts < passed[-1] + SPAN):
            return False
        passed.append(record.ts)
        return True

    return [passes(record) for record in records]


def last(records: list[Record]) -> list[bool]:
    def newest(i: int, record: Record) -> bool:
        before = [other.ts for other in records[:i] if other.ts is not None]
        return not before or (record.ts is not None and record.ts >= max(before))

    return [newest(i, record) for i, record in enumerate(records)]


def marked(**options: Any) -> Operator:
    """Whether a record is kept, and its number."""
    return lambda df: (
        distinct(df, keys=["k"], **options)
        .selectExpr("main IS NOT NULL AS kept", "coalesce(main.i, again.i) AS i", "coalesce(main, again).k AS k")
        .where("i IS NOT NULL")
    )


ARRIVING = {
    "first": (marked(), first),
    "first within": (marked(within="4 seconds", time="ts"), first_within),
    "last": (marked(keep="last", time="ts"), last),
}


@pytest.mark.parametrize("name", ARRIVING)
def test_as_records_arrive_one_is_kept_or_comes_out_as_a_double(name: str) -> None:
    operator, rule = ARRIVING[name]
    records = made(9)
    groups = {k: [r for r in records if r.k == k] for k in {r.k for r in records}}
    expected = {k: [(kept, r.i, k) for kept, r in zip(rule(group), group, strict=True)] for k, group in groups.items()}
    assert by_key(in_parts(3).run(operator, records, SCHEMA).rows, 2) == expected  # other shapes agree: that is a law


def spans(records: list[Record]) -> list[list[Record]]:
    """In the order of time; the first record opens a span, which has its beginning and not its end."""
    found: list[list[Record]] = []
    for record in sorted(records, key=lambda r: r.ts or datetime.min):  # equal ones stay in the order of arrival
        if found and record.ts is not None and found[-1][0].ts is not None and record.ts < found[-1][0].ts + SPAN:
            found[-1].append(record)
        else:
            found.append([record])
    return found


@pytest.mark.parametrize(("keep", "place"), [("first", 0), ("last", -1)])
def test_by_event_time_one_of_each_span_is_kept(keep: str, place: int) -> None:
    records = [record for record in made(12) if record.ts is not None]
    keys = {record.k for record in records}
    kept = {span[place].i for k in keys for span in spans([r for r in records if r.k == k])}
    expected = sorted((record.i in kept, record.i, str(record.k)) for record in records)
    for shape in (BATCH, FINISH):
        operator = marked(keep=keep, within="4 seconds", event_time="ts", delay="30 seconds")
        rows = shape.run(operator, records, SCHEMA).rows
        assert sorted((row.kept, row.i, str(row.k)) for row in rows) == expected, shape


def test_the_end_of_a_span_is_not_in_it() -> None:
    """The example of the doc comment: 0 4 9 10 11, spans of ten seconds."""
    for keep, seconds in {"first": [0, 10], "last": [9, 11]}.items():

        def operator(df: DataFrame, keep: Any = keep) -> DataFrame:
            return hr.port(distinct(df, keys=["k"], keep=keep, within="10 seconds", event_time="ts"), "main")

        rows = BATCH.run(operator, [("a", START + timedelta(seconds=s)) for s in (0, 4, 9, 10, 11)], "k string, ts timestamp").rows
        assert [row.ts.second for row in rows] == seconds


@pytest.mark.parametrize("keep", ["first", "last"])
def test_a_key_is_forgotten_when_its_span_is_over(keep: Any) -> None:
    def operator(df: DataFrame) -> DataFrame:
        return distinct(df, keys=["k"], keep=keep, within="10 seconds", event_time="ts")

    with MicroBatches(operator, "k string, ts timestamp") as stream:
        sizes = []
        for batch in range(6):
            stream.feed([(f"{batch} {n}", START + timedelta(seconds=20 * batch)) for n in range(10)])
            sizes.append(kept_rows(stream))
        assert max(sizes[2:]) <= sizes[1]


# joins.md, section 6: bids by the minute.
SELLERS = [(5, "s1", 4), (6, "s2", 4), (7, "s1", 2), (8, "s3", 2), (9, "s4", 5), (11, "s3", 2), (13, "s1", 1), (15, "s2", 3), (17, "s5", 6)]
BIDS = [(5, "C", 4), (7, "A", 2), (9, "D", 5), (11, "B", 3), (13, "E", 1), (17, "F", 6)]


def in_every_way(start: Stream, end: Stream, minutes: list[tuple[int, str, int]]) -> list[list[Any]]:
    rows = [(name, price, START + timedelta(minutes=minute)) for minute, name, price in minutes]
    with windows.put_out("append"):
        return [[tuple(row) for row in shape.run(between(start, end), rows, start.schema).rows] for shape in (BATCH, FINISH)]


def test_a_top_of_windows_comes_once_when_they_end() -> None:
    """joins.md, section 6: the three sellers with the highest sums of ten minutes."""
    bids = hr.read.memory("seller string, price int, at timestamp")
    ten = bids.event_time("at", "1 hour").window(hr.tumbling("10 minutes"), by=["seller"])
    best = ten.agg(total=F.sum("price")).key_by("end").top(3, by="total", at="end").select(F.minute("end"), "seller", "total")
    for rows in in_every_way(bids, best, SELLERS):
        assert sorted(rows, key=lambda row: (row[0], -row[2])) == [
            (10, "s1", 6), (10, "s4", 5), (10, "s2", 4), (20, "s5", 6), (20, "s2", 3), (20, "s3", 2)
        ]  # fmt: skip


def test_the_last_record_of_a_window_is_a_top_of_one_by_time() -> None:
    """joins.md, section 6: window dedupe, keep last."""
    bids = hr.read.memory("item string, price int, at timestamp")
    cut = bids.event_time("at", "1 hour").with_columns(end=F.window("at", "10 minutes").getField("end"))
    last = cut.key_by("end").top(1, by="at", at="end").select("item")
    for rows in in_every_way(bids, last, BIDS):
        assert sorted(rows) == [("D",), ("F",)]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"keep": "best"}, "distinct: keep: 'best' is not known"),
        ({"keep": "last"}, "distinct: it is not known which column is the time"),
        ({"within": "1 hour"}, "distinct: it is not known which column is the time"),
        ({"keep": "last", "within": "1 hour", "time": "at"}, "distinct: the last of a span is known when time has passed its end"),
        ({"keep": "last", "time": "k"}, "distinct: the time 'k' is of type string, but a timestamp is needed"),
    ],
)
def test_what_cannot_be_is_refused_at_its_line(options: dict[str, Any], what: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        hr.read.memory("k string, at timestamp").key_by("k").distinct(**options)
    assert refused.value.what == what
    assert str(refused.value.where).startswith(__file__)
