"""Functions with keyed state and timers, called by the kernel's scan: once for each record, and when a timer is due.

A key has one alarm in the scan. Its timers are kept in its state, and the alarm is set to the first of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from headrace.fronts.flink import codec, functions
from headrace.fronts.flink.functions import TimeDomain
from headrace.fronts.flink.running.chain import parted
from headrace.fronts.flink.running.state import Backend, MapState, ReadOnlyMapState, RuntimeContext, ValueStateDescriptor
from headrace.fronts.flink.times import MIN_TIMESTAMP, to_millis, to_time
from headrace.fronts.flink.types import Convert

By = Literal["event", "clock"] | None
State = dict[str, Any]
Rows = dict[str, list[dict[str, Any]]]

STATE = "wake timestamp, now bigint, row binary"
SIDE = "tag string, value binary, time timestamp"
ENTRIES = "entries"
STATE_OF_MAP = ValueStateDescriptor("state")


@dataclass(frozen=True)
class Spec:
    """What a worker needs of a function.

    by       which time its timers go by; None: there are none
    methods  what is called with a record of the first stream, and of the second; `on_timer` if it has one
    reads    how their values are made, and the key
    tasks    a broadcast function, whose scan is keyed by the task
    """

    function: Any
    by: By
    methods: tuple[str, ...]
    reads: tuple[Convert, ...]
    key: Convert
    write: Convert
    tasks: bool = False


class TimerService:
    """The timers of the key at hand, and the time."""

    def __init__(self, backend: Backend, by: By) -> None:
        self._backend, self._by = backend, by
        self._watermark = MIN_TIMESTAMP

    def current_processing_time(self) -> int:
        """The clock, in milliseconds."""
        return time.time_ns() // 1_000_000

    def current_watermark(self) -> int:
        """The time up to which this key has come: that of its last timer, or just before the record at hand."""
        return self._watermark

    def register_event_time_timer(self, timestamp: int) -> None:
        """Call `on_timer` when the watermark has reached this time. A second one of the same time is none."""
        self._register("event", timestamp)

    def register_processing_time_timer(self, timestamp: int) -> None:
        """The same by the clock."""
        self._register("clock", timestamp)

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Forget a timer; nothing happens if there is none."""
        self._delete(timestamp)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """The same by the clock."""
        self._delete(timestamp)

    def _register(self, by: By, timestamp: int) -> None:
        if by != self._by:
            raise TypeError(_NO_TIMERS[by, self._by])
        timer = (int(timestamp), self._backend.space)
        if timer not in self._backend.timers:
            self._backend.timers.append(timer)

    def _delete(self, timestamp: int) -> None:
        timer = (int(timestamp), self._backend.space)
        if timer in self._backend.timers:
            self._backend.timers.remove(timer)


_NO_TIMERS: dict[tuple[By, By], str] = {
    ("event", None): "register_event_time_timer: the function has no on_timer, or its stream has no event time: "
    "call assign_timestamps_and_watermarks before",
    ("clock", None): "register_processing_time_timer: the function has no on_timer",
    ("event", "clock"): "register_event_time_timer: this function's timers go by the clock, for its stream has no event time: call "
    "assign_timestamps_and_watermarks before, or use register_processing_time_timer",
    ("clock", "event"): "register_processing_time_timer: this function's timers go by event time; a function has timers of one kind: "
    "write a second function for the others",
}


class Context:
    """What a function is handed with a record."""

    def __init__(self, timers: TimerService, key: Any, timestamp: int | None) -> None:
        self._timers, self._key, self._timestamp = timers, key, timestamp

    def timestamp(self) -> int | None:
        """The record's time, or the timer's; None if it has none."""
        return self._timestamp

    def get_current_key(self) -> Any:
        """The key."""
        return self._key

    def timer_service(self) -> TimerService:
        """The timers of this key."""
        return self._timers

    def current_processing_time(self) -> int:
        """The clock, in milliseconds."""
        return self._timers.current_processing_time()

    def current_watermark(self) -> int:
        """The time up to which this key has come."""
        return self._timers.current_watermark()


class OnTimerContext(Context):
    """The same at a timer."""

    def time_domain(self) -> TimeDomain:
        """By which time it goes."""
        return TimeDomain.EVENT_TIME if self._timers._by == "event" else TimeDomain.PROCESSING_TIME


