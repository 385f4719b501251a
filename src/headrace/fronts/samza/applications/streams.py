"""The high-level API as a program writes it: streams, tables and operators between them. What it builds is run by operators.py."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from headrace.fronts.samza.applications.descriptors import InputDescriptor, OutputDescriptor, TableDescriptor
from headrace.fronts.samza.applications.operators import (
    Each,
    Forward,
    JoinSide,
    JoinTable,
    Operator,
    PutTable,
    Send,
    Sink,
    Windowing,
    called,
)
from headrace.fronts.samza.applications.windows import Window, millis
from headrace.fronts.samza.config import refused
from headrace.fronts.samza.messages import SystemStream
from headrace.fronts.samza.serdes import JsonSerde, KVSerde

BETWEEN = "intermediate"
"""The system of intermediate streams, to which no program sends by name."""

Made = TypeVar("Made", bound=Operator)


@dataclass(eq=False)
class Table:
    """A table of the application."""

    descriptor: TableDescriptor
    users: list[Operator] = field(default_factory=list)


@dataclass(eq=False)
class OutputStream:
    """Where `sendTo` sends."""

    descriptor: OutputDescriptor


@dataclass(frozen=True)
class Intermediate:
    """A stream between two stages: a topic of its own in streams, rows in a batch."""

    name: str
    serde: KVSerde
    broadcast: bool


class StreamApplicationDescriptor:
    """What `StreamApplication.describe` gets: the application's streams and tables."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.operators: list[Operator] = []
        self.inputs: dict[str, InputDescriptor] = {}
        self.outputs: dict[str, OutputDescriptor] = {}
        self.tables: dict[str, Table] = {}
        self.sources: dict[str, tuple[Operator, bool]] = {}
        self.intermediates: dict[str, Intermediate] = {}
        self.together: list[tuple[Operator, Operator]] = []

    def getInputStream(self, descriptor: InputDescriptor) -> MessageStream:
        """The messages of a stream: KVs if its serde is a KVSerde, else without their keys."""
        _kind("getInputStream", descriptor, InputDescriptor, "system.getInputDescriptor(name, serde)")
        if descriptor.streamId in self.inputs:
            raise refused(f"getInputStream: {descriptor.streamId!r} is read already", "use the MessageStream that the first call gave")
        self.inputs[descriptor.streamId] = descriptor
        return self._source(descriptor.streamId, descriptor.keyed)

    def getOutputStream(self, descriptor: OutputDescriptor) -> OutputStream:
        """A stream to send to."""
        _kind("getOutputStream", descriptor, OutputDescriptor, "system.getOutputDescriptor(name, serde)")
        self.outputs[descriptor.streamId] = descriptor
        return OutputStream(descriptor)

    def getTable(self, descriptor: TableDescriptor) -> Table:
        """A table, the same for each call with its name."""
        _kind("getTable", descriptor, TableDescriptor, 'RocksDbTableDescriptor("profiles", KVSerde.of(…))')
        return self.tables.setdefault(descriptor.tableId, Table(descriptor))

    def add(self, kind: Callable[..., Made], *arguments: Any) -> Made:
        operator = kind(len(self.operators), [], *arguments)
        self.operators.append(operator)
        return operator

    def _source(self, stream: str, keyed: bool) -> MessageStream:
        operator = self.add(Operator)
        self.sources[stream] = operator, keyed
        return MessageStream(self, operator)

    def _intermediate(self, upstream: Operator, how: str, id: Any, serde: Any, key: Any, value: Any) -> MessageStream:
        if not isinstance(id, str) or not id:
            raise refused(f"{how}: there is no id", f'name the operator: {how}(…, "by-member"). Its topic is called after it')
        name = f"{self.name}-{'partition_by' if key else 'broadcast'}-{id}"
        if name in self.intermediates:
            raise refused(f"{how}: there are two with the id {id!r}", "give each its own: it names a topic")
        pair = serde if isinstance(serde, KVSerde) else KVSerde(JsonSerde(), serde or JsonSerde())
        self.intermediates[name] = Intermediate(name, pair, key is None)
        upstream.next.append(self.add(Forward, SystemStream(BETWEEN, name), key, value))
        return self._source(name, key is not None)


