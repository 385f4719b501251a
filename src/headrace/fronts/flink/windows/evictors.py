"""What is left out of a window when it fires: before its function, or after it. What is left out is gone for later firings, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from headrace.definitions import arguments
from headrace.errors import DefinitionError, user_line
from headrace.fronts.flink.times import positive
from headrace.fronts.flink.windows.triggers import count


class TimestampedValue(NamedTuple):
    """A record of a window, with its time."""

    value: Any
    timestamp: int | None

    def get_value(self) -> Any:
        """The value."""
        return self.value

    def get_timestamp(self) -> int | None:
        """Its time."""
        return self.timestamp


Elements = list[TimestampedValue]


class Evictor:
    """Takes records out of the list of a window's, in the order in which they came. One of a program's own has these methods."""

    def evict_before(self, elements: Elements, size: int, window: Any, evictor_context: Any) -> None:
        """Before the function is called."""

    def evict_after(self, elements: Elements, size: int, window: Any, evictor_context: Any) -> None:
        """After it."""


class _Once(Evictor):
    """Before, or after."""

    after = False

    def evict_before(self, elements: Elements, size: int, window: Any, evictor_context: Any) -> None:
        if not self.after and elements:
            elements[:] = self.kept(elements)

    def evict_after(self, elements: Elements, size: int, window: Any, evictor_context: Any) -> None:
        if self.after and elements:
            elements[:] = self.kept(elements)

    def kept(self, elements: Elements) -> Elements:
        """What stays."""
        raise NotImplementedError


class CountEvictor(_Once):
    """Keeps the last n."""

    def __init__(self, max_count: int, after: bool) -> None:
        self.max_count, self.after = max_count, after

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor:
        """The last so many."""
        return CountEvictor(count("CountEvictor.of", max_count), do_evict_after)

    def kept(self, elements: Elements) -> Elements:
        return elements[-self.max_count :]


class TimeEvictor(_Once):
    """Keeps what is less than a time before the newest."""

    def __init__(self, size: int, after: bool) -> None:
        self.size, self.after = size, after

    @staticmethod
    def of(window_size: Any, do_evict_after: bool = False) -> TimeEvictor:
        """The last so long."""
        return TimeEvictor(positive("TimeEvictor.of", window_size), do_evict_after)

    def kept(self, elements: Elements) -> Elements:
        times = [element.timestamp for element in elements if element.timestamp is not None]
        if len(times) < len(elements):
            return elements
        return [element for element in elements if element.timestamp is not None and element.timestamp > max(times) - self.size]


class DeltaEvictor(_Once):
    """Keeps what is less than a threshold away from the newest."""

    def __init__(self, threshold: float, delta: Callable[[Any, Any], float], after: bool) -> None:
        self.threshold, self.delta, self.after = threshold, delta, after

    @staticmethod
    def of(threshold: float, delta_function: Any, do_evict_after: bool = False) -> DeltaEvictor:
        """`delta_function(record, newest)`, or an object with `get_delta`."""
        call = getattr(delta_function, "get_delta", delta_function)
        return DeltaEvictor(threshold, arguments.function("DeltaEvictor.of", call, "old", "new"), do_evict_after)

    def kept(self, elements: Elements) -> Elements:
        last = elements[-1].value
        return [element for element in elements if self.delta(element.value, last) < self.threshold]


def evictor(argument: Any) -> Evictor:
    """An evictor, or a refusal."""
    if not isinstance(argument, Evictor):
        raise DefinitionError(
            f"evictor: {arguments.shown(argument)} is no Evictor", fix="give one: CountEvictor.of(100)", where=user_line()
        )
    return argument
