"""GroupByKey, called by the kernel's scan: once for each element, and when a timer is due.

Which panes there are is decided by Beam's own trigger driver. Here is its state: small things in the scan's row, the elements of windows in
its map, so that an element costs what it touches. A key has one alarm in the scan: the first of the driver's timers, or the moment when a
window is over with all its lateness and is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apache_beam.transforms.trigger import (
    GeneralTriggerDriver,
    InMemoryUnmergedState,
    MergeableStateAdapter,
    _CombiningValueStateTag,
    _ListStateTag,
    _WatermarkHoldStateTag,
)
from apache_beam.transforms.window import IntervalWindow
from apache_beam.utils.timestamp import MAX_TIMESTAMP, Duration, Timestamp
from apache_beam.utils.windowed_value import WindowedValue

from headrace.fronts.beam import elements
from headrace.fronts.beam.elements import Row

STATE = "wake timestamp, now timestamp, row binary"
ENTRIES = "entries"
_TICK = Duration(micros=1)

State = dict[str, Any]
Answer = tuple[State | None, list[Row]]


@dataclass(frozen=True)
class Spec:
    """The windowing of what is grouped."""

    windowing: Any


class KeptState(InMemoryUnmergedState):  # type: ignore[misc]
    """The driver's state of a key. Counts and holds are kept combined, and elements as entries of the scan's map."""

    def __init__(self, row: bytes | None, entries: Any) -> None:
        super().__init__()
        self.entries = entries
        self.added = 0
        if row is not None:
            timers, state, self.global_state, self.added = elements.loads(row)
            self.timers.update(timers)
            for window, tagged in state.items():
                self.state[window].update(tagged)

    def row(self) -> bytes | None:
        """What is to be remembered; None if nothing is."""
        kept = {window: dict(tagged) for window, tagged in self.state.items() if tagged}
        timers = {window: timers for window, timers in self.timers.items() if timers}
        return elements.dumps((timers, kept, self.global_state, self.added)) if kept or timers or any(self.global_state.values()) else None

    def add_state(self, window: Any, tag: Any, value: Any) -> None:
        if isinstance(tag, _ListStateTag):
            self.added += 1
            self.entries.put(_prefix(window, tag) + self.added.to_bytes(8, "big"), elements.dumps(value))
            self.state[window][tag.tag] = True  # that there are some
        elif isinstance(tag, _CombiningValueStateTag):
            known = self.state[window].get(tag.tag)
            self.state[window][tag.tag] = tag.combine_fn.add_input(tag.combine_fn.create_accumulator() if known is None else known, value)
        elif isinstance(tag, _WatermarkHoldStateTag):
            known = self.state[window].get(tag.tag, [])
            self.state[window][tag.tag] = [tag.timestamp_combiner_impl.combine_all([*known, value])]
        else:
            super().add_state(window, tag, value)

    def get_state(self, window: Any, tag: Any) -> Any:
        if isinstance(tag, _ListStateTag):
            return [elements.loads(value) for _, value in self._entries(window, tag)]
        if isinstance(tag, _CombiningValueStateTag):
            known = self.state[window].get(tag.tag)
            return tag.combine_fn.extract_output(tag.combine_fn.create_accumulator() if known is None else known)
        return super().get_state(window, tag)

    def clear_state(self, window: Any, tag: Any) -> None:
        if tag is None:  # all of a window
            self.timers.pop(window, None)
            self._remove(_prefix(window, None))
            self.state.pop(window, None)
            return
        if isinstance(tag, _ListStateTag):
            self._remove(_prefix(window, tag))
        super().clear_state(window, tag)

    def _entries(self, window: Any, tag: Any) -> Iterable[tuple[bytes, bytes]]:
        start = _prefix(window, tag)
        kept: Iterable[tuple[bytes, bytes]] = self.entries.between(start, _after(start))
        return kept

    def _remove(self, start: bytes) -> None:
        for key, _ in list(self.entries.between(start, _after(start))):
            self.entries.delete(key)


class Grouping:
    """The driver in a process, with the state of the key at hand."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.driver = GeneralTriggerDriver(spec.windowing, None)

    def fire(self, kept: KeptState, now: Timestamp) -> list[WindowedValue]:
        """The panes of all timers up to a time, and what is over by then is forgotten."""
        panes: list[WindowedValue] = []
        while due := sorted(kept.get_timers(clear=True, watermark=now)[0], key=lambda each: each[1][2]):
            for window, (name, domain, timestamp, _) in due:
                panes += self.driver.process_timer(window, name, domain, timestamp, kept, now)
        windows = MergeableStateAdapter(kept)
        for window in [each for each in windows.known_windows() if over(each, self.driver.allowed_lateness) <= now]:
            windows.clear_state(window, None)
        return panes

    def answer(self, key: Any, kept: KeptState, now: datetime | None, panes: list[WindowedValue]) -> Answer:
        """The state as it becomes, and a row for each pane."""
        rows = [{"value": elements.packed(pane.with_value((key, pane.value))), "time": elements.FIRST} for pane in panes]
        row = kept.row()
        if row is None:
            return None, rows
        timers = [timestamp for named in kept.timers.values() for timestamp in named.values()]
        windows = MergeableStateAdapter(kept).known_windows()
        wake = min([MAX_TIMESTAMP, *timers, *(over(window, self.driver.allowed_lateness) for window in windows)])
        return {"wake": elements.to_time(wake), "now": now, "row": row}, rows


class OnElement(Grouping):
    """What the scan calls with each element. Columns: key, value, time, watermark."""

    def __call__(self, state: State, record: Row) -> Answer:
        kept = KeptState(state["row"], state[ENTRIES])
        element = elements.unpacked(record["value"])
        key, value = element.value
        # Behind another scan an alarm may have brought the key further than the watermark by which its elements are judged.
        watermark = elements.to_timestamp(max(record["watermark"], state["now"] or record["watermark"]))
        panes = list(self.driver.process_elements(kept, [element.with_value(value)], watermark, watermark))
        panes += self.fire(kept, watermark)
        return self.answer(key, kept, state["now"], panes)


class OnAlarm(Grouping):
    """What the scan calls when the first timer of a key is due."""

    def __call__(self, state: State, key: Row, timer: Row) -> Answer:
        kept = KeptState(state["row"], state[ENTRIES])
        now = max(timer["time"], state["now"] or timer["time"])
        panes = self.fire(kept, elements.to_timestamp(now))
        return self.answer(elements.key_value(key["key"]), kept, now, panes)


def over(window: Any, lateness: Any) -> Timestamp:
    """When a window is forgotten: an element of it is then too late."""
    if not isinstance(window, IntervalWindow) and window.end >= MAX_TIMESTAMP:
        return MAX_TIMESTAMP
    return min(MAX_TIMESTAMP, window.end + lateness + _TICK)


def _prefix(window: Any, tag: Any) -> bytes:
    """What the keys of a window's entries begin with. Windows are numbered by Beam's adapter."""
    head: bytes = int(window).to_bytes(8, "big")
    return head if tag is None else head + tag.tag.encode() + b"\0"


def _after(start: bytes) -> bytes:
    """The first key that does not begin with this."""
    return start[:-1] + bytes([start[-1] + 1]) if start[-1] < 255 else _after(start[:-1])