class MessageStream:
    """Messages, and what is done with them. Each method gives another stream; functions are plain ones, or objects with `apply`."""

    def __init__(self, app: StreamApplicationDescriptor, operator: Operator) -> None:
        self._app, self._operator = app, operator

    def _then(self, kind: Callable[..., Made], *arguments: Any) -> MessageStream:
        operator = self._app.add(kind, *arguments)
        self._operator.next.append(operator)
        return MessageStream(self._app, operator)

    def map(self, function: Any) -> MessageStream:
        """What a function makes of each message."""
        return self._then(Each, "map", _function("map", function, "message"))

    def flatMap(self, function: Any) -> MessageStream:
        """The same for one that gives zero to many."""
        return self._then(Each, "flatMap", _function("flatMap", function, "message"))

    def flatMapAsync(self, function: Any) -> MessageStream:
        """The same for one that gives a coroutine or a future of them. The next message of the task waits for it."""
        return self._then(Each, "flatMapAsync", _function("flatMapAsync", function, "message"))

    def filter(self, function: Any) -> MessageStream:
        """The messages for which it says true."""
        return self._then(Each, "filter", _function("filter", function, "message"))

    def merge(self, others: MessageStream | Iterable[MessageStream]) -> MessageStream:
        """The messages of all; those of each stay in order."""
        merged = self._then(Operator)
        for other in [others] if isinstance(others, MessageStream) else others:
            _kind("merge", other, MessageStream, "a MessageStream, or a list of them")
            other._operator.next.append(merged._operator)
        return merged

    @staticmethod
    def mergeAll(streams: Iterable[MessageStream]) -> MessageStream:
        """The messages of all these streams."""
        first, *others = streams
        return first.merge(others)

    def partitionBy(self, keyExtractor: Any, valueExtractor: Any, *serde_and_id: Any) -> MessageStream:
        """By another key, through an intermediate stream: what follows sees `KV(key, value)`s, all of a key in one task.
        `partitionBy(key, value, "id")`, or with a KVSerde before the id."""
        *serde, id = serde_and_id or (None,)
        functions = _function("partitionBy", keyExtractor, "message"), _function("partitionBy", valueExtractor, "message")
        return self._app._intermediate(self._operator, "partitionBy", id, serde[0] if serde else None, *functions)

    def broadcast(self, *serde_and_id: Any) -> MessageStream:
        """To every task, through an intermediate stream: `broadcast("id")`, or `broadcast(serde, "id")`."""
        *serde, id = serde_and_id or (None,)
        return self._app._intermediate(self._operator, "broadcast", id, serde[0] if serde else None, None, None)

    def sendTo(self, target: OutputStream | Table, *options: Any) -> MessageStream:
        """To a stream, or into a table, which wants KVs."""
        if options:
            raise refused("sendTo: a table takes whole values here", "leave the options out: compute the value before")
        if isinstance(target, Table):
            stream = self._then(PutTable, target.descriptor.tableId)
            target.users.append(stream._operator)
            return stream
        _kind("sendTo", target, OutputStream, "what app.getOutputStream(…) or app.getTable(…) gave")
        self._then(Send, target.descriptor.place, target.descriptor.keyed)
        return self

    def sink(self, function: Any) -> None:
        """A function of (message, collector, coordinator), which sends for itself."""
        self._then(Sink, _function("sink", function, "message", "collector", "coordinator"))

    def join(self, other: MessageStream | Table, function: Any, *rest: Any) -> MessageStream:
        """With a table: `join(table, function)`, a function of (message, record), where the record is a KV or None, and None drops the
        message. With a stream: `join(other, function, ttl, "id")`, serdes before the ttl if you like: a message meets the latest of the
        same key on the other side that came less than `ttl` ago.

        The keys are those of KV messages, unless the function is an object with `getMessageKey`, or `getFirstKey` and `getSecondKey`.
        """
        _function("join", function, "message", "other")
        if isinstance(other, Table):
            joined = self._then(JoinTable, other.descriptor.tableId, function)
            other.users.append(joined._operator)
            return joined
        _kind("join", other, MessageStream, "a MessageStream or a Table")
        if len(rest) < 2 or not isinstance(rest[-1], str):
            raise refused("join: of two streams there is no ttl or no id", 'join(other, function, timedelta(minutes=1), "id")')
        ttl = millis(rest[-2])
        first = self._then(JoinSide, function, ttl, True, len(self._app.operators))
        second = other._then(JoinSide, function, ttl, False, first._operator.number)
        self._app.together.append((first._operator, second._operator))
        merged = first._then(Operator)
        second._operator.next.append(merged._operator)
        return merged

    def window(self, window: Window, id: str = "") -> MessageStream:
        """Panes: `WindowPane(key, message, firingType)`."""
        _kind("window", window, Window, "Windows.tumblingWindow(…) and the like")
        return self._then(Windowing, window)


def _kind(call: str, value: Any, kind: Any, wanted: str) -> None:
    if not isinstance(value, kind):
        raise refused(f"{call}: {value!r} is no {kind.__name__}", f"give {wanted}")


def _function(call: str, function: Any, *parameters: str) -> Any:
    target = called(function)
    if not callable(target):
        raise refused(f"{call}: {function!r} is no function", f"give a function of ({', '.join(parameters)}), or an object with apply")
    try:
        inspect.signature(target).bind(*parameters)
    except TypeError as error:
        raise refused(
            f"{call}: the function cannot be called with ({', '.join(parameters)}): {error}", "give it these parameters"
        ) from None
    except ValueError:  # one that is written in C need not tell its parameters
        pass
    return function
