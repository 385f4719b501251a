"""Flink's window operator, called by the kernel's scan: content, trigger, evictor, function.

A fixed window of a key is a key of the scan, assigned natively; records are taken as they come, and the watermark decides what is late.
Other windows (sessions, which become one; global ones; those of a program's own assigner) are kept together under their key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

from headrace.fronts.flink import functions
from headrace.fronts.flink.running.process import By, Closing, Host, Rows, State, new_rows
from headrace.fronts.flink.running.state import Backend, ListState, StateStore
from headrace.fronts.flink.times import MIN_TIMESTAMP, to_millis, to_time
from headrace.fronts.flink.types import Convert
from headrace.fronts.flink.windows.assigners import GlobalWindow, TimeWindow, WindowAssigner
from headrace.fronts.flink.windows.evictors import Evictor, TimestampedValue
from headrace.fronts.flink.windows.triggers import Trigger, TriggerResult

_WINDOWS = (None, "windows")

Fold = tuple[Any, Callable[..., Any], Callable[..., Any], Callable[..., Any]]
"""How content is folded: the accumulator of nothing (None: it begins with the first value), with a value more, of two, the result."""


@dataclass(frozen=True)
class WindowSpec:
    """
    function  what is called when a window fires, `call(key, context, elements)`; `owner` is the object to be opened, closed and cleared
    fold      how content is kept; None: as a list
    fixed     the window is in the columns `start` and `end`
    ordered   records come in the order of their time: time is how far the alarms of the key have come; else the column `watermark`
    by        which time timers go by
    """

    assigner: WindowAssigner
    trigger: Trigger
    evictor: Evictor | None
    call: Callable[..., Iterable[Any] | None]
    function: Any
    fold: Fold | None
    lateness: int
    fixed: bool
    ordered: bool
    by: By
    read: Convert
    key: Convert
    write: Convert
    tasks: bool = False


class TriggerContext(StateStore):
    """What a trigger is handed."""

    def __init__(self, host: WindowHost, window: Any, merged: tuple[Any, ...] = ()) -> None:
        super().__init__(host.backend.at(("trigger", *window)))
        self._host, self._merged = host, merged
        timers = host.timers
        self.get_current_processing_time, self.get_current_watermark = timers.current_processing_time, timers.current_watermark
        self.register_event_time_timer, self.delete_event_time_timer = timers.register_event_time_timer, timers.delete_event_time_timer
        self.register_processing_time_timer = timers.register_processing_time_timer
        self.delete_processing_time_timer = timers.delete_processing_time_timer

    def get_partitioned_state(self, state_descriptor: Any) -> Any:
        """A state of the trigger for this window."""
        return self._host.state(self, state_descriptor)

    def merge_partitioned_state(self, state_descriptor: Any) -> None:
        """What the windows that have become this one had, together."""
        own = self.get_partitioned_state(state_descriptor)
        for window in self._merged:
            other = self._host.state(TriggerContext(self._host, window), state_descriptor)
            if other.get() is not None:
                own.add(other.get())
                other.clear()


class WindowContext:
    """What a ProcessWindowFunction is handed."""

    def __init__(self, host: WindowHost, window: Any) -> None:
        self._host, self._window = host, window

    def window(self) -> Any:
        """The window."""
        return self._window

    def current_processing_time(self) -> int:
        """The clock, in milliseconds."""
        return self._host.timers.current_processing_time()

    def current_watermark(self) -> int:
        """The time up to which the window has come."""
        return self._host.timers.current_watermark()

    def window_state(self) -> StateStore:
        """State of this key and window; clear it in `clear`."""
        return StateStore(self._host.backend.at(("window", *self._window)))

    def global_state(self) -> StateStore:
        """State of this key, for all its windows: of a fixed window, which is a key of its own here, it is refused."""
        if self._host.spec.fixed:
            raise TypeError(
                "global_state: fixed windows of a key keep their state apart here: use window_state, or process the results by key"
            )
        return StateStore(self._host.backend.at(None))


class WindowHost(Host):
    """The windows of the key at hand."""

    spec: WindowSpec

    def begin(self, state: State) -> int | None:
        if not self.opened:
            self.opened = True
            self.spec.function.open(StateStore(self.backend.at(None)))
        self.backend.load(state["row"], state["entries"])
        now: int | None = state["now"]
        self.timers._watermark = MIN_TIMESTAMP if now is None else now
        return now

    def state(self, store: StateStore, descriptor: Any) -> Any:
        kinds: dict[str, Any] = {
            "ReducingStateDescriptor": store.get_reducing_state,
            "AggregatingStateDescriptor": store.get_aggregating_state,
            "ListStateDescriptor": store.get_list_state,
            "MapStateDescriptor": store.get_map_state,
        }
        return kinds.get(type(descriptor).__name__, store.get_state)(descriptor)

    # -- a record ----------------------------------------------------------------------------------------------------------------------

    def element(self, value: Any, timestamp: int | None, key: Any, windows: list[Any], rows: Rows) -> None:
        for assigned in windows:
            if not isinstance(assigned, tuple) or not hasattr(assigned, "max_timestamp"):
                raise TypeError(f"assign_windows gave {assigned!r}, but a TimeWindow or GlobalWindow is needed")
            # A class that came with the job is another one.
            window: Any = TimeWindow(*assigned) if len(assigned) == 2 else GlobalWindow(*assigned)
            cleanup = self.cleanup(window)
            if cleanup is not None and not self.spec.ordered and cleanup <= self.timers.current_watermark():
                continue  # another of the record's windows takes it, or it would be late
            actual = self.merged(window) if self.spec.assigner.merges else window
            self.backend.space = tuple(actual)
            self.add(actual, value, timestamp)
            context = TriggerContext(self, actual)
            self.act(self.spec.trigger.on_element(value, timestamp, actual, context), actual, key, timestamp, rows)
            if (cleanup := self.cleanup(actual)) is not None:
                self.timers._register(self.spec.by, cleanup)

    def act(self, result: TriggerResult, window: Any, key: Any, timestamp: int | None, rows: Rows) -> None:
        fires, purges = result.value
        if fires:
            self.emit(window, key, timestamp, rows)
        if purges:
            self.content(window).clear()

    def emit(self, window: Any, key: Any, timestamp: int | None, rows: Rows) -> None:
        elements = self.elements(window)
        if elements is None:
            return
        at = window.max_timestamp() if isinstance(window, TimeWindow) else timestamp
        context, evictor = WindowContext(self, window), self.spec.evictor
        if evictor is not None:
            evictor.evict_before(elements, len(elements), window, context)
        values = [element.value for element in elements] if self.spec.fold is None else elements
        self.put(self.spec.call(key, context, values), at, rows)
        if evictor is not None:
            evictor.evict_after(elements, len(elements), window, context)
            content = self.content(window)
            if len(elements) < (content._backend.get("list") or 0):
                content.update([tuple(element) for element in elements])

    # -- a timer -----------------------------------------------------------------------------------------------------------------------

    def fire(self, until: int, rows: Rows, key: Any) -> None:
        while due := [timer for timer in self.backend.timers if timer[0] <= until]:
            at, space = min(due, key=lambda timer: timer[0])
            self.backend.timers.remove((at, space))
            window: Any = TimeWindow(*space) if len(space) == 2 else GlobalWindow(*space)
            self.timers._watermark = max(self.timers._watermark, at)
            if self.spec.assigner.merges and tuple(window) not in self.backend.values.get(_WINDOWS, {}):
                continue
            self.backend.space = space
            called = self.spec.trigger.on_event_time if self.spec.by == "event" else self.spec.trigger.on_processing_time
            self.act(called(at, window, TriggerContext(self, window)), window, key, at, rows)
            if at == self.cleanup(window):
                self.clear(window)

    def cleanup(self, window: Any) -> int | None:
        if self.spec.by is None or not isinstance(window, TimeWindow):
            return None
        end = window.max_timestamp()
        return end + self.spec.lateness if self.spec.assigner.is_event_time() else end

    def clear(self, window: Any) -> None:
        self.content(window).clear()
        self.spec.trigger.clear(window, TriggerContext(self, window))
        if functions.defines(self.spec.function, "clear"):
            self.spec.function.clear(WindowContext(self, window))
        windows = self.backend.values.get(_WINDOWS, {})
        windows.pop(tuple(window), None)
        if not windows:
            self.backend.values.pop(_WINDOWS, None)

    # -- content -----------------------------------------------------------------------------------------------------------------------

    def content(self, window: Any) -> Any:
        place = self.backend.values.get(_WINDOWS, {}).get(tuple(window), tuple(window))
        return (
            ListState(self.backend.at(("content", *place)), "list")
            if self.spec.fold is None
            else _Value(self.backend.at(("content", *place)))
        )

    def add(self, window: Any, value: Any, timestamp: int | None) -> None:
        content = self.content(window)
        if self.spec.fold is None:
            content.add((value, timestamp))
            return
        create, add, _, _ = self.spec.fold
        if content.there:
            content.put(add(content.get(), value))
        else:
            content.put(value if create is None else add(create(), value))

    def elements(self, window: Any) -> list[Any] | None:
        """The records of a window, or the one value that they are folded into; None if there is nothing."""
        content = self.content(window)
        if self.spec.fold is None:
            return [TimestampedValue(*each) for each in content.get()] or None
        return [self.spec.fold[3](content.get())] if content.there else None

    # -- windows that become one -------------------------------------------------------------------------------------------------------

    def merged(self, window: Any) -> Any:
        windows: dict[Any, Any] = self.backend.values.setdefault(_WINDOWS, {})
        touching = sorted(each for each in windows if each[0] <= window.end and window.start <= each[1])
        if not touching:
            windows[tuple(window)] = tuple(window)
            return window
        cover = TimeWindow(min(window.start, touching[0][0]), max(window.end, *(end for _, end in touching)))
        if touching == [tuple(cover)]:
            return cover
        for other in touching[1:]:
            self.join(TimeWindow(*touching[0]), TimeWindow(*other))
        state = windows[touching[0]]
        for other in touching:
            del windows[other]
        windows[tuple(cover)] = state
        self.backend.space = tuple(cover)
        gone = tuple(TimeWindow(*each) for each in touching if each != tuple(cover))
        self.spec.trigger.on_merge(cover, TriggerContext(self, cover, gone))
        for other in gone:
            self.backend.space = tuple(other)
            self.spec.trigger.clear(other, TriggerContext(self, other))
            if (cleanup := self.cleanup(other)) is not None:
                self.timers._delete(cleanup)
        return cover

    def join(self, one: TimeWindow, other: TimeWindow) -> None:
        ours, theirs = self.content(one), self.content(other)
        if self.spec.fold is None:
            ours.add_all(theirs.get())
        elif theirs.there:
            ours.put(self.spec.fold[2](ours.get(), theirs.get()) if ours.there else theirs.get())
        theirs.clear()


class _Value:
    """The accumulator of a window."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @property
    def there(self) -> bool:
        return self._backend.get("value") is not None

    def get(self) -> Any:
        return self._backend.get("value")[0]

    def put(self, value: Any) -> None:
        self._backend.put("value", [value])

    def clear(self) -> None:
        self._backend.remove("value")


