"""Windows by count and by processing time, each batch at a time of the test's own."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from headrace.fronts.trident.running.batches import Batches
from headrace.fronts.trident.running.coordinator import Coordinator
from headrace.fronts.trident.running.journal import Journal
from headrace.trident import (
    Count,
    FailedException,
    FeederBatchSpout,
    InMemoryWindowsStoreFactory,
    ReducerAggregator,
    SlidingCountWindow,
    SlidingDurationWindow,
    Stream,
    TridentTopology,
    TridentTuple,
    TumblingCountWindow,
    TumblingDurationWindow,
)


class All(ReducerAggregator):
    def init(self) -> str:
        return ""

    def reduce(self, current: str, tuple: TridentTuple) -> str:
        return current + tuple[0]


STORE = InMemoryWindowsStoreFactory()

# the window; (when, what comes then, which windows come out with that batch)
WINDOWS: list[tuple[Any, list[tuple[float, str, list[str]]]]] = [
    (lambda s: s.tumblingWindow(3, ["x"], All(), ["w"]), [(0, "ab", []), (0, "cde", ["abc"]), (0, "fghi", ["def", "ghi"])]),
    (lambda s: s.window(TumblingCountWindow.of(2), STORE, ["x"], All(), ["w"]), [(0, "abc", ["ab"]), (0, "d", ["cd"])]),
    (lambda s: s.slidingWindow(5, 2, ["x"], All(), ["w"]), [(0, "abc", ["ab"]), (0, "def", ["abcd", "bcdef"])]),
    (lambda s: s.window(SlidingCountWindow.of(4, 2), ["x"], All(), ["w"]), [(0, "abcdef", ["ab", "abcd", "cdef"])]),
    (
        lambda s: s.tumblingWindow(timedelta(seconds=10), ["x"], All(), ["w"]),
        [(100, "a", []), (104, "b", []), (110, "c", ["ab"]), (111, "d", []), (145, "e", ["cd"]), (150, "f", ["e"])],
    ),
    (
        lambda s: s.window(TumblingDurationWindow.of("10 seconds"), ["x"], All(), ["w"]),
        [(0, "a", []), (30, "b", ["a"]), (30, "c", []), (29, "d", []), (40, "", ["bcd"])],
    ),
    (
        lambda s: s.window(SlidingDurationWindow.of("10 seconds", "5 seconds"), ["x"], All(), ["w"]),
        [(0, "a", []), (4, "b", []), (5, "c", ["ab"]), (9, "d", []), (10, "e", ["abcd"]), (16, "f", ["cde"])],
    ),
]


@pytest.mark.parametrize(("window", "steps"), WINDOWS)
def test_windows_come_out_with_the_batch_in_which_they_are_due(window: Any, steps: list[tuple[float, str, list[str]]]) -> None:
    assert out(window, steps) == [due for _, _, due in steps]


@pytest.mark.parametrize(("window", "steps"), WINDOWS)
def test_a_replayed_batch_is_in_its_windows_once(window: Any, steps: list[tuple[float, str, list[str]]]) -> None:
    assert out(window, steps, fails=True) == [due for _, _, due in steps]


def out(window: Any, steps: list[tuple[float, str, list[str]]], *, fails: bool = False) -> list[list[str]]:
    """What comes out in each batch. With `fails` the first attempt of each fails behind the window."""
    spout, topology, now, rows = FeederBatchSpout("x"), TridentTopology(), [0.0], []
    failing: list[bool] = []

    def fail(count: TridentTuple) -> None:  # noqa: ARG001
        if failing:
            failing.clear()
            raise FailedException("once")

    results: Stream = window(topology.newStream("in", spout))
    results.peek(lambda t: rows.append(t["w"])).aggregate(Count(), ["n"]).peek(fail)
    batches = Batches(topology.graph, {}, clock=lambda: now[0])
    coordinator = Coordinator(topology.graph, batches, Journal(None, "windows"))
    given = []
    for at, text, _ in steps:
        now[0] = at
        if text:
            spout.feed([[letter] for letter in text])
        for attempt in range(1 + fails):
            if attempt < fails:
                failing.append(True)
            rows.clear()
            coordinator.step()
        given.append(list(rows))
    assert coordinator.failures == len(steps) * fails
    return given
