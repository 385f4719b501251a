"""What a program writes: functions, and what they are handed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from headrace.definitions import arguments
from headrace.errors import DefinitionError, user_line
from headrace.fronts.flink.types import OBJECT, TypeInformation, declared

if TYPE_CHECKING:
    from headrace.fronts.flink.running.state import RuntimeContext


class TimeDomain(Enum):
    """By which time a timer goes."""

    EVENT_TIME = 0
    PROCESSING_TIME = 1


@dataclass(frozen=True)
class OutputTag:
    """A side output: `yield tag, value` in a process function, and `stream.get_side_output(tag)`."""

    tag_id: str
    type_info: TypeInformation = OBJECT

    def __init__(self, tag_id: str, type_info: TypeInformation | None = None) -> None:
        if not isinstance(tag_id, str) or not tag_id:
            raise DefinitionError(
                f"OutputTag: {arguments.shown(tag_id)} is no name", fix="give one: OutputTag('late', Types.STRING())", where=user_line()
            )
        object.__setattr__(self, "tag_id", tag_id)
        object.__setattr__(self, "type_info", declared("OutputTag", type_info))


class Function:
    """Any function. `open` is called once in each process before its first record, `close` when the process ends."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Before the first record."""

    def close(self) -> None:
        """After the last one."""


class MapFunction(Function):
    """One value of each."""

    def map(self, value: Any) -> Any:
        """The new value."""
        raise NotImplementedError


class FlatMapFunction(Function):
    """Zero to many values of each."""

    def flat_map(self, value: Any) -> Iterable[Any]:
        """The new values."""
        raise NotImplementedError


class FilterFunction(Function):
    """Whether a value stays."""

    def filter(self, value: Any) -> bool:
        """True: it stays."""
        raise NotImplementedError


class KeySelector(Function):
    """The key of a value."""

    def get_key(self, value: Any) -> Any:
        """The key."""
        raise NotImplementedError


class ReduceFunction(Function):
    """One value of two, of the same type."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        """Of what there was, and the new one."""
        raise NotImplementedError


class AggregateFunction(Function):
    """A value of many, by an accumulator."""

    def create_accumulator(self) -> Any:
        """That of no value."""
        raise NotImplementedError

    def add(self, value: Any, accumulator: Any) -> Any:
        """With one value more."""
        raise NotImplementedError

    def get_result(self, accumulator: Any) -> Any:
        """What goes out."""
        raise NotImplementedError

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """Of two windows that become one; sessions need it."""
        raise NotImplementedError


class ProcessFunction(Function):
    """Zero to many values of each, with the context: `ctx.timestamp()`, and side outputs by `yield tag, value`."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        """The values, or (tag, value)."""
        raise NotImplementedError


class KeyedProcessFunction(ProcessFunction):
    """The same with the state of a key (`runtime_context.get_state(…)` in `open`) and timers (`ctx.timer_service()`)."""

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        """What a timer gives."""
        raise NotImplementedError


class CoMapFunction(Function):
    """One value of each record of two streams."""

    def map1(self, value: Any) -> Any:
        """Of the first stream's."""
        raise NotImplementedError

    def map2(self, value: Any) -> Any:
        """Of the second's."""
        raise NotImplementedError


class CoFlatMapFunction(Function):
    """Zero to many values of each record of two streams."""

    def flat_map1(self, value: Any) -> Iterable[Any]:
        """Of the first stream's."""
        raise NotImplementedError

    def flat_map2(self, value: Any) -> Iterable[Any]:
        """Of the second's."""
        raise NotImplementedError


class CoProcessFunction(Function):
    """Records of two streams, with the context."""

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        """Of the first stream's."""
        raise NotImplementedError

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        """Of the second's."""
        raise NotImplementedError


class KeyedCoProcessFunction(CoProcessFunction):
    """The same with state of a key that both streams share, and timers."""

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        """What a timer gives."""
        raise NotImplementedError