class OnRecord(WindowHost):
    """What the scan calls with each record."""

    def __call__(self, state: State, record: dict[str, Any]) -> tuple[State | None, Rows]:
        now, rows, spec = self.begin(state), new_rows(), self.spec
        timestamp = to_millis(record.get("now") or record["time"])
        value, key = spec.read(record["value"]), spec.key(record["key"])
        if "watermark" in record:  # what was due before this record, though the alarm rings after it
            self.timers._watermark = reached = (to_millis(record["watermark"]) or 0) - 1
            self.fire(reached, rows, key)
        windows = (
            [TimeWindow(to_millis(record["start"]) or 0, to_millis(record["end"]) or 0)]
            if spec.fixed
            else spec.assigner.assign_windows(value, timestamp, self.timers)  # type: ignore[arg-type]
        )
        self.element(value, timestamp, key, windows, rows)
        if now is not None:  # an alarm does not ring again for a time that has been
            self.fire(now, rows, key)
        return self.answered(now, rows)

    def answered(self, now: int | None, rows: Rows) -> tuple[State | None, Rows]:
        after, put_out = self.answer(now, rows)
        if after is not None and after["wake"] is not None and _early(self.spec):
            after["wake"] = to_time((to_millis(after["wake"]) or 0) + 1)
        return after, put_out


