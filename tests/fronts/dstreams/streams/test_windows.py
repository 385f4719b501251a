"""Windows by batch time: the worked numbers of Spark's own suites and guide."""

from __future__ import annotations

from operator import add, sub
from typing import Any

import pytest

DIGITS = [["0"], ["1"], ["2"], ["3"], ["4"], ["5"]]
RISING = [[("a", n)] for n in range(1, 7)]
SIZES = [[0] * n for n in (1, 2, 3, 4, 5)]


def text(batches: list[Any]) -> str:
    return " ".join("-" if batch is None else "".join(batch) or "." for batch in batches)


@pytest.mark.parametrize(
    ("length", "slide", "expected"),
    [
        (2, 1, "0 01 12 23 34 45"),
        (2, 2, "- 01 - 23 - 45"),
        (4, 2, "- 01 - 0123 - 2345"),
        (2, 3, "- - 12 - - 45"),
    ],
)
def test_a_window_holds_the_batches_after_its_begin_up_to_its_end(run: Any, length: int, slide: int, expected: str) -> None:
    assert text(run(lambda s: s.window(length, slide), DIGITS)) == expected


CASES = [
    ("window, then count", SIZES, lambda s: s.window(3).count(), [[1], [3], [6], [9], [12], [9], [5]]),
    ("countByWindow", [[1], [1], [1, 2], [0], [], []], lambda s: s.countByWindow(2, 1), [[1], [2], [3], [3], [1], [0]]),
    ("countByWindow of five slides", [*SIZES, [0] * 6], lambda s: s.countByWindow(5, 1),
     [[n] for n in (1, 3, 6, 10, 15, 20, 18, 15, 11, 6, 0)]),
    ("without inverse a key leaves with its values", [[("a", 1)], [("a", 1)], [], []], lambda s: s.reduceByKeyAndWindow(add, None, 2, 1),
     [[("a", 1)], [("a", 2)], [("a", 1)], []]),
    ("every second slide", [*RISING, [], []], lambda s: s.reduceByKeyAndWindow(add, None, 4, 2),
     [None, [("a", 3)], None, [("a", 10)], None, [("a", 18)], None, [("a", 11)]]),
    ("a short window with inverse is computed anew", [[("a", 1)], [("a", 1)], [], []],
     lambda s: s.reduceByKeyAndWindow(add, sub, 2, 1), [[("a", 1)], [("a", 2)], [("a", 1)], []]),
    ("with inverse a key stays at zero", [[("a", 1)], [("a", 1)], [], []], lambda s: s.reduceByKeyAndWindow(add, sub, 5, 1),
     [[("a", 1)], [("a", 2)], [("a", 2)], [("a", 2)], [("a", 2)], [("a", 1)], [("a", 0)], [("a", 0)]]),
    ("unless it is filtered", [[("a", 1)]], lambda s: s.reduceByKeyAndWindow(add, sub, 5, 1, filterFunc=lambda pair: pair[1] > 0),
     [[("a", 1)]] * 5 + [[], []]),
    ("reduceByWindow", [[1, 2], [3], [], [4]], lambda s: s.reduceByWindow(add, None, 2, 1), [[3], [6], [3], [4]]),
    ("countByValueAndWindow forgets", [["a", "b"], ["a"]], lambda s: s.countByValueAndWindow(5, 1),
     [[("a", 1), ("b", 1)], *[[("a", 2), ("b", 1)]] * 4, [("a", 1)], []]),
    ("groupByKeyAndWindow, older first", [[("a", n)] for n in (4, 1, 3)], lambda s: s.groupByKeyAndWindow(2, 1).mapValues(list),
     [[("a", [4])], [("a", [4, 1])], [("a", [1, 3])], [("a", [3])], []]),
]  # fmt: skip


@pytest.mark.parametrize(("batches", "operation", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_reduction_over_a_window(run: Any, batches: Any, operation: Any, expected: Any) -> None:
    assert run(operation, batches, seconds=len(expected)) == expected


def test_windows_of_two_streams_join_what_came_in_different_batches(run: Any) -> None:
    clicks, views = [[], [("a", "click")], []], [[("a", "view")], [], []]
    assert run(lambda a, b: a.window(1).join(b.window(3)), clicks, views) == [[], [("a", ("click", "view"))], []]
