"""MATCH_RECOGNIZE: the worked examples of the documentations of Flink and Trino, and generated patterns against a plain model."""

from __future__ import annotations

from typing import Any

import pytest
from tests.fronts.sql.answers import answer, at, ticker
from tests.fronts.sql.generated import Made

import headrace as hr

pytestmark = pytest.mark.usefixtures("spark")

MATCH = "SELECT * FROM ticker MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY at {}) AS found"
DOWN_UP = "DEFINE D AS price < PREV(price), U AS price > PREV(price)"


def seconds(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Without the symbol, and with times in seconds."""
    return tuple(round(value * 60) if isinstance(value, float) and round(value * 60, 6).is_integer() else value for value in row[1:])


WORKED: dict[str, tuple[list[int], str, list[tuple[Any, ...]]]] = {
    "a valley": (
        [12, 17, 19, 21, 25, 18, 15, 14, 24, 25, 19],
        """MEASURES START.at AS first, LAST(DOWN.at) AS bottom, LAST(UP.at) AS last ONE ROW PER MATCH AFTER MATCH SKIP TO LAST UP
           PATTERN (START DOWN+ UP)
           DEFINE DOWN AS (LAST(DOWN.price, 1) IS NULL AND DOWN.price < START.price) OR DOWN.price < LAST(DOWN.price, 1),
                  UP AS UP.price > LAST(DOWN.price, 0)""",
        [(4, 7, 8)],
    ),
    "an average of what was taken": (
        [12, 17, 13, 16, 25, 2, 4, 10, 15, 25, 25, 30],
        "MEASURES FIRST(A.at) AS f, LAST(A.at) AS l, AVG(A.price) * 10 AS mean PATTERN (A+ B) DEFINE A AS AVG(A.price) < 15",
        [(0, 3, 8700), (5, 10, 8100)],
    ),
    "greedy": (
        [10, 11, 12, 13, 14, 16],
        "MEASURES C.price AS c PATTERN (A B* C) DEFINE A AS A.price > 10, B AS B.price < 15, C AS C.price > 12",
        [(16,)],
    ),
    "reluctant": (
        [10, 11, 12, 13, 14, 16],
        "MEASURES C.price AS c PATTERN (A B*? C) DEFINE A AS A.price > 10, B AS B.price < 15, C AS C.price > 12",
        [(13,), (16,)],
    ),
    "rising, then lower": (
        [10, 12, 13, 11],
        """MEASURES FIRST(A.price) AS f, LAST(A.price) AS top, B.price AS b PATTERN (A+ B)
           DEFINE A AS LAST(A.price, 1) IS NULL OR A.price > LAST(A.price, 1), B AS B.price < LAST(A.price)""",
        [(10, 13, 11)],
    ),
    "past the last row": (
        [7, 9, 10, 5, 10, 7, 14],
        "MEASURES SUM(A.price) AS s, FIRST(A.at) AS f, C.at AS c PATTERN (A+ C) DEFINE A AS SUM(A.price) < 30",
        [(17, 4, 6), (26, 0, 3)],
    ),
    "to the next row, and back from the end": (
        [7, 9, 10, 5, 10, 7, 14],
        "MEASURES SUM(A.price) AS s, FIRST(A.at) AS f, C.at AS c AFTER MATCH SKIP TO NEXT ROW PATTERN (A+ C) DEFINE A AS SUM(A.price) < 30",
        [(17, 4, 6), (22, 3, 6), (24, 1, 4), (25, 2, 5), (26, 0, 3), (7, 5, 6)],
    ),
    "sums of one variable and of all": (
        [10, 15, 20, 31, 35],
        "MEASURES COUNT(B.*) AS n PATTERN (A B+) DEFINE B AS B.price > A.price AND SUM(price) < 100 AND SUM(B.price) < 80",
        [(3,)],
    ),
    "the row before in the match": (
        [10, 15, 20],
        "MEASURES A.price AS a, B.price AS b, C.price AS c PATTERN (A B? C) DEFINE B AS B.price < 20, C AS LAST(price, 1) < C.price",
        [(10, 15, 20)],
    ),
    "known with the row that does not fit": (
        [5, 4, 3, 4, 6, 2],
        f"MEASURES FIRST(at) AS f, LAST(at) AS l, COUNT(*) AS n, CLASSIFIER() AS c PATTERN (S D+ U+) {DOWN_UP}",
        [(0, 4, 5, "U")],
    ),
    "known with the end": (
        [5, 4, 3, 4, 6],
        f"MEASURES FIRST(at) AS f, LAST(at) AS l PATTERN (S D+ U+) {DOWN_UP}",
        [(0, 4)],
    ),
    "of each start": (
        [5, 4, 3, 4, 6, 2],
        f"MEASURES FIRST(at) AS f, LAST(at) AS l AFTER MATCH SKIP TO NEXT ROW PATTERN (S D+ U+) {DOWN_UP}",
        [(0, 4), (1, 4)],
    ),
    "reluctant at the end": ([5, 4, 3, 4, 6, 2], f"MEASURES FIRST(at) AS f, LAST(at) AS l PATTERN (S D+ U+?) {DOWN_UP}", [(0, 3)]),
    "all rows": (
        [5, 4, 3, 4, 2],
        f"MEASURES CLASSIFIER() AS c, FINAL COUNT(*) AS n ALL ROWS PER MATCH PATTERN (S D+ U) {DOWN_UP}",
        [(0, "S", 4, 5), (1, "D", 4, 4), (2, "D", 4, 3), (3, "U", 4, 4)],
    ),
    "a union of variables": (
        [5, 4, 3, 4, 6, 2],
        f"MEASURES SUM(X.price) AS s, FIRST(X.price, 1) AS second, CLASSIFIER(X) AS c PATTERN (S D+ U+) SUBSET X = (D, U) {DOWN_UP}",
        [(17, 3, "U")],
    ),
    "an alternative": ([5, 2], "MEASURES A.price AS a, B.price AS b PATTERN (A | B) DEFINE A AS price > 3", [(5, None), (None, 2)]),
    "in any order": ([1, 5, 2], "MEASURES A.at AS a, B.at AS b PATTERN (PERMUTE(A, B)) DEFINE A AS price > 3, B AS price < 3", [(1, 0)]),
    "how often": ([1, 1, 1, 1, 9], "MEASURES COUNT(A.*) AS n PATTERN (A{2,3}) DEFINE A AS price = 1", [(3,)]),
}  # fmt: skip


@pytest.mark.parametrize("name", WORKED)
def test_a_worked_example(name: str) -> None:
    check(name, "batch")


def check(name: str, mode: str) -> None:
    prices, clauses, expected = WORKED[name]
    assert sorted(map(seconds, answer(MATCH.format(clauses), mode, ticker=ticker(prices))), key=str) == sorted(expected, key=str)


@pytest.mark.parametrize("name", ["a valley", "known with the end", "all rows"])
def test_a_stream_has_the_same_matches(name: str) -> None:
    check(name, "micro-batch")


def test_a_row_exactly_as_late_as_within_is_too_late() -> None:
    clauses = """MEASURES A.price - C.price AS dropped PATTERN (A B* C) WITHIN INTERVAL '1' HOUR
                 DEFINE B AS B.price > A.price - 10, C AS C.price < A.price - 10"""
    found = answer(MATCH.format(clauses), ticker=ticker([20, 17, 18, 11, 14, 9, 15, 14, 24, 1, 19], seconds=1200))
    assert found == [("x", 13)]  # from 14 at 12:20; that from 15 at 12:00 is one hour long


def test_a_match_cannot_begin_again_where_it_began() -> None:
    clauses = "MEASURES COUNT(*) AS n AFTER MATCH SKIP TO FIRST A PATTERN (A+ B) DEFINE A AS price < 3"
    with pytest.raises(Exception, match="skips to its own first record"):
        answer(MATCH.format(clauses), ticker=ticker([1, 1, 5]))


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(8, 200))])
def test_a_generated_pattern_gives_what_backtracking_gives(seed: int) -> None:
    made = Made(seed)
    expected = [(symbol, *found) for symbol, prices in made.symbols.items() for found in made.matches(prices)]
    rows = [(symbol, price, at(seconds=i)) for symbol, prices in made.symbols.items() for i, price in enumerate(prices)]
    ticker = hr.read.memory("symbol string, price int, at timestamp", rows).event_time("at", "1 minute")
    found = answer(MATCH.format(made.clauses), ticker=ticker)
    assert [(row[0], *seconds(row)) for row in found] == sorted(expected, key=str), made.clauses
