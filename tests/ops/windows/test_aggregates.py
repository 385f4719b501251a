"""What is aggregated: any of Spark's, several at once, and those of a program's own."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import functions as F
from tests.ops.windows.running import CLOSING, SCHEMA, at, windowed
from tests.ops.windows.test_panes import together

import headrace as hr
from headrace.errors import DefinitionError
from headrace.ops.windows import sessions, tumbling
from headrace.testing.microbatches import MicroBatches
from headrace.testing.shapes import BATCH, ONE_BATCH, RECORD_PER_BATCH, Shape

pytestmark = pytest.mark.usefixtures("spark")


class Middle:
    """The middle value, and a longer way to say it than `F.median`."""

    state, output = "array<int>", "struct<middle: int, seen: int>"

    def zero(self) -> list[int]:
        return []

    def step(self, seen: list[int], value: int) -> list[int]:
        return sorted([*seen, value])

    def merge(self, one: list[int], other: list[int]) -> list[int]:
        return sorted([*one, *other])

    def result(self, seen: list[int]) -> dict[str, int]:
        return {"middle": seen[len(seen) // 2], "seen": len(seen)}


RECORDS = [("a", 3, at(1)), ("a", 1, at(2)), ("a", 3, at(3)), ("a", 9, at(4)), ("a", 7, at(11))]


def aggregates() -> dict[str, Any]:
    return {
        "n": F.count("*"),
        "kinds": F.count_distinct("v"),
        "values": F.sort_array(F.collect_set("v")),
        "spread": F.stddev_pop("v"),
        "top": F.max_by("v", "at"),
        "sum": hr.fold("v", zero=0, step=lambda total, v: total + v, merge=lambda one, other: one + other, result=lambda total: -total),
        "middle": hr.fold_python(Middle(), "v"),
    }


@pytest.mark.parametrize("shape", [BATCH, ONE_BATCH, RECORD_PER_BATCH], ids=str)
def test_any_aggregates_several_at_once(shape: Shape) -> None:
    operators = {
        "tumbling": windowed(tumbling("10 seconds"), delay="1 hour", mode="append", aggregates=aggregates),
        "sessions": windowed(sessions("5 seconds"), delay="1 hour", mode="append", aggregates=aggregates),
    }
    result = shape.run(together(operators), RECORDS, SCHEMA, closing=CLOSING)
    for name in operators:
        rows = sorted((row.main for row in result.rows if row.name == name and row.main.k == "a"), key=lambda row: row.start)
        assert [(row.n, row.kinds, row["values"], row.top, row["sum"], tuple(row.middle)) for row in rows] == [
            (4, 3, [1, 3, 9], 9, -16, (3, 4)),
            (1, 1, [7], 7, -7, (7, 1)),
        ], name
        assert [row.spread for row in rows] == [pytest.approx(3.0), 0.0]


def test_windows_that_become_one_need_a_merge() -> None:
    alone = {"aggregates": lambda: {"sum": hr.fold("v", zero=0, step=lambda total, v: total + v)}}
    with pytest.raises(DefinitionError) as refused:
        MicroBatches(windowed(sessions("5 seconds"), **alone), SCHEMA)
    assert "give merge=" in refused.value.fix


class NoResult:
    state, output = "int", "int"

    def zero(self) -> int:
        return 0

    def step(self, value: int) -> int:
        return value


class NoType(Middle):
    output = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("define", "words"),
    [
        (lambda: hr.fold_python(NoResult(), "v"), "has no method result"),
        (lambda: hr.fold_python(NoType(), "v"), "does not say of which type its output is"),
        (lambda: hr.fold_python(Middle()), "cannot be called with"),
        (lambda: hr.fold("v", zero=0, step=3), "is no function"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_aggregate_is_refused(define: Any, words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        define()
