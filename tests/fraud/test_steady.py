"""What the demo says of latency: nothing of the warm-up, and apart what was read near the end of a batch."""

from __future__ import annotations

import pytest

from headrace_fraud.page.board import Board
from headrace_fraud.steady import WARM_UP, Steady

END = 1_000.4


def run(latencies: dict[float, float], *, ends: list[float], begun: float, warm: float | None = None) -> dict[str, dict[str, float | None]]:
    """Decisions by when they were read (s) and how long they took (ms)."""
    board = Board()
    steady = Steady(board)
    steady.look(begun, [])
    for read, ms in latencies.items():
        if warm is not None and read > warm:
            steady.look(warm, [])
            warm = None
        board.seconds.decision(read * 1000, ms)
    steady.look(max(latencies), ends)
    return steady.report()


@pytest.mark.parametrize(
    ("read", "near"),
    [(998.9, False), (999.0, True), (1_000.0, True), (1_000.9, True), (1_003.9, True), (1_004.0, False)],
)
def test_a_decision_is_near_an_end_from_the_second_before_it_to_the_third_after(read: float, near: bool) -> None:
    found = run({990.0: 5, read: 900}, ends=[END], begun=900)
    assert found["latency_ms"]["max"] == pytest.approx(900, rel=0.01)
    assert found["latency_between_batch_ends_ms"]["max"] == pytest.approx(5 if near else 900, rel=0.01)


def test_ends_that_are_near_each_other_are_taken_off_once() -> None:
    found = run({990.0: 5, 1_000.0: 900, 1_001.0: 900, 1_002.0: 7}, ends=[END, END + 1], begun=900)
    assert found["latency_between_batch_ends_ms"]["max"] == pytest.approx(5, rel=0.01)


def test_an_end_may_be_told_of_again_and_again() -> None:
    board = Board()
    steady = Steady(board)
    for read, ms in ((990, 5), (1_000, 900)):
        board.seconds.decision(read * 1000, ms)
    for now in (1_001, 1_004, 1_006, 1_007):
        steady.look(now, [END])
    assert steady.report()["latency_between_batch_ends_ms"]["max"] == pytest.approx(5, rel=0.01)


def test_what_was_read_in_the_warm_up_does_not_count() -> None:
    begun = 900.0
    warm = begun + WARM_UP + 0.5
    found = run({begun + 1: 3_000, warm + 2: 5}, ends=[begun + 1], begun=begun, warm=warm)
    assert found["latency_ms"]["max"] == found["latency_between_batch_ends_ms"]["max"] == pytest.approx(5, rel=0.01)
    assert found["latency_from_s"] == WARM_UP


def test_a_run_shorter_than_the_warm_up_counts_whole() -> None:
    found = run({901.0: 3_000, 902.0: 5}, ends=[], begun=900)
    assert found["latency_ms"]["max"] == pytest.approx(3_000, rel=0.01)
    assert found["latency_from_s"] == 0


def test_without_decisions_there_are_no_numbers() -> None:
    found = Steady(Board()).report()
    assert set(found["latency_ms"].values()) == set(found["latency_between_batch_ends_ms"].values()) == {None}
