"""All queries of Nexmark, and its four patterns, have the answers that DuckDB has for the same events."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from bench.nexmark.equality import differences
from bench.nexmark.generator import Pace
from bench.nexmark.inputs import Input
from bench.nexmark.queries import QUERIES
from pyspark.sql import SparkSession

from headrace.planning.table import Mode

# At 500 events a second; midnight, or the beginning of the working day, lies among them.
STARTS = {"in order": datetime(2026, 1, 1, 23, 59, 55, tzinfo=UTC), "disordered": datetime(2026, 1, 1, 7, 59, 55, tzinfo=UTC)}

IN_REAL_TIME = [name for name, query in QUERIES.items() if not query.real_time]


@pytest.fixture(scope="module")
def inputs(spark: SparkSession) -> dict[str, Input]:  # noqa: ARG001 - the session must be there first
    return {order: Input.of(5_000, Pace(500, start), disordered=order == "disordered") for order, start in STARTS.items()}


def test_there_are_all_of_nexmark() -> None:
    assert set(QUERIES) == {*(f"q{n}" for n in range(24)), *(f"cep{n}" for n in range(4))}


@pytest.mark.parametrize(("order", "mode"), [("in order", "batch"), ("disordered", "micro-batch")])
def test_every_query_has_duckdbs_answer(inputs: dict[str, Input], order: str, mode: Mode) -> None:
    assert {name: str(one) for name, one in differences(inputs[order], [*QUERIES], mode).items() if one} == {}


@pytest.mark.parametrize("name", ["q3", "q9", "q19", "cep3"])  # a join, an alarm, a table of ranks, a pattern
def test_so_it_has_in_real_time(inputs: dict[str, Input], name: str) -> None:
    assert not (one := differences(inputs["in order"], [name], "real-time")[name]), str(one)


@pytest.mark.soak
@pytest.mark.parametrize(("order", "mode"), [("in order", "micro-batch"), ("disordered", "batch")])
def test_every_query_has_duckdbs_answer_in_the_other_order(inputs: dict[str, Input], order: str, mode: Mode) -> None:
    assert {name: str(one) for name, one in differences(inputs[order], [*QUERIES], mode).items() if one} == {}


@pytest.mark.soak
@pytest.mark.parametrize("order", STARTS)
@pytest.mark.parametrize("name", IN_REAL_TIME)
def test_every_query_that_can_has_it_in_real_time(inputs: dict[str, Input], order: str, name: str) -> None:
    assert not (one := differences(inputs[order], [name], "real-time")[name]), str(one)
