"""Two streams joined within a bound of time: the same rows as a batch and as a stream, and the state goes."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.errors import JobError
from headrace.fronts.stream import Stream
from headrace.testing import between
from headrace.testing.clocks import START
from headrace.testing.laws import same_in_every_shape
from headrace.testing.microbatches import MicroBatches
from headrace.testing.shapes import BATCH, Shape, in_parts

pytestmark = pytest.mark.usefixtures("spark")

Time = int | None
Pair = tuple[Time, Time]

SCHEMA = "side string, k string, t int, ts timestamp"
EVENTS: list[tuple[str, str | None, int]] = [
    *(("left", "a", t) for t in (0, 2, 3, 4, 5, 7)),
    *(("right", "a", t) for t in (0, 1, 6, 7)),
    *((side, None, 1) for side in ("left", "right")),  # no key, and so no partner
]
PAIRS: list[Pair] = [(0, 0), (0, 1), (2, 0), (2, 1), (3, 1), (5, 6), (7, 6), (7, 7)]
ALONE_LEFT: list[Pair] = [(4, None), (1, None)]
ALONE_RIGHT: list[Pair] = [(None, 1)]

JOINS: dict[str, list[Pair]] = {
    "inner": PAIRS,
    "left": PAIRS + ALONE_LEFT,
    "right": PAIRS + ALONE_RIGHT,
    "full": PAIRS + ALONE_LEFT + ALONE_RIGHT,
}

# No record comes an hour later: these end what is before, and of each key there is but one, so that they have no partner.
END = [(side, f"closing {side}", 3600, START + timedelta(hours=1)) for side in ("left", "right")]


def rows() -> list[tuple[object, ...]]:
    return [(*event, START + timedelta(seconds=event[2])) for event in sorted(EVENTS, key=lambda event: event[2])]


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> Stream:  # noqa: ARG001
    return hr.read.memory(SCHEMA)


def _side(events: Stream, side: str) -> Stream:
    return events.where(F.col("side") == side).drop("side").event_time("ts", "30 seconds")


def _joined(events: Stream, how: str) -> Stream:
    left, right = _side(events, "left"), _side(events, "right").rename(t="other", ts="other_ts")
    return left.join(right, on="k", how=how, between=("-2 seconds", "1 second"))


@pytest.mark.parametrize("how", JOINS)
@pytest.mark.parametrize("shape", [BATCH, in_parts(3)], ids=str)
def test_pairs_are_within_the_bound_and_those_without_a_partner_are_as_asked(how: str, shape: Shape, events: Stream) -> None:
    operator = between(events, _joined(events, how).select("k", "t", "other"))
    result = shape.run(operator, rows(), SCHEMA, closing=END, output_mode="append")
    assert sorted(((row.t, row.other) for row in result.rows), key=str) == sorted(JOINS[how], key=str)


@pytest.mark.parametrize(("how", "times"), [("semi", [0, 2, 3, 5, 7]), ("anti", [1, 4])])
@pytest.mark.parametrize("shape", [BATCH, in_parts(3)], ids=str)
def test_semi_and_anti_give_a_record_once_and_nothing_of_its_partner(how: str, times: list[int], shape: Shape, events: Stream) -> None:
    joined = _joined(events, how)
    assert joined.columns == ["k", "t", "ts"]
    result = shape.run(between(events, joined.where("t < 3600")), rows(), SCHEMA, closing=END)
    assert sorted(row.t for row in result.rows) == times


def test_late_records_of_either_stream_come_out_of_a_port_of_their_own(events: Stream) -> None:
    joined = _joined(events, "left")
    late: list[tuple[object, ...]] = [(side, "a", -99, START - timedelta(hours=1)) for side in ("left", "right")]
    for port, columns in {joined.late: ["k", "t", "ts"], joined.port("late_other"): ["k", "other", "other_ts"]}.items():
        assert port.columns == columns
        with MicroBatches(between(events, port), SCHEMA) as stream:
            stream.feed(rows())
            assert [row[1] for row in stream.feed(late).rows] == [-99]


@pytest.mark.parametrize("how", JOINS)
def test_the_key_comes_first_and_once(how: str, events: Stream) -> None:
    assert _joined(events, how).columns == ["k", "t", "ts", "other", "other_ts"]


def test_a_record_without_a_partner_keeps_its_key(events: Stream) -> None:
    full = between(events, _joined(events, "full").select("k", "t", "other"))
    result = BATCH.run(full, [("right", "b", 9, START)], SCHEMA)
    assert [tuple(row) for row in result.rows] == [("b", None, 9)]


def test_windows_of_a_join_go_by_the_time_of_the_first_stream(events: Stream) -> None:
    counted = _joined(events, "left").window(hr.tumbling("2 seconds"), by=["k"]).agg(F.count("*").alias("n"))
    same_in_every_shape(between(events, counted), rows(), SCHEMA, shapes=(BATCH, in_parts(2)), closing=END, latest_by=("start", "k"))


def test_features_follow_a_join_by_its_event_time(events: Stream) -> None:
    seen = _joined(events, "inner").key_by("k").with_features(event_time="ts", order="other", before=hr.running(F.count("*")))
    same_in_every_shape(between(events, seen), rows(), SCHEMA, shapes=(BATCH, in_parts(2)), closing=END)


def test_records_are_forgotten_when_the_other_sides_time_has_passed_their_bound(events: Stream) -> None:
    with MicroBatches(between(events, _joined(events, "inner")), SCHEMA) as stream:
        for n in range(4):
            stream.feed([(side, f"k{n}", 0, START + timedelta(minutes=n)) for side in ("left", "right")])
        (state,) = stream.progress[-1]["stateOperators"]
        assert state["numRowsTotal"] <= 2 * 4  # this minute's and that of the watermark: a record of each side, state and clock


def test_without_a_bound_pairs_are_by_key_alone(events: Stream) -> None:
    left, right = (events.where(f"side = '{side}'").select("k", "t") for side in ("left", "right"))
    pairs = left.join(right.rename(t="other"), on="k")
    same_in_every_shape(between(events, pairs), rows(), SCHEMA, shapes=(BATCH, in_parts(2)))
    assert len(BATCH.run(between(events, pairs), rows(), SCHEMA).rows) == 6 * 4


def test_a_checkpoint_of_another_bound_is_refused(tmp_path: Path) -> None:
    left, right = (hr.read.memory(f"k int, {name} timestamp", [(1, START)]).event_time(name, "1 hour") for name in ("a", "b"))

    def job(upper: str) -> hr.Job:
        return hr.Job("pairs", left.join(right, on="k", between=("0 seconds", upper)).to.memory(), trigger=hr.once, checkpoint=tmp_path)

    job("1 second").run()
    with pytest.raises(JobError) as refused:
        job("2 seconds").run()
    assert "is of another plan. join: " in refused.value.what


def test_streams_and_tables_among_the_arguments_of_a_function_are_dataframes(tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("k,name\n1,one\n")

    def together(own: DataFrame, other: DataFrame, *, names: DataFrame, more: DataFrame, text: str) -> DataFrame:
        return own.union(other).union(more).join(F.broadcast(names), "k").withColumn("text", F.lit(text))

    a, b, c = (hr.read.memory("k int", [(n,)]) for n in (1, 2, 1))
    found = a.then(together, b, names=hr.table(tmp_path / "names.csv"), more=c, text="hello")
    assert [tuple(row) for row in found.head()] == [(1, "one", "hello")] * 2
    result = found.to.memory()
    hr.Job("together", result).run("micro-batch", trigger=hr.once)
    assert [tuple(row) for row in result.sink.rows] == [(1, "one", "hello")] * 2  # type: ignore[attr-defined]


def test_a_renamed_event_time_stays_one(events: Stream) -> None:
    renamed = _side(events, "left").rename(ts="at", t="n")
    assert renamed.columns == ["k", "n", "at"]
    assert renamed.window(hr.tumbling("1 hour")).windowing.on == "at"
