"""Which windows a record is in, and which of them still take it: worked examples of windows.md sections 2 and 5."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.ops.windows.running import CLOSING, SCHEMA, at, spans, windowed
from tests.ops.windows.test_panes import together

from headrace.ops import windows
from headrace.ops.windows import Window, Windowing, after_watermark, cumulating, sessions, sliding, tumbling
from headrace.testing.microbatches import MicroBatches
from headrace.testing.shapes import BATCH, ONE_BATCH, RECORD_PER_BATCH, Shape

pytestmark = pytest.mark.usefixtures("spark")

BIDS = [("k", price, at(60 * minute)) for minute, price in [(5, 4), (7, 2), (9, 5), (11, 3), (13, 1), (17, 6)]]

# minutes after eight, and sums
BID_WINDOWS: dict[str, tuple[Window, list[tuple[int, int, int]]]] = {
    "tumbling": (tumbling("10 minutes"), [(0, 10, 11), (10, 20, 10)]),
    "tumbling, offset": (tumbling("10 minutes", offset="1 minute"), [(1, 11, 11), (11, 21, 10)]),
    "sliding": (sliding("10 minutes", "5 minutes"), [(0, 10, 11), (5, 15, 15), (10, 20, 10), (15, 25, 6)]),
    "cumulating": (
        cumulating("2 minutes", "10 minutes"),
        [(0, 6, 4), (0, 8, 6), (0, 10, 11), (10, 12, 3), (10, 14, 4), (10, 16, 4), (10, 18, 10), (10, 20, 10)],
    ),
}


@pytest.mark.parametrize("shape", [BATCH, ONE_BATCH, RECORD_PER_BATCH], ids=str)
@pytest.mark.parametrize("case", BID_WINDOWS)
def test_the_windows_of_the_bids(case: str, shape: Shape) -> None:
    """windows.md section 2, worked."""
    window, expected = BID_WINDOWS[case]
    result = shape.run(windowed(window, delay="1 hour", mode="append"), BIDS, SCHEMA, closing=CLOSING)
    assert sorted((start / 60, end / 60, total) for start, end, total in spans(result, "total") if start < 3600) == sorted(expected)


@pytest.mark.parametrize(
    ("offset", "start"),
    [("-6 minutes", "23:54"), ("4 minutes", "23:54"), ("-4 minutes", "23:56"), ("6 minutes", "23:56"), ("0 days", "00:00")],
)
@pytest.mark.parametrize("year", [2026, 1066])
def test_an_offset_moves_windows_also_before_1970(offset: str, start: str, year: int, spark: SparkSession) -> None:
    """windows.md section 2, tumbling: 10 minutes at 00:00:04."""
    records = spark.createDataFrame([("k", 1, datetime(year, 1, 2, 0, 0, 4, tzinfo=UTC))], SCHEMA)
    (row,) = windowed(tumbling("10 minutes", offset=offset))(records).select(F.date_format("main.start", "HH:mm").alias("start")).collect()
    assert row.start == start


def late(window: Window, steps: list[Any], **options: Any) -> list[Any]:
    """Records by their milliseconds, and watermarks (Flink's, one less than ours) as text; what comes out of the windows, late ones too."""
    out: list[Any] = []
    with MicroBatches(windowed(window, mode="append", **options), SCHEMA) as stream:
        for step in steps:
            result = stream.feed([("z", 0, at((int(step) + 1) / 1000))] if isinstance(step, str) else [("a", step, at(step / 1000))])
            result += stream.tick() if isinstance(step, str) else stream.nothing
            rows = [row.main or row.late for row in result.rows]
            out += [row.n if "n" in row else ("late", row.v) for row in rows if row.k == "a"]
    return out


TWO_SECONDS = tumbling("2 seconds")
HALF_A_SECOND = {"lateness": 500_000, "trigger": after_watermark(late=1)}
STEPS = [500, "1500", 1300, "2300", 1997, "6000", 1998]

LATE: dict[str, tuple[Window, list[Any], dict[str, Any], list[Any]]] = {
    "no lateness": (TWO_SECONDS, [1000, "1985", 1980, "1999", 1998, 2001, "3999"], {}, [2, ("late", 1998), 1]),
    "purged": (TWO_SECONDS, STEPS, {**HALF_A_SECOND, "accumulation": "discarding"}, [2, 1, ("late", 1998)]),
    "not purged": (TWO_SECONDS, STEPS, HALF_A_SECOND, [2, 3, ("late", 1998)]),
    "sliding": (sliding("3 seconds", "1 second"), ["3000", 2400, "9000"], {}, [1, 1]),
    "sliding, all windows gone": (sliding("3 seconds", "1 second"), ["4999", 2400], {}, [("late", 2400)]),
}


@pytest.mark.parametrize("case", LATE)
def test_late_records(case: str) -> None:
    """windows.md section 5, the four cases."""
    window, steps, options, expected = LATE[case]
    assert late(window, steps, **options) == expected


def test_windows_of_windows_go_by_their_ends() -> None:
    """windows.md section 2: the result of a window is of the last moment in it, so a window of the same length after it is the same."""

    def twice(df: DataFrame) -> DataFrame:
        first = windowed(tumbling("5 seconds"), delay="2 seconds", mode="append")(df).where("main IS NOT NULL").select("main.*")
        again = Windowing(tumbling("10 seconds"), ("k",), "end", timed=True, mode="append")
        return windows.aggregate(first, again, {"windows": F.count("*"), "total": F.sum("total")})

    records = [("a", 1, at(0)), ("a", 2, at(4)), ("a", 4, at(5)), ("a", 8, at(9.9)), ("a", 16, at(10))]
    for shape in (ONE_BATCH, RECORD_PER_BATCH, BATCH):
        result = shape.run(twice, records, SCHEMA, closing=[*CLOSING, ("closing", 0, at(2 * 86400))])
        rows = [
            (row.main.start.timestamp() - at(0).timestamp(), row.main.windows, row.main.total) for row in result.rows if row.main.k == "a"
        ]
        assert sorted(rows) == [(0, 2, 15), (10, 1, 16)], shape


def test_without_a_watermark_windows_never_end_and_what_has_no_time_is_late() -> None:
    operator = windowed(tumbling("10 seconds"), timed=False)
    with MicroBatches(operator, SCHEMA) as stream:
        out = (
            stream.feed([("a", 1, at(1)), ("a", 2, at(2)), ("b", 9, None)])
            + stream.feed([("a", 4, at(100))])
            + stream.feed([("a", 3, at(3))])
        )
        assert spans(out, "total") == [(0, 10, 3), (0, 10, 6), (100, 110, 4), ("late", 9)]


def test_by_the_clock_windows_are_of_when_records_come_and_end_with_it() -> None:
    """windows.md section 2: windows by processing time are the same with the clock for the time."""
    clock: dict[str, Any] = {"on": None, "timed": False, "by_clock": True, "mode": "append", "aggregates": lambda: {"total": F.sum("v")}}
    steps: list[tuple[int, list[Any], list[tuple[str, int]]]] = [  # seconds of the clock, records, windows
        (0, [("a", 1, None)], []),
        (4, [("a", 2, None)], []),
        (5, [], [("sessions", 3)]),
        (1, [("a", 4, None)], [("tumbling", 3)]),
        (10, [], [("sessions", 4), ("tumbling", 4)]),
    ]
    operators = {"tumbling": windowed(tumbling("10 seconds"), **clock), "sessions": windowed(sessions("5 seconds"), **clock)}
    with MicroBatches(together(operators), SCHEMA, partitions=1) as stream:
        for wait, records, expected in steps:
            stream.clock.advance(timedelta(seconds=wait))
            assert sorted((row.name, row.total) for row in stream.feed(records).rows) == expected, (wait, records)
