"""Functions of two streams, in Spark's Python workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.fronts.flink import functions


class Either(functions.KeyedCoProcessFunction):
    """A CoMap or CoFlatMap of keyed streams, with their state."""

    def __init__(self, kind: str, function: Any) -> None:
        self.kind, self.function = kind, function

    def open(self, runtime_context: Any) -> None:
        self.function.open(runtime_context)

    def process_element1(self, value: Any, ctx: Any) -> Any:
        return self._called("1", value)

    def process_element2(self, value: Any, ctx: Any) -> Any:
        return self._called("2", value)

    def _called(self, number: str, value: Any) -> Any:
        answer = getattr(self.function, self.kind + number)(value)
        return [answer] if self.kind == "map" else answer


class JoinWindow:
    """The records of both streams in a window, tagged with whose they are, as a co-group or as pairs."""

    def __init__(self, call: Callable[..., Any], *, pairs: bool) -> None:
        self.call, self.pairs = call, pairs

    def __call__(self, key: Any, context: Any, tagged: list[Any]) -> Any:
        first, second = ([value for side, value in tagged if side == number] for number in (0, 1))
        if not self.pairs:
            return self.call(first, second)
        return [self.call(one, other) for one in first for other in second]


class Tag:
    """A value with the number of its stream."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __call__(self, value: Any) -> Any:
        return (self.number, value)


class TaggedKey:
    """The key of a tagged value."""

    def __init__(self, calls: tuple[Callable[[Any], Any], Callable[[Any], Any]]) -> None:
        self.calls = calls

    def __call__(self, tagged: Any) -> Any:
        return self.calls[tagged[0]](tagged[1])


class PairContext:
    """What a ProcessJoinFunction is handed."""

    def __init__(self, left: int | None, right: int | None) -> None:
        self._left, self._right = left, right

    def get_left_timestamp(self) -> int | None:
        """The time of the left record."""
        return self._left

    def get_right_timestamp(self) -> int | None:
        """That of the right one."""
        return self._right

    def get_timestamp(self) -> int | None:
        """The later of the two, which is the pair's."""
        return None if self._left is None or self._right is None else max(self._left, self._right)
