"""How a stream is cut into windows. Fixed windows are assigned by headrace's own operator, natively; others by Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from headrace.definitions import arguments
from headrace.errors import DefinitionError, user_line
from headrace.fronts.flink.times import MAX_TIMESTAMP, millis, positive
from headrace.fronts.flink.windows import triggers
from headrace.ops.windows.kinds import Fixed


class TimeWindow(NamedTuple):
    """A window [start, end), in milliseconds."""

    start: int
    end: int

    def max_timestamp(self) -> int:
        """The last moment in it."""
        return self.end - 1


class GlobalWindow(NamedTuple):
    """The one window of all."""

    start: int = 0

    def max_timestamp(self) -> int:
        """It has no end."""
        return MAX_TIMESTAMP


class WindowAssigner:
    """The windows of a record. One of a program's own has `assign_windows(element, timestamp, context)`, `get_default_trigger(env)` and
    `is_event_time()`."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[Any]:
        """Its windows."""
        raise NotImplementedError

    def get_default_trigger(self, env: Any) -> triggers.Trigger:
        """When they fire if nothing else is said."""
        return triggers.EventTimeTrigger() if self.is_event_time() else triggers.ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        """Whether by the records' time; else by the clock."""
        return True

    @property
    def merges(self) -> bool:
        """Whether windows that touch become one."""
        return False


class MergingWindowAssigner(WindowAssigner):
    """One whose windows become one when they touch."""

    @property
    def merges(self) -> bool:
        return True


@dataclass(frozen=True)
class FixedWindows(WindowAssigner):
    """Windows of one size that begin every slide."""

    size: int
    slide: int
    offset: int = 0

    def native(self) -> Fixed:
        """The same as headrace's operator has it."""
        return Fixed(self.size * 1000, self.slide * 1000, self.offset * 1000)


class TumblingEventTimeWindows(FixedWindows):
    """Windows one after the other, by the records' time."""

    @classmethod
    def of(cls, size: Any, offset: Any = 0) -> FixedWindows:
        """Of this size, moved by an offset that is less: `of(Time.days(1), Time.hours(-8))` for Chinese days."""
        return _fixed(cls, size, size, offset)


class SlidingEventTimeWindows(FixedWindows):
    """Windows that overlap, by the records' time."""

    @classmethod
    def of(cls, size: Any, slide: Any, offset: Any = 0) -> FixedWindows:
        """Of this size, one every slide."""
        return _fixed(cls, size, slide, offset)


class TumblingProcessingTimeWindows(TumblingEventTimeWindows):
    """The same by the clock."""

    def is_event_time(self) -> bool:
        return False


class SlidingProcessingTimeWindows(SlidingEventTimeWindows):
    """The same by the clock."""

    def is_event_time(self) -> bool:
        return False


class SessionWindowTimeGapExtractor:
    """The gap of each record: `extract(element)`, in milliseconds."""

    def extract(self, element: Any) -> int:
        """The gap."""
        raise NotImplementedError


@dataclass(frozen=True)
class EventTimeSessionWindows(MergingWindowAssigner):
    """Records with no longer pause between them than the gap: one that is equal to it joins."""

    gap: int | None = None
    extract: Callable[[Any], int] | None = field(default=None, compare=False)

    @classmethod
    def with_gap(cls, size: Any) -> EventTimeSessionWindows:
        """With this gap."""
        return cls(positive(f"{cls.__name__}.with_gap", size))

    @classmethod
    def with_dynamic_gap(cls, session_window_time_gap_extractor: Any) -> EventTimeSessionWindows:
        """With a gap of each record's own: a function, or a `SessionWindowTimeGapExtractor`. None of these is late."""
        extract = getattr(session_window_time_gap_extractor, "extract", session_window_time_gap_extractor)
        return cls(None, arguments.function(f"{cls.__name__}.with_dynamic_gap", extract, "element"))

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[Any]:
        gap = self.gap if self.extract is None else self.extract(element)
        if gap is None or gap <= 0:
            raise TypeError(f"with_dynamic_gap: the gap of {element!r} is {gap}, and must be above 0")
        return [TimeWindow(timestamp, timestamp + gap)]


class DynamicEventTimeSessionWindows(EventTimeSessionWindows):
    """The name that dynamic gaps have in Java."""


class ProcessingTimeSessionWindows(EventTimeSessionWindows):
    """The same by the clock."""

    def is_event_time(self) -> bool:
        return False


class DynamicProcessingTimeSessionWindows(ProcessingTimeSessionWindows):
    """The name that dynamic gaps have in Java."""


class GlobalWindows(WindowAssigner):
    """One window of all records of a key. It fires only by a trigger that is given to it."""

    @staticmethod
    def create() -> GlobalWindows:
        """The one window."""
        return GlobalWindows()

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[Any]:
        return [GlobalWindow()]

    def get_default_trigger(self, env: Any) -> triggers.Trigger:
        return triggers.NeverTrigger()


def _fixed(cls: type[FixedWindows], size: Any, slide: Any, offset: Any) -> FixedWindows:
    at = f"{cls.__name__}.of"
    length, every, moved = positive(at, size), positive(at, slide), millis(at, offset)
    if abs(moved) >= every:
        raise DefinitionError(
            f"{at}: the offset ({moved} ms) is not shorter than {every} ms", fix="take whole windows off it", where=user_line()
        )
    if every > length:
        raise DefinitionError(
            f"{at}: the slide ({every} ms) is longer than the size ({length} ms), and records between two windows would be in none",
            fix="give the size first, then the slide; to leave records out, filter them before", where=user_line(),
        )  # fmt: skip
    return cls(length, every, moved)
