"""Sessions: what joins, in whatever order the records come, and what is late."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import functions as F
from tests.ops.windows.running import CLOSING, SCHEMA, at, seconds, spans, windowed
from tests.ops.windows.test_panes import shown

from headrace.ops.windows import after_watermark, sessions
from headrace.testing.microbatches import MicroBatches
from headrace.testing.results import Result
from headrace.testing.shapes import BATCH, ONE_BATCH, RECORD_PER_BATCH, Shape

pytestmark = pytest.mark.usefixtures("spark")
each_shape = pytest.mark.parametrize("shape", [BATCH, ONE_BATCH, RECORD_PER_BATCH], ids=str)


def run(shape: Shape, records: list[Any], window: Any, **options: Any) -> list[tuple[Any, ...]]:
    result = shape.run(windowed(window, delay="1 hour", **options), records, SCHEMA, closing=CLOSING)
    columns = ["k", "total"] if options.get("by", ("k",)) else ["total"]
    return spans(Result(result.schema, tuple(row for row in result.rows if row.main is None or row.main.total)), *columns)


@each_shape
def test_sessions_of_five_minutes(shape: Shape) -> None:
    """windows.md section 2, worked: by item, and over all."""
    minutes = [("A", 4, 7), ("A", 2, 6), ("B", 5, 9), ("A", 3, 8), ("B", 1, 17)]
    bids = [(item, price, at(60 * minute)) for item, price, minute in minutes]
    assert run(shape, bids, sessions("5 minutes")) == [(360, 780, "A", 9), (540, 840, "B", 5), (1020, 1320, "B", 1)]
    assert run(shape, bids, sessions("5 minutes"), by=()) == [(360, 840, 14), (1020, 1320, 1)]


@each_shape
def test_a_pause_equal_to_the_gap_joins_and_a_longer_one_parts(shape: Shape) -> None:
    """windows.md section 2, Flink's testSessionWindows: at 5500 the fourth record would have joined."""
    records = [("2", v, at(ms / 1000)) for v, ms in [(1, 0), (2, 1000), (3, 2500), (4, 5501), (5, 6000), (5, 6000), (6, 6050)]]
    assert run(shape, records, sessions("3 seconds")) == [(0, 5.5, "2", 6), (5.501, 9.05, "2", 20)]
    records[3] = ("2", 4, at(5.5))
    assert run(shape, records, sessions("3 seconds")) == [(0, 9.05, "2", 26)]


@each_shape
def test_a_record_between_two_sessions_makes_one_of_them(shape: Shape) -> None:
    """windows.md section 2, Kafka's: 10, 12, 20 with a gap of 5, then 16 merges all. Our end has the gap in it."""
    assert run(shape, [("k", 1, at(s)) for s in (10, 12, 20)], sessions("5 seconds")) == [(10, 17, "k", 2), (20, 25, "k", 1)]
    assert run(shape, [("k", 1, at(s)) for s in (10, 12, 20, 16)], sessions("5 seconds")) == [(10, 25, "k", 4)]


@each_shape
def test_each_record_may_bring_its_gap(shape: Shape) -> None:
    records = [("k", 10, at(0)), ("k", 2, at(5)), ("k", 3, at(11)), ("k", 1, at(20)), ("k", 1, at(24)), ("k", 30, at(1)), ("x", -1, at(1))]
    assert run(shape, records, sessions(F.col("v"))) == [(0, 31, "k", 47), ("late", -1)]
    assert run(shape, records[:5], sessions(F.make_dt_interval(secs="v"))) == [
        (0, 10, "k", 12), (11, 14, "k", 3), (20, 21, "k", 1), (24, 25, "k", 1),
    ]  # fmt: skip


def test_a_late_record_is_judged_by_the_session_that_it_joins() -> None:
    """windows.md section 5, sessions. Flink's watermark is one tick less than ours."""
    listed = {"aggregates": lambda: {"values": F.collect_list("v")}}
    gap = sessions("3 seconds")
    with MicroBatches(windowed(gap, **listed), SCHEMA) as stream:
        stream.feed([("a", 1, at(1)), ("a", 2, at(2)), ("z", 0, at(4.999))])
        assert spans(stream.feed([("a", 3, at(4.5))]), "values") == []
        assert spans(stream.feed([("z", 0, at(14.6))]) + stream.tick(), "values") == [(1, 7.5, [1, 2, 3]), (4.999, 7.999, [0])]
    with MicroBatches(windowed(gap, lateness=10_000, trigger=after_watermark(late=1), **listed), SCHEMA) as stream:
        stream.feed([("a", 1, at(11.6)), ("z", 0, at(14.601))])
        assert spans(stream.tick(), "values") == [(11.6, 14.6, [1])]
        assert spans(stream.feed([("a", 2, at(10)), ("b", 2, at(10))]), "values") == [(10, 14.6, [1, 2]), ("late", 2)]
    with MicroBatches(windowed(gap, **listed), SCHEMA) as stream:
        stream.feed([("a", 1, at(11.6)), ("z", 0, at(14.601))])
        assert spans(stream.tick() + stream.feed([("a", 2, at(10))]), "values") == [(11.6, 14.6, [1]), ("late", 2)]


# records 1, 11, 6 with a gap of 10, the watermark at 21, record 3
MERGING = {
    "accumulating": ["1-11 1e0", "11-21 Be0", "1-21 16Be0", "1-21 16Bt1", "1-21 136Bl2"],
    "discarding": ["1-11 1e0", "11-21 Be0", "1-21 6e0", "1-21 t1", "1-21 3l2"],
    "retracting": [
        "1-11 1e0", "11-21 Be0", "1-11 -1e0", "11-21 -Be0", "1-21 16Be0", "1-21 -16Be0", "1-21 16Bt1", "1-21 -16Bt1", "1-21 136Bl2",
    ],
}  # fmt: skip


@pytest.mark.parametrize("panes", MERGING)
def test_panes_of_sessions_that_become_one(panes: str) -> None:
    """windows.md section 7, sessions. There a pause that is equal to the gap parts, so the gap here is a little shorter."""
    operator = windowed(
        sessions("9.999999 seconds"), delay="10 seconds", trigger=after_watermark(early=1, late=1), lateness=30_000_000, accumulation=panes,
        aggregates=lambda: {"values": F.collect_list(F.upper(F.hex("v")))},
    )  # fmt: skip
    with MicroBatches(operator, SCHEMA) as stream:
        feeds = [[("a", 1, at(1))], [("a", 11, at(11))], [("a", 6, at(6))], [("z", 0, at(31))], [], [("a", 3, at(3))]]
        rows = [row for feed in feeds for row in stream.feed(feed).rows if row.main.k != "z"]
    spanned = [f"{round(seconds(row.main.start))}-{round(seconds(row.main.end))}" for row in rows]
    assert [f"{span} {pane}" for span, pane in zip(spanned, shown(rows), strict=True)] == MERGING[panes]
