"""Windows and triggers by a clock of our own: when a message comes, which panes come out. Without Spark: it is one class."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.samza import AccumulationMode, FiringType, Triggers, Windows

EARLY, DEFAULT = FiringType.EARLY, FiringType.DEFAULT
DISCARDING = AccumulationMode.DISCARDING


def panes(window: Any, messages: list[tuple[int, Any]], until: int | None = None) -> list[tuple[Any, ...]]:
    """(key, start, messages, type) of each pane; what is open at the end fires if `until` is None."""
    state: dict[Any, Any] = {}
    fired = []
    for at, message in messages:
        fired += window.fire(state, at)
        fired += window.take(state, message, at)
    fired += window.fire(state, until)
    return [(pane.key.key, int(pane.key.paneId), pane.message, pane.firingType) for pane in fired]


def first(message: str) -> str:
    return message[0]


TEN = "10 milliseconds"


@pytest.mark.parametrize(
    ("window", "messages", "expected"),
    [
        (Windows.tumblingWindow(TEN), [(3, "a"), (9, "b"), (10, "c")], [(None, 0, ["a", "b"], DEFAULT), (None, 10, ["c"], DEFAULT)]),
        (Windows.tumblingWindow(TEN), [(3, "a"), (45, "b")], [(None, 0, ["a"], DEFAULT), (None, 40, ["b"], DEFAULT)]),
        (
            Windows.keyedTumblingWindow(first, TEN), [(1, "a1"), (2, "b1"), (3, "a2")],
            [("a", 0, ["a1", "a2"], DEFAULT), ("b", 0, ["b1"], DEFAULT)],
        ),
        (Windows.tumblingWindow(TEN, lambda: 0, lambda _, n: n + 1), [(1, "a"), (2, "b"), (11, "c")],
         [(None, 0, 2, DEFAULT), (None, 10, 1, DEFAULT)]),
        (
            Windows.keyedSessionWindow(first, TEN), [(0, "a1"), (9, "a2"), (19, "a3"), (20, "b1")],
            [("a", 0, ["a1", "a2"], DEFAULT), ("a", 19, ["a3"], DEFAULT), ("b", 20, ["b1"], DEFAULT)],
        ),
    ],
    ids=["aligned", "no-pane-without-messages", "keyed", "folded", "a-pause-equal-to-the-gap-closes-a-session"],
)  # fmt: skip
def test_a_window_fires_at_its_end(window: Any, messages: list[tuple[int, Any]], expected: list[tuple[Any, ...]]) -> None:
    assert panes(window, messages) == expected


FOUR = [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


@pytest.mark.parametrize(
    ("trigger", "mode", "expected"),
    [
        (Triggers.count(2), None, [(EARLY, "ab"), (DEFAULT, "abcd")]),
        (Triggers.count(2), DISCARDING, [(EARLY, "ab"), (DEFAULT, "cd")]),
        (Triggers.repeat(Triggers.count(2)), None, [(EARLY, "ab"), (EARLY, "abcd"), (DEFAULT, "abcd")]),
        (Triggers.repeat(Triggers.count(2)), DISCARDING, [(EARLY, "ab"), (EARLY, "cd")]),
        (Triggers.timeSinceFirstMessage("2 milliseconds"), None, [(EARLY, "ab"), (DEFAULT, "abcd")]),
        (Triggers.timeSinceLastMessage("2 milliseconds"), None, [(EARLY, "abcd"), (DEFAULT, "abcd")]),
        (Triggers.any(Triggers.count(3), Triggers.timeSinceLastMessage("1 hour")), None, [(EARLY, "abc"), (DEFAULT, "abcd")]),
        (Triggers.repeat(Triggers.timeSinceFirstMessage("2 milliseconds")), DISCARDING, [(EARLY, "ab"), (EARLY, "cd")]),
    ],
)  # fmt: skip
def test_an_early_trigger_fires_once_unless_repeated_and_discards_if_told(trigger: Any, mode: Any, expected: list[tuple[Any, str]]) -> None:
    window = Windows.tumblingWindow("100 milliseconds").setEarlyTrigger(trigger)
    window = window if mode is None else window.setAccumulationMode(mode)
    assert [(why, "".join(messages)) for _, _, messages, why in panes(window, FOUR, until=100)] == expected
