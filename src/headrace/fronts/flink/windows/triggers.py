"""When a window fires: Flink's triggers, by Flink's rules, and the class for one's own.

A trigger that is given replaces the window's own: a `CountTrigger` on a window of time never fires by time. A window that fires again
repeats all its content, unless it was purged. `ctx` is what the operator hands over: timers, the time, and state of the window.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Literal

from headrace.definitions import arguments
from headrace.errors import DefinitionError, user_line
from headrace.fronts.flink import functions
from headrace.fronts.flink.running.state import ReducingStateDescriptor, ValueStateDescriptor
from headrace.fronts.flink.times import positive

By = Literal["event", "clock"] | None


class TriggerResult(Enum):
    """What a trigger answers."""

    CONTINUE = (False, False)
    FIRE_AND_PURGE = (True, True)
    FIRE = (True, False)
    PURGE = (False, True)

    def is_fire(self) -> bool:
        """Whether the window puts out a result."""
        return self.value[0]

    def is_purge(self) -> bool:
        """Whether its content goes."""
        return self.value[1]


CONTINUE, FIRE, PURGE, FIRE_AND_PURGE = TriggerResult.CONTINUE, TriggerResult.FIRE, TriggerResult.PURGE, TriggerResult.FIRE_AND_PURGE


class Trigger:
    """Answers each record and each timer of a window. One of a program's own has these methods."""

    def on_element(self, element: Any, timestamp: Any, window: Any, ctx: Any) -> TriggerResult:
        """With a record."""
        raise NotImplementedError

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        """With a timer by event time."""
        return CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        """With a timer by the clock."""
        return CONTINUE

    def can_merge(self) -> bool:
        """Whether it can be used with windows that become one."""
        return functions.defines(self, "on_merge") and type(self).on_merge is not Trigger.on_merge

    def on_merge(self, window: Any, ctx: Any) -> None:
        """When windows have become this one."""
        raise NotImplementedError

    def clear(self, window: Any, ctx: Any) -> None:
        """When the window goes."""


class EventTimeTrigger(Trigger):
    """When the watermark has passed the window's end, and then with each late record."""

    @staticmethod
    def create() -> EventTimeTrigger:
        """The trigger."""
        return EventTimeTrigger()

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        if window.max_timestamp() <= ctx.get_current_watermark():
            return FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        return CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return FIRE if time == window.max_timestamp() else CONTINUE

    def on_merge(self, window: Any, ctx: Any) -> None:
        if window.max_timestamp() > ctx.get_current_watermark():
            ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())


class ProcessingTimeTrigger(Trigger):
    """When the clock has passed the window's end."""

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        """The trigger."""
        return ProcessingTimeTrigger()

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        ctx.register_processing_time_timer(window.max_timestamp())
        return CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return FIRE if time == window.max_timestamp() else CONTINUE

    def on_merge(self, window: Any, ctx: Any) -> None:
        ctx.register_processing_time_timer(window.max_timestamp())

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.delete_processing_time_timer(window.max_timestamp())


_NEXT = ReducingStateDescriptor("fire-time", min)


