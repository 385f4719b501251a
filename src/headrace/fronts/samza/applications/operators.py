"""The operators of the high-level API as they run: a graph that each message of a task passes through, in one worker."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.fronts.samza.applications.windows import Window
from headrace.fronts.samza.messages import (
    KV,
    IncomingMessageEnvelope,
    MessageCollector,
    OutgoingMessageEnvelope,
    SystemStream,
    TaskCoordinator,
)
from headrace.fronts.samza.stores import KeyValueStore
from headrace.fronts.samza.tasks import Context

_NOWHERE = SystemStream("", "")


def called(function: Any) -> Callable[..., Any]:
    """A function, or the `apply` of an object that Samza would call one."""
    return function.apply if hasattr(function, "apply") else function  # type: ignore[no-any-return]


@dataclass(eq=False)
class Operator:
    """A place in the graph, and what follows it. `number` names its state."""

    number: int
    next: list[Operator] = field(default_factory=list)

    def run(self, message: Any, call: Call) -> None:
        for out in self.outputs(message, call):
            self.emit(out, call)

    def emit(self, message: Any, call: Call) -> None:
        for operator in self.next:
            operator.run(message, call)

    def outputs(self, message: Any, call: Call) -> Iterable[Any]:
        """What a message becomes."""
        return [message]

    @property
    def functions(self) -> list[Any]:
        """The program's own functions, which may want `init` and `close`."""
        return []


@dataclass(eq=False)
class Call:
    """One message's way through the graph."""

    task: OperatorTask
    now: int
    collector: MessageCollector
    coordinator: TaskCoordinator

    def state(self, operator: Operator, part: str = "") -> dict[Any, Any]:
        store: dict[Any, Any] = self.task.state.setdefault(f"{operator.number}{part}", {})
        return store

    def store(self, name: str) -> KeyValueStore:
        return self.task.context.task.getStore(name)


@dataclass(eq=False)
class Each(Operator):
    """map, flatMap, filter: `kind` says what the function's answer means."""

    kind: str = "map"
    function: Any = None

    def outputs(self, message: Any, call: Call) -> Iterable[Any]:
        answer = called(self.function)(message)
        if self.kind == "flatMapAsync":
            answer = _awaited(answer)
        if self.kind == "filter":
            return [message] if answer else []
        return [answer] if self.kind == "map" else answer or []

    @property
    def functions(self) -> list[Any]:
        return [self.function]


def _awaited(answer: Any) -> Any:
    """What a coroutine, or a future of another thread, comes to."""
    if inspect.isawaitable(answer):

        async def wait() -> Any:
            return await answer

        return asyncio.run(wait())
    return answer.result() if hasattr(answer, "result") else answer


@dataclass(eq=False)
class Send(Operator):
    """sendTo a stream; `keyed` if its messages are KVs."""

    stream: SystemStream = _NOWHERE
    keyed: bool = False

    def outputs(self, message: Any, call: Call) -> Iterable[Any]:
        parts = (message.key, message.value) if self.keyed else (message,)
        call.collector.send(OutgoingMessageEnvelope(self.stream, *parts))
        return []


@dataclass(eq=False)
class Forward(Operator):
    """partitionBy: to an intermediate stream, by the key that the function gives. Without a function: broadcast."""

    stream: SystemStream = _NOWHERE
    key: Any = None
    value: Any = None

    def outputs(self, message: Any, call: Call) -> Iterable[Any]:
        key = None if self.key is None else called(self.key)(message)
        value = message if self.value is None else called(self.value)(message)
        call.collector.send(OutgoingMessageEnvelope(self.stream, 0 if key is None else key, key, value))
        return []

    @property
    def functions(self) -> list[Any]:
        return [self.key, self.value]


@dataclass(eq=False)
class Sink(Operator):
    """sink: a function that sends for itself."""

    function: Any = None

    def outputs(self, message: Any, call: Call) -> Iterable[Any]:
        called(self.function)(message, call.collector, call.coordinator)
        return []

    @property
    def functions(self) -> list[Any]:
        return [self.function]


@dataclass(eq=False)
class PutTable(Operator):
    """sendTo a table: KVs, of which one without a value removes its key."""

    table: str = ""

    def outputs(self, message: Any, call: Call) -> Iterable[Any]:
        store = call.store(self.table)
        if message.value is None:
            store.delete(message.key)
        else:
            store.put(message.key, message.value)
        return [message]


