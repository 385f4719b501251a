"""DoFns with state and timers, called by the kernel's scan: once for each element, and when a timer is due.

State and timers belong to a key and a window, and lie in the scan's row, which each element reads and writes whole. A window that is over
with all its lateness is forgotten.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apache_beam.transforms import userstate
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.utils.timestamp import MAX_TIMESTAMP, Timestamp
from apache_beam.utils.windowed_value import PANE_INFO_UNKNOWN, WindowedValue

from headrace.fronts.beam import elements
from headrace.fronts.beam.elements import Row
from headrace.fronts.beam.functions import Host
from headrace.fronts.beam.grouping import over

STATE = "wake timestamp, now timestamp, row binary"
OUTPUT = "tag string, value binary, time timestamp"

State = dict[str, Any]
Answer = tuple[State | None, list[Row]]


class Cell:
    """One state of the key and the window at hand: a list of what was added, or of the one value that was written."""

    def __init__(self, kept: dict[Any, Any], at: Any, spec: userstate.StateSpec) -> None:
        self._kept, self._at, self._spec = kept, at, spec

    def clear(self) -> None:
        self._kept.pop(self._at, None)

    def prefetch(self) -> None:
        """Nothing: it is here."""

    def _get(self) -> Any:
        return self._kept.get(self._at)


class ValueCell(Cell, userstate.ReadModifyWriteRuntimeState):  # type: ignore[misc]
    def read(self) -> Any:
        return self._get()

    def write(self, value: Any) -> None:
        self._kept[self._at] = value


class BagCell(Cell, userstate.BagRuntimeState):  # type: ignore[misc]
    def read(self) -> Any:
        return list(self._get() or ())

    def add(self, value: Any) -> None:
        self._kept.setdefault(self._at, []).append(value)


class SetCell(Cell, userstate.SetRuntimeState):  # type: ignore[misc]
    def read(self) -> Any:
        return set(self._get() or ())

    def add(self, value: Any) -> None:
        self._kept.setdefault(self._at, set()).add(value)


class CombiningCell(Cell, userstate.CombiningValueRuntimeState):  # type: ignore[misc]
    def read(self) -> Any:
        return self._spec.combine_fn.extract_output(self._accumulator())

    def add(self, value: Any) -> None:
        self._kept[self._at] = self._spec.combine_fn.add_input(self._accumulator(), value)

    def _accumulator(self) -> Any:
        known = self._get()
        return self._spec.combine_fn.create_accumulator() if known is None else known


_CELLS = {
    userstate.ReadModifyWriteStateSpec: ValueCell,
    userstate.BagStateSpec: BagCell,
    userstate.SetStateSpec: SetCell,
    userstate.CombiningValueStateSpec: CombiningCell,
}
STATES = tuple(_CELLS)
"""What state there is here."""


class UserTimer(userstate.BaseTimer):  # type: ignore[misc]
    """A timer of the key and the window at hand."""

    def __init__(self, timers: dict[Any, Timestamp], window: Any, name: str) -> None:
        self._timers, self._window, self._name = timers, window, name

    def set(self, timestamp: Timestamp, dynamic_timer_tag: str = "") -> None:
        self._timers[self._window, self._name, dynamic_timer_tag] = Timestamp.of(timestamp)

    def clear(self, dynamic_timer_tag: str = "") -> None:
        self._timers.pop((self._window, self._name, dynamic_timer_tag), None)


class KeyState(userstate.UserStateContext):  # type: ignore[misc]
    """State and timers of the key at hand."""

    def __init__(self) -> None:
        self.cells: dict[Any, Any] = {}
        self.timers: dict[Any, Timestamp] = {}

    def load(self, row: bytes | None) -> None:
        self.cells, self.timers = ({}, {}) if row is None else elements.loads(row)

    def row(self) -> bytes | None:
        return elements.dumps((self.cells, self.timers)) if self.cells or self.timers else None

    def get_state(self, state_spec: Any, key: Any, window: Any) -> Any:  # noqa: ARG002 - the key is the one at hand
        return _CELLS[type(state_spec)](self.cells, (window, state_spec.name), state_spec)

    def get_timer(self, timer_spec: Any, key: Any, window: Any, timestamp: Any, pane: Any) -> UserTimer:  # noqa: ARG002 - as above
        return UserTimer(self.timers, window, timer_spec.name)

    def commit(self) -> None:
        """Nothing: the scan saves the row."""


class KeyedHost(Host):
    """A DoFn with the state of the key at hand."""

    def begin(self, state: State) -> KeyState:
        if self.state is None:
            self.state = KeyState()
        self.state.load(state["row"])
        kept: KeyState = self.state
        return kept

    def fire(self, kept: KeyState, key: Any, now: Timestamp) -> list[tuple[str, WindowedValue]]:
        """What the timers up to a time give, those that they set included; windows that are over by then are forgotten."""
        specs = {spec.name: spec for spec in userstate.get_dofn_specs(self.spec.function)[1]}
        results: list[tuple[str, WindowedValue]] = []
        while due := [at for at, timestamp in kept.timers.items() if timestamp <= now]:
            at = min(due, key=lambda each: kept.timers[each])
            window, name, tag = at
            timestamp = kept.timers.pop(at)
            call = (specs[name], key, window, timestamp, PANE_INFO_UNKNOWN, tag)
            results += self.bundle(lambda runner, call=call: runner.process_user_timer(*call))
        lateness = self.spec.windowing.allowed_lateness
        for window in {at[0] for at in kept.cells if over(at[0], lateness) <= now}:
            kept.cells = {at: value for at, value in kept.cells.items() if at[0] != window}
        return results

    def answer(self, kept: KeyState, now: datetime | None, results: list[tuple[str, WindowedValue]]) -> Answer:
        rows = [{"tag": tag, "value": elements.packed(one), "time": elements.FIRST} for tag, one in results]
        row = kept.row()
        if row is None:
            return None, rows
        ends = [over(at[0], self.spec.windowing.allowed_lateness) for at in kept.cells]
        return {"wake": elements.to_time(min([MAX_TIMESTAMP, *kept.timers.values(), *ends])), "now": now, "row": row}, rows


class OnElement(KeyedHost):
    """What the scan calls with each element. An element of a window that is over is dropped, as Beam does."""

    def __call__(self, state: State, record: Row) -> Answer:
        kept, element = self.begin(state), elements.unpacked(record["value"])
        watermark = elements.to_timestamp(max(record["watermark"], state["now"] or record["watermark"]))
        lateness = self.spec.windowing.allowed_lateness
        results: list[tuple[str, WindowedValue]] = []
        windows = tuple(window for window in element.windows if over(window, lateness) > watermark)
        if windows:
            live = WindowedValue(element.value, element.timestamp, windows, element.pane_info)
            results += self.bundle(lambda runner: runner.process(live))
        results += self.fire(kept, element.value[0], watermark)
        return self.answer(kept, state["now"], results)


class OnAlarm(KeyedHost):
    """What the scan calls when the first timer of a key is due."""

    def __call__(self, state: State, key: Row, timer: Row) -> Answer:
        kept = self.begin(state)
        now = max(timer["time"], state["now"] or timer["time"])
        results = self.fire(kept, elements.key_value(key["key"]), elements.to_timestamp(now))
        return self.answer(kept, now, results)


def timers_by_the_clock(function: Any) -> list[str]:
    """The names of timers that go by the clock."""
    return [timer.name for timer in userstate.get_dofn_specs(function)[1] if timer.time_domain != TimeDomain.WATERMARK]
