"""As-of joins: the worked examples of the field, a plain-Python oracle, and every mode."""

from __future__ import annotations

from datetime import timedelta
from functools import reduce
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.ops.joins.two_streams import SCHEMA, Record, as_text, at, generated, late_rows, one_stream, pair, read, streams

import headrace as hr
from headrace.errors import DefinitionError
from headrace.ops.joins.as_of import as_of, nearest
from headrace.testing.microbatches import MicroBatches
from headrace.testing.results import Result
from headrace.testing.shapes import BATCH
from headrace.testing.states import kept_rows
from headrace.testing.tables import table

pytestmark = pytest.mark.usefixtures("spark")

SECOND = 1_000_000
END: list[Record] = [("own", "closing", -1, at(3600)), ("other", "closing", -1, at(3600))]
PANDAS = [*(("own", "a", t, at(t)) for t in (1, 5, 10)), *(("other", "a", t, at(t)) for t in (1, 2, 3, 6, 7))]  # joins.md, section 3

EXAMPLES: dict[str, tuple[dict[str, Any], list[int | None]]] = {
    "backward": ({}, [1, 3, 7]),
    "backward, strict": ({"strict": True}, [None, 3, 7]),
    "backward, tolerance 1": ({"tolerance": SECOND}, [1, None, None]),
    "forward": ({"direction": "forward"}, [1, 6, None]),
    "nearest": ({"direction": "nearest"}, [1, 6, 7]),
}


def all_examples(df: DataFrame) -> DataFrame:
    own, other = streams(df, "20 seconds")
    joined = [as_text(as_of(own, other, ["k"], ("ts", "seen"), **options), name) for name, (options, _) in EXAMPLES.items()]
    return reduce(DataFrame.unionAll, joined)


def test_the_directions_are_those_of_pandas() -> None:
    result = BATCH.run(all_examples, PANDAS, SCHEMA, partitions=1)
    for name, (_, partners) in EXAMPLES.items():
        rows = [dict(row) for row in read(result, name)["main"]]
        assert {row["v"]: row.get("o") for row in rows} == dict(zip((1, 5, 10), partners, strict=True)), name


def test_an_order_has_the_rate_of_its_time(spark: SparkSession) -> None:
    """joins.md, section 3: orders in EUR at 12:00 and 12:06, rates 1.14 from before 12:00 and 1.10 from 12:05."""
    orders = table(spark, [("EUR", at(0)), ("EUR", at(360))], "currency string, at timestamp")
    rates = table(spark, [("EUR", 1.10, at(300)), ("EUR", 1.14, at(-60))], "currency string, rate double, since timestamp")
    rows = as_of(orders, rates, ["currency"], ("at", "since")).select("main.*").orderBy("at").collect()
    assert [row.rate for row in rows] == [1.14, 1.10]


def expected(records: list[Record], direction: str, strict: bool, tolerance: int | None, how: str) -> list[tuple[Any, ...]]:
    """What the definition says, record by record. Those of the other side are in the order of their time, equal ones of arrival."""
    others = sorted((record for record in records if record[0] == "other"), key=lambda record: record[3] or at(0))
    rows = []
    for own in (record for record in records if record[0] == "own"):
        apart = [(record[3] - own[3], record) for record in others if record[1] == own[1] and own[1] is not None]  # type: ignore[operator]
        none, limit = timedelta(0), timedelta.max if tolerance is None else timedelta(microseconds=tolerance)
        apart = [(by, record) for by, record in apart if abs(by) <= limit and not (strict and by == none)]
        before = next(((-by, record) for by, record in reversed(apart) if by <= none), None)
        after = next(((by, record) for by, record in apart if by >= none), None)
        match direction:
            case "backward":
                partner = before
            case "forward":
                partner = after
            case _:
                partner = min((each for each in (before, after) if each is not None), key=lambda each: each[0], default=None)
        if partner is not None or how == "left":
            rows.append(pair(own, None if partner is None else partner[1]))
    return sorted(rows, key=repr)


WAYS: list[tuple[str, bool, int | None, str]] = [
    ("backward", False, 3 * SECOND, "left"),
    ("backward", True, None, "inner"),
    ("forward", False, 2 * SECOND, "left"),
    ("nearest", False, None, "left"),
    ("nearest", True, 2 * SECOND, "inner"),
]


def every_way(df: DataFrame) -> DataFrame:
    own, other = streams(df, "4 seconds")

    def text(way: str, strict: bool, tolerance: int | None, how: str) -> DataFrame:
        result = as_of(own, other, ["k"], ("ts", "seen"), direction=way, strict=strict, tolerance=tolerance, how=how)
        return as_text(result, str((way, strict, how)))

    return reduce(DataFrame.unionAll, [text(*way) for way in WAYS])


def test_every_direction_gives_what_its_definition_says_of_the_records_that_are_not_late(spark: SparkSession) -> None:
    input = generated(5, keys=4, batches=5, delay=4)
    taken, late = input.on_time()
    assert {record[0] for record in late if record[3] is not None} == {"own", "other"}
    stream, batch = input.run(every_way), Result.of(every_way(table(spark, input.records, SCHEMA)))
    for way, strict, tolerance, how in WAYS:
        name = str((way, strict, how))
        assert read(stream, name) == {"main": expected(taken, way, strict, tolerance, how), **late_rows(late)}, name
        with_time = [record for record in input.records if record[3] is not None]
        assert read(batch, name)["main"] == expected(with_time, way, strict, tolerance, how), name


def test_with_a_tolerance_a_key_is_forgotten_when_it_has_passed() -> None:
    def operator(df: DataFrame) -> DataFrame:
        return nearest(one_stream(df, "1 second"), "nearest", tolerance=SECOND)

    with MicroBatches(operator, SCHEMA) as stream:
        sizes = []
        for batch in range(6):
            stream.feed([(side, f"key {batch} {n}", n, at(10 * batch)) for n in range(10) for side in ("own", "other")])
            sizes.append(kept_rows(stream))
        assert sizes[-1] <= sizes[1]


def test_without_a_zone_times_are_compared_as_they_are_written(spark: SparkSession) -> None:
    """Where a clock is put forward, an hour of the night is missing: it counts all the same."""
    own = table(spark, [("a", "2026-03-29 03:30:00")], "k string, t string").selectExpr("k", "cast(t as timestamp_ntz) AS t")
    other = table(spark, [("a", "2026-03-29 01:30:00")], "k string, t string").selectExpr("k", "cast(t as timestamp_ntz) AS u")
    for hours, partners in ((1, 0), (2, 1)):
        joined = as_of(own, other, ["k"], ("t", "u"), direction="nearest", tolerance=hours * 3600 * SECOND, how="inner")
        assert len(joined.where("main IS NOT NULL").collect()) == partners


def test_a_stream_without_a_time_is_refused() -> None:
    trades, quotes = hr.read.memory("k string, at timestamp"), hr.read.memory("k string, q timestamp").event_time("q", "1 second")
    with pytest.raises(DefinitionError) as refused:
        trades.as_of(quotes, on="k")
    assert "as_of: it is not known which column of this stream is the time" in refused.value.what
    with pytest.raises(DefinitionError, match="direction='sideways' is not known"):
        trades.event_time("at", "1 second").as_of(quotes, on="k", direction="sideways")