@dataclass(eq=False)
class JoinTable(Operator):
    """join with a table: the record of the message's key, or None. What gives None is dropped."""

    table: str = ""
    function: Any = None

    def outputs(self, message: Any, call: Call) -> Iterable[Any]:
        key = self.function.getMessageKey(message) if hasattr(self.function, "getMessageKey") else message.key
        value = None if key is None else call.store(self.table).get(key)
        joined = called(self.function)(message, None if value is None else KV(key, value))
        return [] if joined is None else [joined]

    @property
    def functions(self) -> list[Any]:
        return [self.function]


@dataclass(eq=False)
class JoinSide(Operator):
    """One side of a join of two streams: it keeps its own latest message of a key, and looks for the other's.

    `first` is the number of the operator of the first side, under which both keep their state.
    """

    function: Any = None
    ttl: int = 0
    left: bool = True
    first: int = 0

    def outputs(self, message: Any, call: Call) -> Iterable[Any]:
        side = "getFirstKey" if self.left else "getSecondKey"
        key = getattr(self.function, side)(message) if hasattr(self.function, side) else message.key
        ours = call.task.state.setdefault(f"{self.first}{'left' if self.left else 'right'}", {})
        theirs = call.task.state.setdefault(f"{self.first}{'right' if self.left else 'left'}", {})
        for records in (ours, theirs):
            self._expire(records, call.now)
        ours.pop(key, None)  # so that the newest is the last
        ours[key] = (call.now, message)
        if key not in theirs:
            return []
        other = theirs[key][1]
        return [called(self.function)(*((message, other) if self.left else (other, message)))]

    def _expire(self, records: dict[Any, tuple[int, Any]], now: int) -> None:
        while records and next(iter(records.values()))[0] + self.ttl <= now:
            del records[next(iter(records))]

    @property
    def functions(self) -> list[Any]:
        return [self.function] if self.left else []


@dataclass(eq=False)
class Windowing(Operator):
    """window: messages in, panes out."""

    window: Window = field(default_factory=lambda: Window(1))

    def outputs(self, message: Any, call: Call) -> Iterable[Any]:
        return self.window.take(call.state(self), message, call.now)

    def fire(self, call: Call, now: int | None) -> None:
        for pane in self.window.fire(call.state(self), now):
            self.emit(pane, call)


@dataclass(eq=False)
class Graph:
    """The operators behind each stream of a stage. It is what makes the stage's tasks."""

    sources: Mapping[str, tuple[Operator, bool]]
    operators: tuple[Operator, ...]

    def __call__(self) -> OperatorTask:
        return OperatorTask(self)

    @property
    def windows(self) -> list[Windowing]:
        return [operator for operator in self.operators if isinstance(operator, Windowing)]

    @property
    def wakes(self) -> bool:
        return bool(self.windows)


class OperatorTask:
    """The task that a stage of the high-level API is."""

    constant = ("graph", "now", "context")  # not part of the state

    def __init__(self, graph: Graph) -> None:
        self.graph, self.now = graph, 0
        self.state: dict[str, dict[Any, Any]] = {}

    def init(self, context: Context) -> None:
        self.context = context
        for operator in self.graph.operators:
            for function in operator.functions:
                if hasattr(function, "init"):
                    function.init(context)

    def close(self) -> None:
        for operator in self.graph.operators:
            for function in operator.functions:
                if hasattr(function, "close"):
                    function.close()

    def process(self, envelope: IncomingMessageEnvelope, collector: MessageCollector, coordinator: TaskCoordinator) -> None:
        operator, keyed = self.graph.sources[envelope.place.stream]
        message = KV(envelope.key, envelope.message) if keyed else envelope.message
        operator.run(message, Call(self, self.now, collector, coordinator))

    def onTime(self, now: int, collector: MessageCollector, coordinator: TaskCoordinator) -> None:
        """Fire what is due."""
        self.now = now
        for window in self.graph.windows:
            window.fire(Call(self, now, collector, coordinator), now)

    def onEnd(self, now: int, collector: MessageCollector, coordinator: TaskCoordinator) -> None:
        """Fire all that is open: the input has ended."""
        for window in self.graph.windows:
            window.fire(Call(self, now, collector, coordinator), None)

    def due(self) -> int | None:
        times = [at for window in self.graph.windows if (at := window.window.due(self.state.get(f"{window.number}", {}))) is not None]
        return min(times, default=None)