class BroadcastContext(Context):
    """The same with the broadcast state, which only a broadcast record may write."""

    def __init__(self, timers: TimerService, key: Any, timestamp: int | None, backend: Backend, *, writes: bool) -> None:
        super().__init__(timers, key, timestamp)
        self._backend, self._writes = backend, writes

    def get_broadcast_state(self, state_descriptor: Any) -> Any:
        """The state that every task has."""
        state = MapState(self._backend.at("broadcast"), state_descriptor.name)
        return state if self._writes else ReadOnlyMapState(state)


class Host:
    """A function in a process, with the state of the key at hand."""

    def __init__(self, spec: Any) -> None:
        self.spec, self.backend = spec, Backend()
        self.timers = TimerService(self.backend, spec.by)
        self.opened = not functions.is_rich(spec.function)

    def begin(self, state: State) -> int | None:
        """Take up the state of a key; how far its alarms have come."""
        if not self.opened:
            self.opened = True
            self.spec.function.open(RuntimeContext(self.backend))
        self.backend.load(state["row"], state[ENTRIES])
        now: int | None = state["now"]
        self.timers._watermark = MIN_TIMESTAMP if now is None else now
        return now

    def fire(self, until: int, rows: Rows, key: Any) -> None:
        """What the timers up to a time give, those that they set included."""
        while due := [timer for timer in self.backend.timers if timer[0] <= until]:
            at, space = min(due, key=lambda timer: timer[0])
            self.backend.timers.remove((at, space))
            self.backend.space = space
            whose = key if not self.spec.tasks else codec.loads(space)
            self.timers._watermark = max(self.timers._watermark, at)
            self.put(self.spec.function.on_timer(at, OnTimerContext(self.timers, whose, at)), at, rows)

    def put(self, answers: Iterable[Any] | None, timestamp: int | None, rows: Rows) -> None:
        main, sides = parted(answers or ())
        at = to_time(timestamp)
        rows["main"] += [{"value": self.spec.write(value), "time": at} for value in main]
        rows["side"] += [{"tag": tag.tag_id, "value": codec.dumps(value), "time": at} for tag, value in sides]

    def answer(self, now: int | None, rows: Rows) -> tuple[State | None, Rows]:
        row = self.backend.dump()
        if row is None:
            return None, rows
        wake = min((at for at, _ in self.backend.timers), default=None)
        return {"wake": to_time(wake), "now": now, "row": row}, rows


class OnRecord(Host):
    """What the scan calls with each record. Columns: value (and value2 of a second stream), time, key."""

    def __call__(self, state: State, record: dict[str, Any]) -> tuple[State | None, Rows]:
        now, rows = self.begin(state), new_rows()
        timestamp, spec = to_millis(record["time"]), self.spec
        second = record.get("second") or False
        value = spec.reads[second](record["value2" if second else "value"])
        key = spec.key(record["key"])
        if timestamp is not None and spec.by == "event":
            self.timers._watermark = max(self.timers._watermark, timestamp - 1)
        context = Context(self.timers, key, timestamp)
        if spec.tasks:
            self.backend.space = None if second else codec.key_bytes(key)
            context = BroadcastContext(self.timers, key, timestamp, self.backend, writes=bool(second))
        self.put(getattr(spec.function, spec.methods[second])(value, context), timestamp, rows)
        if now is not None:  # an alarm does not ring again for a time that has been
            self.fire(now, rows, key)
        return self.answer(now, rows)


class OnAlarm(Host):
    """What the scan calls when the first timer of a key is due."""

    def __call__(self, state: State, key: dict[str, Any], timer: dict[str, Any]) -> tuple[State | None, Rows]:
        before, rows = self.begin(state), new_rows()
        now = to_millis(timer["time"]) or 0
        now = now if before is None else max(before, now)
        self.fire(now, rows, None if self.spec.tasks else self.spec.key(key["key"]))
        return self.answer(now, rows)


class Closing:
    """Beside a host: its function is to be closed, so it keeps its process and is told of its end."""

    spec: Spec

    def open(self) -> None:
        """Nothing: the function is opened with the first record."""

    def close(self) -> None:
        """The end of the process."""
        self.spec.function.close()


class ClosingOnRecord(Closing, OnRecord):
    """`OnRecord` of a function that is to be closed."""


def on_record(spec: Spec) -> Callable[..., Any]:
    """What the scan calls with a record."""
    return (ClosingOnRecord if functions.defines(spec.function, "close") else OnRecord)(spec)


def new_rows() -> Rows:
    """Rows by port."""
    return {"main": [], "side": []}
