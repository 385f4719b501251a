"""Nexmark's queries and patterns in SQL give the rows that DuckDB gives for the same events."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from bench.nexmark import equality, sql
from bench.nexmark.generator import Pace
from bench.nexmark.inputs import Input

pytestmark = pytest.mark.usefixtures("spark")

BATCH_ONLY = ("q4",)  # an average of highest bids that still change
MANY_ROWS = ("q23",)
STREAMED = ["q2", "q3", "q5", "q8", "q18", "cep3"]  # one of each kind; the operators have laws of their own
MIDNIGHT = datetime(2026, 1, 1, 23, 59, 50, tzinfo=UTC)


@pytest.fixture(scope="module")
def events() -> Input:
    return Input.of(1200, Pace(80, MIDNIGHT), disordered=True)


@pytest.fixture(autouse=True)
def in_sql(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equality, "QUERIES", sql.QUERIES)


def differing(events: Input, names: list[str], mode: Any) -> dict[str, str]:
    return {name: str(difference) for name, difference in equality.differences(events, names, mode).items() if difference}


def test_a_batch_gives_what_duckdb_gives(events: Input) -> None:
    assert differing(events, [name for name in sql.QUERIES if name not in MANY_ROWS], "batch") == {}


def test_a_stream_gives_what_duckdb_gives(events: Input) -> None:
    assert differing(events, STREAMED, "micro-batch") == {}


@pytest.mark.parametrize("name", ["q18", "cep3"])
def test_real_time_gives_what_duckdb_gives(events: Input, name: str) -> None:
    assert differing(events, [name], "real-time") == {}


@pytest.mark.soak
@pytest.mark.parametrize("name", [name for name in sql.QUERIES if name not in BATCH_ONLY])
def test_each_stream_gives_what_duckdb_gives(events: Input, name: str) -> None:
    assert differing(events, [name], "micro-batch") == {}
