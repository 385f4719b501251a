"""What moves the time of a stream, and what does not: sources that are silent, times that cannot be, marks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.errors import DefinitionError
from headrace.kernel.event_time import timed, united
from headrace.ops import windows
from headrace.ops.windows import Windowing, tumbling
from headrace.testing.memory import FedSource
from headrace.testing.microbatches import MicroBatches
from headrace.testing.results import Result

pytestmark = pytest.mark.usefixtures("spark")

SCHEMA = "k string, at timestamp"
START = datetime(2026, 1, 1, 8, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def closed(df: DataFrame) -> DataFrame:
    """The windows of ten seconds that have ended."""
    windowing = Windowing(tumbling("10 seconds"), ("k",), "at", timed=True, mode="append")
    return windows.aggregate(df, windowing, {"n": F.count("*")})


def seen(result: Result) -> list[tuple[Any, ...]]:
    rows = [(row.main.k, int((row.main.start.astimezone(UTC) - START).total_seconds())) if row.main else ("late",) for row in result.rows]
    return sorted(rows)


def test_a_silent_stream_goes_on_with_the_clock_and_closes_its_windows() -> None:
    with MicroBatches(lambda df: closed(timed(df, "at", "2 seconds", idle="1 minute")), SCHEMA) as stream:
        steps: list[tuple[int, list[Any], list[Any]]] = [  # seconds of the clock, records, windows
            (0, [("a", at(3))], []),
            (40, [], []),
            (0, [], []),  # silent, but not for long enough
            (100, [], []),
            (0, [], [("a", 0)]),  # for two minutes and more: time is 3 + 120 - 2
            (0, [("b", at(8)), ("b", at(200))], [("late",)]),  # it does not go back
            (0, [], []),
        ]
        for wait, records, expected in steps:
            stream.clock.advance(timedelta(seconds=wait))
            assert seen(stream.feed(records)) == expected, (wait, records)


def test_a_silent_source_does_not_hold_up_the_others(spark: SparkSession) -> None:
    other = FedSource(spark, SCHEMA)

    def operator(df: DataFrame) -> DataFrame:
        return closed(united(timed(df, "at", "0 seconds"), timed(other.df, "at", "0 seconds", idle="5 seconds")))

    with MicroBatches(operator, SCHEMA) as stream:
        assert seen(stream.feed([("a", at(1)), ("a", at(20))]) + stream.tick()) == []  # nothing is known of the other
        stream.clock.advance(timedelta(seconds=8))
        assert seen(stream.tick() + stream.tick()) == [("a", 0)]  # it is silent
        other.add_java(other.java([("b", at(21))]))
        assert seen(stream.feed([("a", at(40))]) + stream.tick() + stream.tick()) == []  # it is not: time is 21
        stream.clock.advance(timedelta(seconds=8))
        assert seen(stream.feed([("a", at(41))]) + stream.tick()) == [("a", 20), ("b", 20)]


def test_a_time_far_ahead_of_the_clock_goes_out_of_a_port_and_moves_nothing() -> None:
    now = datetime.now(UTC)
    near, far = now + timedelta(minutes=30), now + timedelta(days=300)
    records = hr.read.memory(SCHEMA, [("a", at(1)), ("a", far)], [("a", at(2)), ("b", near), ("c", None)])
    stream = records.event_time("at", "1 minute", ahead="1 hour")
    counted = stream.window(hr.tumbling("10 seconds"), by=["k"]).agg(n=F.count("*"))
    outputs = [
        each.to.memory(name=name) for name, each in {"windows": counted, "future": stream.port("future"), "late": counted.late}.items()
    ]
    hr.Job("ahead", *outputs, trigger=hr.finish, output_mode="append").run("micro-batch")
    rows = [[tuple(row) for row in output.sink.rows] for output in outputs]  # type: ignore[attr-defined]
    assert sorted((row[2], row[3]) for row in rows[0]) == [("a", 2), ("b", 1)]
    assert [(row[0], row[1].astimezone(UTC)) for row in rows[1]] == [("a", far)]
    assert [row[0] for row in rows[2]] == ["c"]


def test_only_marks_move_the_time() -> None:
    def operator(df: DataFrame) -> DataFrame:
        marked = timed(df, "at", "0 seconds", mark=F.col("k") == "mark")
        return closed(marked.where("k <> 'mark'"))  # the marks have done their work before

    with MicroBatches(operator, SCHEMA) as stream:
        assert seen(stream.feed([("a", at(1)), ("a", at(99))]) + stream.feed([("a", at(2))]) + stream.tick()) == []
        assert seen(stream.feed([("mark", at(10))]) + stream.tick()) == [("a", 0)]
        assert seen(stream.feed([("a", at(9)), ("a", at(11))])) == [("late",)]


@pytest.mark.parametrize(
    ("options", "words"),
    [({"idle": "soon"}, "event_time: idle"), ({"ahead": 5}, "event_time: ahead"), ({"mark": 5}, "event_time: mark")],
)
def test_what_is_no_time_or_condition_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        hr.read.memory(SCHEMA).event_time("at", "1 minute", **options)
