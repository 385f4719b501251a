"""The mixed policies of Flink 0.8 by its own examples (windows.md, section 6): values and times are the same numbers."""

from __future__ import annotations

import pytest

from headrace.flink import Count, Delta, Punctuation, Time
from headrace.fronts.flink.windows.policies import Buffer, Duration, Policies, Policy


def sums(kept: list[Policy], often: list[Policy] | None, values: list[int]) -> list[int]:
    """What the function gives, the end of the stream included."""
    buffer = Buffer(Policies(tuple(kept), None if often is None else tuple(often)), [], None)
    panes = [pane for value in values for pane in buffer.take(value, value)]
    return [sum(pane) for pane in [*panes, [value for value, _ in buffer.kept]]]


@pytest.mark.parametrize(
    ("kept", "often", "values", "expected"),
    [
        ([Duration(4)], [Duration(2, start=3)], [1, 2, 2, 3, 4, 5, 10, 11, 11], [12, 12, 5, 10, 32]),
        ([Count.of(2, start=-1, delete=2)], [Count.of(2, start=-1)], list(range(1, 11)), [6, 12, 18, 24, 19]),
        ([Count.of(2, delete=2), Count.of(3, delete=3)], [Count.of(2), Count.of(3)], list(range(1, 11)), [3, 3, 4, 11, 15, 9, 10]),
        ([Count.of(3)], None, [1, 2, 3, 4, 5, 6, 7], [6, 15, 7]),
        ([Delta.of(lambda old, new: new - old, 2, 0)], None, [1, 2, 3, 6], [3, 3, 6]),
        ([Punctuation.of(0, lambda value: value % 5)], None, [1, 2, 5, 6, 10, 11], [3, 11, 21]),
        ([Count.of(5), Duration(3)], [Count.of(1)], [1, 2, 3, 9, 10], [1, 3, 6, 9, 19]),
    ],
    ids=["time-and-time", "count-and-count", "two-triggers-two-evictions", "tumbling", "delta", "punctuation", "the-strictest-controls"],
)
def test_policies_give_what_flink_gave(kept: list[Policy], often: list[Policy] | None, values: list[int], expected: list[int]) -> None:
    assert sums(kept, often, values) == expected


def test_a_time_is_a_policy_too() -> None:
    from headrace.fronts.flink.windows.policies import policies

    assert policies("window", [Count.of(100), Time.minutes(1)]).kept == (Count(100), Duration(60_000))