class ContinuousEventTimeTrigger(Trigger):
    """At every multiple of an interval since 1970, also without new records, and at the window's end."""

    def __init__(self, interval: int) -> None:
        self.interval = interval

    @classmethod
    def of(cls, interval: Any) -> ContinuousEventTimeTrigger:
        """With this interval."""
        return cls(positive(f"{cls.__name__}.of", interval))

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        if window.max_timestamp() <= ctx.get_current_watermark():
            return FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        self._begin(timestamp, window, ctx)
        return CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        if time == window.max_timestamp():
            return FIRE
        return self._again(time, window, ctx)

    def _begin(self, now: int, window: Any, ctx: Any) -> None:
        state = ctx.get_partitioned_state(_NEXT)
        if state.get() is None:
            self._set(now - now % self.interval + self.interval, window, ctx)

    def _again(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        state = ctx.get_partitioned_state(_NEXT)
        if state.get() != time:
            return CONTINUE
        state.clear()
        self._set(time + self.interval, window, ctx)
        return FIRE

    def _set(self, time: int, window: Any, ctx: Any) -> None:
        due = min(time, window.max_timestamp())
        ctx.get_partitioned_state(_NEXT).add(due)
        self._register(due, ctx)

    def _register(self, due: int, ctx: Any) -> None:
        ctx.register_event_time_timer(due)

    def on_merge(self, window: Any, ctx: Any) -> None:
        ctx.merge_partitioned_state(_NEXT)
        if (due := ctx.get_partitioned_state(_NEXT).get()) is not None:
            self._register(due, ctx)

    def clear(self, window: Any, ctx: Any) -> None:
        state = ctx.get_partitioned_state(_NEXT)
        if state.get() is not None:
            ctx.delete_event_time_timer(state.get())
            state.clear()


class ContinuousProcessingTimeTrigger(ContinuousEventTimeTrigger):
    """At every multiple of an interval, by the clock."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        self._begin(ctx.get_current_processing_time(), window, ctx)
        return CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return FIRE if time == window.max_timestamp() else self._again(time, window, ctx)

    def _register(self, due: int, ctx: Any) -> None:
        ctx.register_processing_time_timer(due)


_COUNT = ReducingStateDescriptor("count", lambda one, other: one + other)


class CountTrigger(Trigger):
    """With every nth record; the content stays."""

    def __init__(self, window_size: int) -> None:
        self.window_size = window_size

    @staticmethod
    def of(window_size: int) -> CountTrigger:
        """With every so manyth record."""
        return CountTrigger(count("CountTrigger.of", window_size))

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        state = ctx.get_partitioned_state(_COUNT)
        state.add(1)
        if state.get() < self.window_size:
            return CONTINUE
        state.clear()
        return FIRE

    def on_merge(self, window: Any, ctx: Any) -> None:
        ctx.merge_partitioned_state(_COUNT)

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.get_partitioned_state(_COUNT).clear()


_LAST = ValueStateDescriptor("last")


class DeltaTrigger(Trigger):
    """With each record that is further than a threshold from the last such; the first is remembered. That record is in the window."""

    def __init__(self, threshold: float, delta: Callable[[Any, Any], float]) -> None:
        self.threshold, self.delta = threshold, delta

    @staticmethod
    def of(threshold: float, delta_function: Any, *_: Any) -> DeltaTrigger:
        """`delta_function(remembered, record)`, or an object with `get_delta`."""
        call = getattr(delta_function, "get_delta", delta_function)
        return DeltaTrigger(threshold, arguments.function("DeltaTrigger.of", call, "old", "new"))

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        state = ctx.get_partitioned_state(_LAST)
        if state.value() is None:
            state.update((element,))
            return CONTINUE
        if self.delta(state.value()[0], element) <= self.threshold:
            return CONTINUE
        state.update((element,))
        return FIRE

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.get_partitioned_state(_LAST).clear()


class PurgingTrigger(Trigger):
    """As another trigger, but the content goes when it fires."""

    def __init__(self, nested: Trigger) -> None:
        self.nested = nested

    @staticmethod
    def of(nested_trigger: Trigger) -> PurgingTrigger:
        """Around this one."""
        return PurgingTrigger(trigger("PurgingTrigger.of", nested_trigger))

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        return _purging(self.nested.on_element(element, timestamp, window, ctx))

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return _purging(self.nested.on_event_time(time, window, ctx))

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return _purging(self.nested.on_processing_time(time, window, ctx))

    def can_merge(self) -> bool:
        return self.nested.can_merge()

    def on_merge(self, window: Any, ctx: Any) -> None:
        self.nested.on_merge(window, ctx)

    def clear(self, window: Any, ctx: Any) -> None:
        self.nested.clear(window, ctx)


class NeverTrigger(Trigger):
    """Never."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        return CONTINUE

    def on_merge(self, window: Any, ctx: Any) -> None:
        """Nothing."""


def _purging(result: TriggerResult) -> TriggerResult:
    return FIRE_AND_PURGE if result.is_fire() else result


def by(trigger: Trigger) -> By:
    """Which time its timers go by; None if it has none."""
    if isinstance(trigger, PurgingTrigger):
        return by(trigger.nested)
    if isinstance(trigger, ProcessingTimeTrigger | ContinuousProcessingTimeTrigger):
        return "clock"
    if isinstance(trigger, EventTimeTrigger | ContinuousEventTimeTrigger):
        return "event"
    if functions.mentions(trigger, "register_processing_time_timer"):
        return "clock"
    return "event" if functions.mentions(trigger, "register_event_time_timer") else None


def trigger(at: str, argument: Any) -> Trigger:
    """A trigger, or a refusal."""
    if not isinstance(argument, Trigger):
        raise DefinitionError(
            f"{at}: {arguments.shown(argument)} is no Trigger",
            fix="give one: CountTrigger.of(3), or an object of a class that is a Trigger",
            where=user_line(),
        )  # fmt: skip
    return argument


def count(at: str, argument: Any) -> int:
    """How many, above 0."""
    if not isinstance(argument, int) or isinstance(argument, bool) or argument < 1:
        raise DefinitionError(
            f"{at}: {arguments.shown(argument)} is no number of records", fix="give a whole number, 1 or more", where=user_line()
        )
    return argument