class BroadcastProcessFunction(Function):
    """Records, and a broadcast stream whose state each task has: only `process_broadcast_element` may write it."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        """Of a record: `ctx.get_broadcast_state(descriptor)` is read-only."""
        raise NotImplementedError

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        """Of a broadcast record, in each task."""
        raise NotImplementedError


class KeyedBroadcastProcessFunction(BroadcastProcessFunction):
    """The same for a keyed stream, with the state of the record's key."""


class ProcessJoinFunction(Function):
    """What a pair of an interval join gives."""

    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterable[Any]:
        """The values."""
        raise NotImplementedError


class JoinFunction(Function):
    """What a pair of a window join gives."""

    def join(self, first: Any, second: Any) -> Any:
        """The value."""
        raise NotImplementedError


class CoGroupFunction(Function):
    """What both lists of a window and key give; one of them may be empty."""

    def co_group(self, first: list[Any], second: list[Any]) -> Iterable[Any]:
        """The values."""
        raise NotImplementedError


class WindowFunction(Function):
    """What a window of a key gives: `apply(key, window, inputs)`."""

    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        """The values."""
        raise NotImplementedError


class AllWindowFunction(Function):
    """What a window over all records gives: `apply(window, inputs)`."""

    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        """The values."""
        raise NotImplementedError


class ProcessWindowFunction(Function):
    """The same with the context: `context.window()`, `window_state()`, `global_state()`, `current_watermark()`."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        """The values, or (tag, value)."""
        raise NotImplementedError

    def clear(self, context: Any) -> None:
        """When the window goes: state of its own that it kept in `window_state()`."""


class ProcessAllWindowFunction(Function):
    """The same over all records."""

    def process(self, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        """The values, or (tag, value)."""
        raise NotImplementedError

    def clear(self, context: Any) -> None:
        """When the window goes."""


def caller(at: str, argument: Any, method: str, *parameters: str) -> Callable[..., Any]:
    """What is called with a record: the method of an object that has it, or a function."""
    if isinstance(argument, type) and issubclass(argument, Function):  # another one may well be a function: map(str)
        raise DefinitionError(
            f"{at}: {argument.__name__} is a class", fix=f"give an object of it: {argument.__name__}()", where=user_line()
        )
    if not callable(getattr(argument, method, argument)):
        raise DefinitionError(
            f"{at}: {arguments.shown(argument)} is no function and has no {method}({', '.join(parameters)})",
            fix=f"give a function of ({', '.join(parameters)}), or an object with {method}", where=user_line(),
        )  # fmt: skip
    call: Callable[..., Any] = arguments.function(at, getattr(argument, method, argument), *parameters)
    return call


def require(at: str, argument: Any, kind: type, *methods: str) -> Any:
    """An object of one of the classes above, or of one with the same methods."""
    if isinstance(argument, type) or not all(callable(getattr(argument, method, None)) for method in methods):
        instead = f"{argument.__name__}()" if isinstance(argument, type) else f"an object of a class that is a {kind.__name__}"
        raise DefinitionError(
            f"{at}: {arguments.shown(argument)} is no {kind.__name__}",
            fix=f"give {instead}, which has {', '.join(methods)}",
            where=user_line(),
        )
    return argument


def defines(argument: Any, method: str) -> bool:
    """Whether a program's class has a method of its own, and not that of one of the classes above."""
    own = getattr(type(argument), method, None)
    return own is not None and getattr(own, "__module__", None) != __name__


def is_rich(argument: Any) -> bool:
    """Whether it wants to be opened or closed."""
    return defines(argument, "open") or defines(argument, "close")


def mentions(argument: Any, name: str) -> bool:
    """Whether the code of a class of the program mentions a name: which kind of timers it sets is known before it runs."""
    methods = [method for kind in type(argument).__mro__ for method in vars(kind).values() if hasattr(method, "__code__")]
    return any(_mentions(method.__code__, name) for method in methods)


def _mentions(code: Any, name: str) -> bool:
    return name in code.co_names or any(_mentions(part, name) for part in code.co_consts if hasattr(part, "co_names"))
