"""Outputs share a query if they share all their state, and the query runs up to where they part."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.fronts.stream import Stream
from headrace.planning import groups, plans
from headrace.planning.recipe import Output
from headrace.planning.table import Mode


def _totals(stream: Stream) -> Stream:
    return stream.key_by("k").agg(F.count("*").alias("n"))


def _two_branches(s: Stream) -> list[Output]:
    read = s.where("v > 0")
    return [read.where("v > 1").to.memory("a"), read.select("k").to.memory("b")]


def _one_step(s: Stream) -> list[Output]:
    return [s.to.memory("a"), s.to.console(name="b")]


def _state_before_the_fork(s: Stream) -> list[Output]:
    totals = _totals(s)
    return [totals.where("n > 1").to.memory("a"), totals.to.memory("b")]


def _state_after_the_fork(s: Stream) -> list[Output]:
    read = s.where("v > 0")
    return [_totals(read).to.memory("a"), read.to.memory("b"), read.select("k").to.memory("c")]


def _state_in_user_code(s: Stream) -> list[Output]:
    return [s.then(lambda df: df.dropDuplicates(["k"])).to.memory("a"), s.to.memory("b")]


def _two_sources(s: Stream) -> list[Output]:
    return [s.to.memory("a"), hr.read.memory("k string, v int").to.memory("b")]


def _after_a_union(s: Stream) -> list[Output]:
    both = s.union(hr.read.memory("k string, v int"))
    return [both.where("v > 0").to.memory("a"), both.to.memory("b")]


def _dead_letters_before_state(s: Stream) -> list[Output]:
    read = s.decode("k", schema="n int not null")
    return [read.dead_letters.to.memory("b"), _counted(read).to.memory("a")]


def _dead_letters_before_an_aggregate(s: Stream) -> list[Output]:
    read = s.decode("k", schema="n int not null")
    return [read.dead_letters.to.memory("b"), read.key_by("n").agg(F.count("*")).to.memory("a")]


def _counted(stream: Stream) -> Stream:
    return stream.where("n > 0").key_by("n").with_features(count=hr.running(F.count("*"), inclusive=True))


# the outputs -> the names in each query, and the step up to which it runs
CASES: dict[str, tuple[Callable[[Stream], list[Output]], list[tuple[str, str]]]] = {
    "one stream, two sinks": (_one_step, [("ab", "read.memory")]),
    "two branches part at the step before": (_two_branches, [("ab", "where")]),
    "state that both share": (_state_before_the_fork, [("ab", "agg")]),
    "state of one alone": (_state_after_the_fork, [("a", "agg"), ("bc", "where")]),
    "state in the user's own code": (_state_in_user_code, [("a", "then(<lambda>)"), ("b", "read.memory")]),
    "dead letters pass a scan by": (_dead_letters_before_state, [("ab", "with_features")]),
    "dead letters cannot pass an aggregate by": (_dead_letters_before_an_aggregate, [("b", "dead_letters"), ("a", "agg")]),
    "two sources": (_two_sources, [("a", "read.memory"), ("b", "read.memory")]),
    "where two streams have met": (_after_a_union, [("ab", "union")]),
}


@pytest.mark.parametrize("case", CASES)
def test_outputs_by_query(case: str, spark: SparkSession) -> None:  # noqa: ARG001
    build, expected = CASES[case]
    found = groups.shared(build(hr.read.memory("k string, v int")))
    assert [("".join(output.name for output in group.outputs), group.fork.operator) for group in found] == expected


def test_a_query_is_named_after_its_first_output(spark: SparkSession) -> None:  # noqa: ARG001
    stream = hr.read.memory("k string, v int")
    (group,) = groups.shared([stream.to.memory("first"), stream.to.memory("second")])
    assert group.name == "first"


@pytest.mark.usefixtures("spark")
def test_dead_letters_and_what_is_behind_a_state_come_out_of_one_query_each_of_them_once(tmp_path: Path) -> None:
    values = ['{"n": 1}', "?", '{"n": 2}', '{"n": 1}', '{"n": -1}', "{}"]
    read = hr.read.memory("value string", [(value,) for value in values]).decode(schema="n int not null")
    counted = _counted(read)
    outputs = [counted.to.memory("all"), counted.where("count > 1").to.memory("again"), read.dead_letters.to.memory("letters")]
    (group,) = groups.shared(outputs)
    assert len(group.outputs) == 3
    hr.Job("one-query", *outputs, checkpoint=tmp_path).run("micro-batch", trigger=hr.once)
    rows = [sorted(tuple(row) for row in output.sink.rows) for output in outputs]  # type: ignore[attr-defined]
    assert rows[0] == [(1, 1), (1, 2), (2, 1)]
    assert rows[1] == [(1, 2)]
    assert [(row[0], bytes(row[1])) for row in rows[2]] == [("missing:n", b"{}"), ("not_json", b"?")]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("mode", ["batch", "micro-batch"])
@pytest.mark.parametrize("first", ["the stream", "its dead letters"])
def test_a_stream_and_its_dead_letters_united_are_of_one_reading_each_record_once(first: str, mode: Mode, tmp_path: Path) -> None:
    read = hr.read.memory("value string", [(value,) for value in ('{"n": 1}', "?", '{"n": 2}', '{"n": 1}', '{"n": -1}', "{}")])
    decoded = read.decode(schema="n int not null")
    counted = _counted(decoded).select("n", "count", F.lit("ok").alias("reason"))
    letters = decoded.dead_letters.select("reason", F.lit(0).alias("count"), F.lit(0).alias("n"))
    both = counted.union(letters) if first == "the stream" else letters.union(counted)
    assert plans.sources_are_distinct(both.step.preview)
    output = both.select("n", "count", "reason").to.memory()
    hr.Job("united", output, checkpoint=tmp_path).run(mode, trigger=hr.once)
    rows = sorted(tuple(row) for row in output.sink.rows)  # type: ignore[attr-defined]
    assert rows == [(0, 0, "missing:n"), (0, 0, "not_json"), (1, 1, "ok"), (1, 2, "ok"), (2, 1, "ok")]
