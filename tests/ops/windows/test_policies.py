"""Windows that records decide on: worked examples of windows.md sections 2, 3 and 6. What differs from Flink 0.8 is said where it does."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import functions as F
from tests.ops.windows.running import SCHEMA, at, windowed
from tests.ops.windows.test_panes import together

from headrace.errors import DefinitionError
from headrace.ops.windows import Window, keeping, until
from headrace.testing.microbatches import MicroBatches

pytestmark = pytest.mark.usefixtures("spark")

TOP = range(1, 11)
ONES = [(1, 0)] * 6

# a window; records, value and second; the sums that come out, and at the end of the input what is left
CASES: dict[str, tuple[Window, list[tuple[int, float]], list[int]]] = {
    "section 2, count: of four records one firing with four": (until(records=4), [(1, 0)] * 4, [4]),
    "section 2, count: of seven still one, and the rest at the end": (until(records=4), [(1, 0)] * 7, [4, 3]),
    "section 2, sliding count": (keeping(records=4).every(records=2), ONES, [2, 4, 4]),
    "section 3, delta: the record that moved too far is in the pane": (
        keeping(records=100).every(delta=("v", 2)), [(1, 0), (2, 1), (3, 2), (6, 3)], [12],
    ),
    "section 6, delta: that record opens the next window": (until(delta=("v", 2)), [(1, 0), (2, 1), (3, 2), (6, 3), (8, 4)], [6, 14]),
    "section 6, time: a record so long after the first opens the next": (
        until(time="2 seconds"), [(1, 0), (2, 1), (4, 2), (8, 3), (16, 9)], [3, 12, 16],
    ),
    "section 6, several: the strictest ends it": (
        until(records=3, time="2 seconds"), [(1, 0), (1, 0), (1, 1), (2, 1), (2, 3), (4, 3)], [3, 2, 6],
    ),
    "section 6, several that keep: at most three, and none as old as two seconds": (
        keeping(records=3, time="2 seconds"), [(1, 0), (2, 1), (4, 1.1), (8, 1.2), (16, 3), (32, 4)], [1, 3, 7, 14, 28, 48],
    ),
    "section 6, the last four seconds, every two: there the first border is 4, and the end is none": (
        keeping(time="4 seconds").every(time="2 seconds"), [(v, v) for v in (1, 2, 2, 3, 4, 5, 10, 11, 11)], [5, 12, 12, 5, 10, 32, 22],
    ),
    "section 4, delta evictor, with every second record": (
        keeping(delta=("v", 2)).every(records=2), [(1, 0), (4, 1), (5, 2), (6, 3)], [4, 11],
    ),
    "section 6, punctuation": (until(mark="v = 0"), [(1, 0), (2, 1), (0, 2), (4, 3), (0, 4)], [3, 4, 0]),
    "section 6, the last hundred, every two seconds: a border is in what ends with it": (
        keeping(records=100).every(time="2 seconds"), [(1, 1), (2, 2), (4, 3), (8, 7)], [3, 7, 15],
    ),
    "section 6, the last ten seconds, every fifty meters": (
        keeping(time="10 seconds").every(delta=("v", 50)), [(10, 0), (40, 4), (61, 8), (100, 11), (120, 30)], [111, 120],
    ),
}  # fmt: skip


def operator(window: Window) -> Any:
    return windowed(window, delay="1 hour", aggregates=lambda: {"total": F.sum("v")})


def test_windows_that_records_decide_on() -> None:
    """Cut anyhow, in order and not, they are the same: by event time."""
    with MicroBatches(together({case: operator(window) for case, (window, _, _) in CASES.items()}), SCHEMA, partitions=1) as stream:
        result = stream.nothing
        for case, (_, records, _) in CASES.items():
            rows = [(case, value, at(second)) for value, second in records]
            result += stream.feed(rows[::2]) + stream.feed(rows[1::2])
        result += stream.finish()
    sums = {
        case: [row.main.total for row in result.rows if row.name == case and row.main is not None and row.main.k == case] for case in CASES
    }
    assert sums == {case: expected for case, (_, _, expected) in CASES.items()}


def test_a_window_over_all_ends_with_the_records_of_any_key() -> None:
    by_all = {"by": (), "on": None, "timed": False}
    with MicroBatches(windowed(until(records=3), **by_all), SCHEMA) as stream:
        result = stream.feed([("a", 1, at(0)), ("b", 2, at(0))]) + stream.feed([("c", 4, at(0)), ("d", 8, at(0))])
        assert [row.total for row in result.rows] == [7]


def test_by_the_clock_a_window_ends_without_a_record() -> None:
    """The first of "two records or five seconds"."""
    with MicroBatches(windowed(until(records=2, time="5 seconds"), on=None, timed=False, by_clock=True), SCHEMA) as stream:
        steps: list[tuple[int, list[Any], list[int]]] = [  # seconds of the clock, records, sums
            (0, [("a", 1, None)], []),
            (4, [], []),
            (1, [], [1]),
            (60, [("a", 2, None), ("a", 4, None), ("a", 8, None)], [6]),
            (5, [], [8]),
        ]
        for wait, records, sums in steps:
            stream.clock.advance(timedelta(seconds=wait))
            assert [row.total for row in stream.feed(records).rows] == sums, records


@pytest.mark.parametrize(
    ("define", "words"),
    [
        (lambda: until(), "there is no limit"),
        (lambda: until(records=0), "is no number of records"),
        (lambda: until(delta="v"), "is not a column and how far it may move"),
        (lambda: keeping(records=3).every(), "there is no limit"),
    ],
)
def test_what_is_no_limit_is_refused(define: Any, words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        define()
