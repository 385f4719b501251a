"""The scan's part in Flink's window operator, in a test: records and watermarks by hand, without Spark."""

from __future__ import annotations

from typing import Any

from headrace.fronts.flink.running.process import ENTRIES
from headrace.fronts.flink.running.windows import OnAlarm, OnRecord, WindowSpec, reducing
from headrace.fronts.flink.times import to_millis, to_time
from headrace.fronts.flink.windows.assigners import FixedWindows, GlobalWindows, TimeWindow, WindowAssigner
from headrace.fronts.flink.windows.evictors import Evictor
from headrace.fronts.flink.windows.triggers import Trigger, by


class Entries(dict[bytes, bytes]):
    """A map of the kernel's."""

    def put(self, key: bytes, value: bytes) -> None:
        self[key] = value

    def delete(self, key: bytes) -> None:
        self.pop(key, None)

    def between(self, start: bytes, end: bytes) -> list[tuple[bytes, bytes]]:
        return sorted((key, value) for key, value in self.items() if start <= key < end)


def same(value: Any) -> Any:
    return value


class Windows:
    """The windows of some keys. `out` are what they gave: (key, value, window); `late` the records that came too late."""

    def __init__(
        self,
        assigner: WindowAssigner,
        trigger: Trigger | None = None,
        evictor: Evictor | None = None,
        *,
        lateness: int = 0,
        reduce: Any = lambda one, other: one + other,
    ) -> None:
        chosen = trigger or assigner.get_default_trigger(None)
        own = by(chosen) if isinstance(assigner, GlobalWindows) else "event"
        self.fixed = isinstance(assigner, FixedWindows)
        self.assigner, self.lateness, self.watermark = assigner, lateness, -1
        self.ordered = not self.fixed and own == "event"

        def call(key: Any, context: Any, values: list[Any]) -> Any:
            total = values[0] if evictor is None else sum(values)
            return [(key, total, tuple(context.window()))]

        fold = reducing(reduce) if evictor is None else None
        spec = WindowSpec(assigner, chosen, evictor, call, None, fold, lateness, self.fixed, self.ordered, own, same, same, same)
        self.on_record, self.on_alarm = OnRecord(spec), OnAlarm(spec)
        self.states: dict[Any, tuple[dict[str, Any], Entries]] = {}
        self.out: list[Any] = []
        self.late: list[Any] = []

    def record(self, key: str, time: int, value: Any = 1) -> list[Any]:
        """A record as it comes; what it put out."""
        for window in self._windows(time):
            state = {} if window is None else {"start": to_time(window[0]), "end": to_time(window[1]), "watermark": to_time(self.watermark)}
            record = {"value": value, "time": to_time(time), "key": key, **state}
            self._called((key, window), lambda known, record=record: self.on_record(known, record))
        return self._taken()

    def reach(self, watermark: int) -> list[Any]:
        """Time goes on to Flink's watermark, which is Spark's less one; what windows put out."""
        self.watermark = watermark + 1
        reached = watermark if self.ordered else watermark + 1
        while due := [
            (state["wake"], at) for at, (state, _) in self.states.items() if state["wake"] and (to_millis(state["wake"]) or 0) <= reached
        ]:
            wake, at = min(due, key=lambda each: (each[0], str(each[1])))
            self._called(at, lambda known, wake=wake, at=at: self.on_alarm(known, {"key": at[0]}, {"time": wake}))
        return self._taken()

    def _windows(self, time: int) -> list[Any]:
        if not self.fixed:
            return [None]
        size, slide, offset = self.assigner.size, self.assigner.slide, self.assigner.offset  # type: ignore[attr-defined]
        last = time - (time - offset) % slide
        windows = [TimeWindow(start, start + size) for start in range(last, time - size, -slide)]
        if windows[0].end + self.lateness <= self.watermark:  # as the kernel has it: `late_after` is that of the last window
            self.late.append(time)
            return []
        return windows

    def _called(self, at: Any, call: Any) -> None:
        state, entries = self.states.pop(at, ({"wake": None, "now": None, "row": None}, Entries()))
        after, rows = call({**state, ENTRIES: entries})
        if after is not None:
            self.states[at] = after, entries
        self.out += [row["value"] for row in rows["main"]]

    def _taken(self) -> list[Any]:
        taken, self.out = self.out, []
        return taken
