"""Generated time-lines of one key, and what Beam's own trigger driver makes of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from apache_beam.transforms import trigger, window
from apache_beam.transforms.core import Windowing
from apache_beam.utils.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP, Timestamp
from apache_beam.utils.windowed_value import PANE_INFO_UNKNOWN, WindowedValue

WINDOWS: list[Callable[[], Any]] = [
    lambda: window.FixedWindows(10),
    lambda: window.SlidingWindows(10, 5),
    lambda: window.Sessions(5),
    window.GlobalWindows,
]
TRIGGERS: list[Callable[[], Any]] = [
    trigger.DefaultTrigger,
    trigger.AfterWatermark,
    lambda: trigger.AfterWatermark(early=trigger.AfterCount(2)),
    lambda: trigger.AfterWatermark(early=trigger.AfterCount(2), late=trigger.AfterCount(1)),
    lambda: trigger.AfterCount(3),
    lambda: trigger.Repeatedly(trigger.AfterCount(2)),
    lambda: trigger.AfterAny(trigger.AfterCount(2), trigger.AfterWatermark()),
    lambda: trigger.AfterAll(trigger.AfterCount(3), trigger.AfterWatermark()),
    lambda: trigger.AfterEach(trigger.AfterCount(2), trigger.AfterWatermark()),
    lambda: trigger.OrFinally(trigger.Repeatedly(trigger.AfterCount(1)), trigger.AfterWatermark()),
]
Event = tuple[str, int]
Together = dict[str, list[int]] | int


def windowing_of(chance: random.Random) -> Windowing:
    return Windowing(
        chance.choice(WINDOWS)(), chance.choice(TRIGGERS)(),
        chance.choice([trigger.AccumulationMode.ACCUMULATING, trigger.AccumulationMode.DISCARDING]),
        chance.choice([window.TimestampCombiner.OUTPUT_AT_EOW, window.TimestampCombiner.OUTPUT_AT_LATEST]),
        allowed_lateness=chance.choice([0, 7, 100]),
    )  # fmt: skip


def timeline(seed: int) -> tuple[Windowing, list[Event]]:
    """A windowing, and elements ("at", second) with watermarks ("until", second) between them, which some of the elements come after."""
    chance = random.Random(seed)
    windowing = windowing_of(chance)
    events, now = [], 0
    for _ in range(chance.randint(4, 14)):
        if chance.random() < 0.7:
            events.append(("at", max(1, now + chance.randint(-12, 12))))
        else:
            now += chance.randint(1, 9)
            events.append(("until", now))
    return windowing, events


def timelines(seed: int, keys: str, rounds: int) -> tuple[Windowing, list[Together]]:
    """A windowing, and what comes to some keys under one watermark: by turns the seconds of the elements of each, and the watermark."""
    chance = random.Random(seed)
    windowing = windowing_of(chance)
    events: list[Together] = []
    now = 0
    for _ in range(rounds):
        events.append({key: [max(1, now + chance.randint(-12, 12)) for _ in range(chance.randint(0, 3))] for key in keys})
        now += chance.randint(1, 9)
        events.append(now)
    return windowing, events


def of_key(key: str, events: list[Together]) -> list[Event]:
    """The time-line of one of the keys."""
    each = [[("until", event)] if isinstance(event, int) else [("at", second) for second in event[key]] for event in events]
    return [event for part in each for event in part]


def element(windowing: Windowing, number: int, second: int) -> WindowedValue:
    """The element, in its windows."""
    at = Timestamp(second)
    return WindowedValue(number, at, windowing.windowfn.assign(window.WindowFn.AssignContext(at)), PANE_INFO_UNKNOWN)


class _State(trigger.InMemoryUnmergedState):  # type: ignore[misc]
    """Beam's, of which a window can be forgotten."""

    def clear_state(self, window: Any, tag: Any) -> None:
        if tag is None:
            self.state.pop(window, None)
        else:
            super().clear_state(window, tag)


def of_beam(windowing: Windowing, events: list[Event]) -> list[WindowedValue]:
    """The panes of Beam's driver with Beam's state, each event by itself, and then the end of the input.

    That a window which is over with its lateness is forgotten, and no later session merges with it, the driver leaves to who uses it.
    """
    driver, state = trigger.GeneralTriggerDriver(windowing, None), _State()
    panes: list[WindowedValue] = []
    now = MIN_TIMESTAMP

    def ring(until: Timestamp) -> None:
        while due := sorted(state.get_timers(clear=True, watermark=until)[0], key=lambda each: each[1][2]):
            for at, (name, domain, timestamp, _) in due:
                panes.extend(driver.process_timer(at, name, domain, timestamp, state, until))

    def forget(until: Timestamp) -> None:
        windows = trigger.MergeableStateAdapter(state)
        for each in list(windows.known_windows()):
            if each.end + windowing.allowed_lateness < until:
                windows.clear_state(each, None)

    for number, (kind, second) in enumerate(events):
        if kind == "at":
            panes += driver.process_elements(state, [element(windowing, number, second)], now, now)
        else:
            now = Timestamp(second)
        ring(now)
        forget(now)
    ring(MAX_TIMESTAMP)
    return panes


def shown(panes: list[WindowedValue]) -> list[Any]:
    """What counts of panes."""
    return [(list(pane.value), pane.timestamp, pane.windows, pane.pane_info) for pane in panes]
