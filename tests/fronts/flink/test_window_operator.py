"""Flink's windows by its own worked examples (windows.md, sections 2 to 5), without Spark: triggers, evictors, late records."""

from __future__ import annotations

from typing import Any

import pytest
from tests.fronts.flink.driver import Windows

from headrace.flink import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountTrigger,
    DeltaEvictor,
    DeltaTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TimeEvictor,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
)

TUMBLING = TumblingEventTimeWindows.of(2000)


def test_a_late_record_is_refused_without_allowed_lateness() -> None:
    windows = Windows(TUMBLING)
    assert windows.record("k", 1000) + windows.reach(1985) + windows.record("k", 1980) == []
    assert windows.reach(1999) == [("k", 2, (0, 2000))]
    assert windows.record("k", 1998) + windows.record("k", 2001) == []
    assert windows.reach(3999) == [("k", 1, (2000, 4000))]
    assert windows.late == [1998]


@pytest.mark.parametrize(("trigger", "again"), [(PurgingTrigger.of(EventTimeTrigger.create()), 1), (EventTimeTrigger.create(), 3)])
def test_within_the_lateness_each_record_fires_with_all_that_was_not_purged(trigger: Trigger, again: int) -> None:
    windows = Windows(TUMBLING, trigger, lateness=500)
    assert windows.record("k", 500) + windows.reach(1500) + windows.record("k", 1300) == []
    assert windows.reach(2300) == [("k", 2, (0, 2000))]
    assert windows.record("k", 1997) == [("k", again, (0, 2000))]
    assert windows.reach(6000) == []
    assert windows.record("k", 1998) == []
    assert windows.late == [1998]
    assert not windows.states  # nothing is kept of a window that is over


def test_a_late_record_enters_those_of_its_windows_that_still_live() -> None:
    windows = Windows(SlidingEventTimeWindows.of(3000, 1000))
    windows.reach(3000)
    assert windows.record("k", 2400) == []
    assert windows.late == []
    assert windows.reach(9000) == [("k", 1, (1000, 4000)), ("k", 1, (2000, 5000))]


def test_sessions_join_when_the_pause_is_the_gap_and_no_longer() -> None:
    windows = Windows(EventTimeSessionWindows.with_gap(3000))
    for time, value in ((0, 1), (1000, 2), (2500, 3), (5501, 4), (6000, 5), (6000, 5), (6050, 6)):
        windows.record("key2", time, value)
    assert windows.reach(12000) == [("key2", 6, (0, 5500)), ("key2", 20, (5501, 9050))]
    touching = Windows(EventTimeSessionWindows.with_gap(3000))
    touching.record("k", 0)
    touching.record("k", 3000)
    assert touching.reach(9000) == [("k", 2, (0, 6000))]


def test_a_record_between_two_sessions_makes_them_one_whatever_the_order() -> None:
    windows = Windows(EventTimeSessionWindows.with_gap(10))
    for time, value in ((20, 1), (1, 2), (11, 4)):
        windows.record("k", time, value)
    assert windows.reach(100) == [("k", 7, (1, 30))]
    assert not windows.states


def test_a_late_record_that_touches_a_session_within_its_lateness_fires_the_whole_at_once() -> None:
    windows = Windows(EventTimeSessionWindows.with_gap(3000), lateness=10)
    windows.record("k", 11600)
    assert windows.reach(14600) == [("k", 1, (11600, 14600))]
    assert windows.record("k", 10000) == [("k", 2, (10000, 14600))]


def test_continuous_fires_at_multiples_of_the_interval_also_without_new_records() -> None:
    windows = Windows(GlobalWindows.create(), ContinuousEventTimeTrigger.of(3000))
    for time in (0, 20, 999):
        windows.record("key1", time)
    assert windows.reach(3000) == [("key1", 3, (0,))]
    for time in (3000, 3999):
        windows.record("key2", time)
    assert windows.reach(6000) == [("key1", 3, (0,)), ("key2", 2, (0,))]


def test_continuous_on_sessions_keeps_the_earliest_timer_of_those_that_merge() -> None:
    windows = Windows(EventTimeSessionWindows.with_gap(3000), ContinuousEventTimeTrigger.of(2000))
    for time in (0, 2500, 1000):
        windows.record("key2", time)
    assert windows.reach(2500) == [("key2", 3, (0, 5500))]


def test_count_windows_purge_and_sliding_ones_keep_the_last() -> None:
    counting = Windows(GlobalWindows.create(), PurgingTrigger.of(CountTrigger.of(4)))
    assert [row for time in range(7) for row in counting.record("k", time)] == [("k", 4, (0,))]
    sliding = Windows(GlobalWindows.create(), CountTrigger.of(2), CountEvictor.of(4))
    assert [total for time in range(6) for _, total, _ in sliding.record("k", time)] == [2, 4, 4]


def test_a_count_trigger_on_a_window_of_time_never_fires_by_time() -> None:
    windows = Windows(TUMBLING, CountTrigger.of(2))
    assert [row for time in (1, 2, 3) for row in windows.record("k", time)] == [("k", 2, (0, 2000))]
    assert windows.reach(9000) == []
    assert not windows.states


def test_the_delta_evictor_compares_each_with_the_last() -> None:
    windows = Windows(GlobalWindows.create(), CountTrigger.of(2), DeltaEvictor.of(2, lambda old, new: new - old))
    assert [total for value in (1, 4, 5, 6) for _, total, _ in windows.record("k", 0, value)] == [4, 11]


def test_the_time_evictor_drops_what_is_as_old_as_its_time() -> None:
    windows = Windows(TumblingEventTimeWindows.of(4000), CountTrigger.of(2), TimeEvictor.of(2000))
    assert [total for time in (1000, 3999, 3500, 2001) for _, total, _ in windows.record("k", time)] == [1, 3]


def test_the_delta_trigger_fires_with_the_record_that_moved_too_far() -> None:
    windows = Windows(GlobalWindows.create(), DeltaTrigger.of(2, lambda old, new: new - old))
    assert [total for value in (1, 2, 3, 6) for _, total, _ in windows.record("k", 0, value)] == [12]


class EverySecond(Trigger):
    """A trigger of a program's own: with every second record, and it remembers in state of the window."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        from headrace.flink import ValueStateDescriptor

        seen = ctx.get_partitioned_state(ValueStateDescriptor("seen"))
        seen.update((seen.value() or 0) + 1)
        return TriggerResult.FIRE_AND_PURGE if seen.value() % 2 == 0 else TriggerResult.CONTINUE


def test_a_trigger_of_ones_own_has_state_of_its_window() -> None:
    windows = Windows(GlobalWindows.create(), EverySecond())
    assert [total for _ in range(4) for _, total, _ in windows.record("k", 0)] == [2, 2]


def test_a_window_that_is_due_fires_before_a_late_record_of_the_same_batch() -> None:
    windows = Windows(TUMBLING, lateness=500)
    windows.record("k", 500)
    windows.watermark = 2100  # it has passed the end, and the alarm has not rung yet
    assert windows.record("k", 700) == [("k", 1, (0, 2000)), ("k", 2, (0, 2000))]
    assert windows.reach(2600) == []
    assert not windows.states
