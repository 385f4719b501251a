"""What the demo says of latency: the warm-up and the steady state apart, and of the latter what was read near the end of a batch."""

from __future__ import annotations

from typing import Any

import pytest

from headrace_fraud.demo.steady import Steady
from headrace_fraud.page.board import Board

END = 1_000.4


def run(latencies: dict[float, float], *, ends: list[float], warm_up: float = 0) -> dict[str, Any]:
    """Decisions by when they were read (s) and how long they took (ms)."""
    board = Board(warm_up_s=warm_up)
    for read, ms in latencies.items():
        board.seconds.decision(read * 1000, ms)
    steady = Steady(board)
    steady.look(max(latencies), ends)
    return steady.report()


def about(ms: float) -> Any:
    return pytest.approx(ms, rel=0.01)


@pytest.mark.parametrize(
    ("read", "near"),
    [(998.9, False), (999.0, True), (1_000.0, True), (1_000.9, True), (1_003.9, True), (1_004.0, False)],
)
def test_a_decision_is_near_an_end_from_the_second_before_it_to_the_third_after(read: float, near: bool) -> None:
    found = run({990.0: 5, read: 900}, ends=[END])
    assert found["latency_ms"]["max"] == about(900)
    assert found["latency_between_batch_ends_ms"]["max"] == about(5 if near else 900)


def test_ends_that_are_near_each_other_are_taken_off_once() -> None:
    found = run({990.0: 5, 1_000.0: 900, 1_001.0: 900, 1_002.0: 7}, ends=[END, END + 1])
    assert found["latency_between_batch_ends_ms"]["max"] == about(5)


def test_an_end_may_be_told_of_again_and_again() -> None:
    board = Board(warm_up_s=0)
    steady = Steady(board)
    for read, ms in ((990, 5), (1_000, 900)):
        board.seconds.decision(read * 1000, ms)
    for now in (1_001, 1_004, 1_006, 1_007):
        steady.look(now, [END])
    assert steady.report()["latency_between_batch_ends_ms"]["max"] == about(5)


@pytest.mark.parametrize(("read", "steady"), [(929.9, False), (930.0, True), (960.0, True)])
def test_the_warm_up_is_so_many_seconds_from_the_first_decision_on(read: float, steady: bool) -> None:
    found = run({900.0: 3_000, read: 700, 1_000.0: 5}, ends=[], warm_up=30)
    assert found["latency_ms"]["max"] == about(700 if steady else 5)
    assert found["latency_warm_up_ms"]["max"] == found["latency_overall_ms"]["max"] == about(3_000)
    assert found["latency_from_s"] == 30


def test_an_end_in_the_warm_up_takes_nothing_off_the_steady_state() -> None:
    found = run({970.5: 5, END: 900, 1_000.6: 5}, ends=[END], warm_up=30)  # the warm-up ends in the second of the batch's end
    assert found["latency_between_batch_ends_ms"] == found["latency_ms"]


def test_a_run_shorter_than_the_warm_up_has_no_steady_state() -> None:
    found = run({901.0: 3_000, 902.0: 5}, ends=[], warm_up=30)
    assert set(found["latency_ms"].values()) == {None}
    assert found["latency_warm_up_ms"] == found["latency_overall_ms"]
    assert found["latency_overall_ms"]["max"] == about(3_000)


def test_without_decisions_there_are_no_numbers() -> None:
    found = Steady(Board()).report()
    for key in ("latency_ms", "latency_between_batch_ends_ms", "latency_warm_up_ms", "latency_overall_ms"):
        assert set(found[key].values()) == {None}