class OnAlarm(OnRecord):
    """What the scan calls when a timer of a window is due."""

    def __call__(self, state: State, key: dict[str, Any], timer: dict[str, Any]) -> tuple[State | None, Rows]:  # type: ignore[override]
        before, rows = self.begin(state), new_rows()
        now = (to_millis(timer["time"]) or 0) - _early(self.spec)
        now = now if before is None else max(before, now)
        self.fire(now, rows, self.spec.key(key["key"]))
        return self.answered(now, rows)


def _early(spec: WindowSpec) -> bool:
    """Whether an alarm rings a moment later than the timer says. Flink's watermark of a moment says that nothing of that moment is to come,
    Spark's that something still may. And a record at the very end of a session still belongs to it, as to any window that it touches."""
    return spec.by == "event" and (not spec.ordered or spec.assigner.merges)


class ClosingOnRecord(Closing, OnRecord):  # type: ignore[misc]
    """`OnRecord` of a function that is to be closed."""


def on_record(spec: WindowSpec) -> Callable[..., Any]:
    """What the scan calls with a record."""
    return (ClosingOnRecord if functions.defines(spec.function, "close") else OnRecord)(spec)


def reducing(call: Callable[[Any, Any], Any]) -> Fold:
    """A reduce function as a fold."""
    return None, call, call, _same


def aggregating(function: Any) -> Fold:
    """An AggregateFunction as a fold."""
    return function.create_accumulator, lambda known, value: function.add(value, known), function.merge, function.get_result


def folded(fold: Fold, values: list[Any]) -> Any:
    """What a fold makes of a list."""
    create, add, _, result = fold
    return result(reduce(add, values) if create is None else reduce(add, values, create()))


def _same(value: Any) -> Any:
    return value
