"""Joins and co-groups by window: Flink's worked example, and a plain-Python oracle on disordered and late records."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from functools import reduce
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.ops.joins.two_streams import SCHEMA, Record, as_text, at, generated, late_rows, pair, read, seconds, streams

import headrace as hr
from headrace.errors import DefinitionError
from headrace.ops import windows
from headrace.ops.joins import windowed
from headrace.ops.joins.sides import Sides, together
from headrace.testing.microbatches import MicroBatches
from headrace.testing.results import Result
from headrace.testing.shapes import BATCH, FINISH, Shape
from headrace.testing.states import kept_rows
from headrace.testing.tables import table

pytestmark = pytest.mark.usefixtures("spark")


def sides(df: DataFrame, delay: str) -> Sides:
    own, other = streams(df, delay)
    return together("join", own, other, ["k"], ("ts", "seen"))


# joins.md, section 2: tumbling windows of five minutes; a record's number is its key's.
MINUTES = [("own", "1", 1, 2), ("own", "2", 2, 6), ("own", "3", 3, 3), ("other", "2", 2, 1), ("other", "3", 3, 4), ("other", "4", 4, 5)]
FLINK: list[Any] = [(side, key, number, at(60 * minute)) for side, key, number, minute in MINUTES]
PAIRS: dict[str, list[tuple[int, str, str]]] = {
    "inner": [(0, "L3", "R3")],
    "left": [(0, "L1", "-"), (0, "L3", "R3"), (5, "L2", "-")],
    "right": [(0, "-", "R2"), (0, "L3", "R3"), (5, "-", "R4")],
    "full": [(0, "-", "R2"), (0, "L1", "-"), (0, "L3", "R3"), (5, "-", "R4"), (5, "L2", "-")],
    "semi": [(0, "L3", "-")],
    "anti": [(0, "L1", "-"), (5, "L2", "-")],
}


def all_joins(df: DataFrame) -> DataFrame:
    five = windows.tumbling("5 minutes")
    return reduce(DataFrame.unionAll, [as_text(windowed.join(sides(df, "1 hour"), five, how), how) for how in windowed.HOW])


def test_pairs_are_of_the_same_window() -> None:
    """joins.md, section 2."""
    result = BATCH.run(all_joins, FLINK, SCHEMA)
    for how, pairs in PAIRS.items():
        rows = [dict(row) for row in read(result, how)["main"]]
        found = [(int(row["start"] // 60), f"L{row['v']}" if "v" in row else "-", f"R{row['o']}" if "o" in row else "-") for row in rows]
        assert sorted(found) == pairs, how


SLIDING = windows.sliding("4 seconds", "2 seconds")


def windows_of(time: datetime) -> list[tuple[datetime, datetime]]:
    origin = at(0)
    assert origin is not None
    last = (time - origin) // timedelta(seconds=2)
    starts = [origin + timedelta(seconds=2 * (last - back)) for back in (0, 1)]
    return [(start, start + timedelta(seconds=4)) for start in starts]


def expected(input: Any, how: str) -> list[tuple[Any, ...]]:
    """Of each window and key the records that came before it ended, in pairs or alone."""
    groups: dict[Any, tuple[list[Record], list[Record]]] = defaultdict(lambda: ([], []))
    for record, watermark in input:
        for window in windows_of(record[3]):
            if watermark is None or window[1] > watermark:
                groups[window, record[1]][record[0] == "other"].append(record)
    rows = []
    for (window, key), (own, others) in groups.items():
        met = bool(own and others and key is not None)
        pairs: list[tuple[Record | None, Record | None]] = [(one, two) for one in own for two in others] if met else []
        pairs += [(one, None) for one in own if not met and how == "full"] + [(None, two) for two in others if not met and how == "full"]
        if how in ("semi", "anti"):
            pairs = [(one, None) for one in own if met == (how == "semi")]
        borders = [(name, seconds(("", None, 0, border))) for name, border in zip(("start", "end"), window, strict=True)]
        rows += [(*borders, *pair(*both)) for both in pairs]
    return sorted(rows, key=repr)


HOWS = ("full", "anti")


def in_sliding_windows(df: DataFrame) -> DataFrame:
    return reduce(DataFrame.unionAll, [as_text(windowed.join(sides(df, "4 seconds"), SLIDING, how), how) for how in HOWS])


def test_every_window_has_what_came_before_it_ended(spark: SparkSession) -> None:
    input = generated(11, keys=3, batches=5, delay=4, disorder=9)
    taken, late = input.on_time(lambda time: windows_of(time)[0][1])
    assert {record[0] for record in late if record[3] is not None} == {"own", "other"}
    on_time = {record[2] for record in taken}
    stream, batch = input.run(in_sliding_windows), Result.of(in_sliding_windows(table(spark, input.records, SCHEMA)))
    timed = [record for record in input.records if record[3] is not None]
    for how in HOWS:
        judged = [(record, watermark) for record, watermark in input.judged() if record[2] in on_time]
        assert read(stream, how) == {"main": expected(judged, how), **late_rows(late)}, how
        assert read(batch, how)["main"] == expected([(record, None) for record in timed], how), how


@pytest.mark.parametrize("shape", [BATCH, FINISH], ids=str)
def test_sessions_are_of_the_records_of_both_streams_together(shape: Shape) -> None:
    def operator(df: DataFrame) -> DataFrame:
        grouped = windowed.cogroup(sides(df, "1 hour"), windows.sessions("2 seconds"), ("orders", "payments"))
        return hr.port(grouped, "main").selectExpr("k", "second(start) AS start", "second(end) AS end", "orders.v AS v", "payments.o AS o")

    records: list[Any] = [("own", "a", 1, at(1)), ("other", "a", 2, at(3)), ("own", "a", 3, at(5)), ("own", "a", 4, at(8)),
                          ("other", None, 5, at(1)), ("own", None, 6, at(2))]  # fmt: skip
    rows = shape.run(operator, records, SCHEMA).rows
    assert sorted((str(row.k), row.start, row.end, row.v, row.o) for row in rows) == [
        ("None", 1, 4, [6], [5]),  # in a co-group null is a key like any other
        ("a", 1, 7, [1, 3], [2]),  # a pause as long as the gap joins
        ("a", 8, 10, [4], []),
    ]


def test_a_window_is_forgotten_when_it_has_ended() -> None:
    def operator(df: DataFrame) -> DataFrame:
        return windowed.join(sides(df, "0 seconds"), windows.tumbling("10 seconds"), "inner")

    with MicroBatches(operator, SCHEMA) as stream:
        sizes = []
        for batch in range(5):
            stream.feed([(side, f"{batch} {n}", n, at(10 * batch)) for n in range(10) for side in ("own", "other")])
            sizes.append(kept_rows(stream))
        assert max(sizes) <= sizes[1]


def test_what_has_no_window_or_a_border_of_its_own_is_refused() -> None:
    one, two = (hr.read.memory(f"k int, {name} timestamp").event_time(name, "1 second") for name in ("at", "start"))
    with pytest.raises(DefinitionError, match="'5 minutes' is no window"):
        one.join(two, on="k", window="5 minutes")  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match="a row has the start of its window, and a column 'start' is there"):
        one.join(two, on="k", window=hr.tumbling("5 minutes"))
    with pytest.raises(DefinitionError, match="`between` is not for streams by window"):
        one.join(two, on="k", window=hr.tumbling("5 minutes"), between=("0 seconds", "1 second"))
    with pytest.raises(DefinitionError, match=r"into=\('a', 'a'\) are not two names"):
        one.cogroup(two, hr.tumbling("5 minutes"), on="k", into=("a", "a"))
