"""Outputs share a query if they share all their state, and the query runs up to where they part."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.fronts.stream import Stream
from headrace.planning import groups
from headrace.planning.recipe import Output


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


# the outputs -> the names in each query, and the step up to which it runs
CASES: dict[str, tuple[Callable[[Stream], list[Output]], list[tuple[str, str]]]] = {
    "one stream, two sinks": (_one_step, [("ab", "read.memory")]),
    "two branches part at the step before": (_two_branches, [("ab", "where")]),
    "state that both share": (_state_before_the_fork, [("ab", "agg")]),
    "state of one alone": (_state_after_the_fork, [("a", "agg"), ("bc", "where")]),
    "state in the user's own code": (_state_in_user_code, [("a", "then(<lambda>)"), ("b", "read.memory")]),
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
