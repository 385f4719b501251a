"""Producers: what is done with the records of one or more sources, up to a sum. Nothing runs until a platform runs the tail.

The functions of a producer are one function in the end, called once for a record; only the sum keeps state.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.errors import DefinitionError, user_line
from headrace.fronts.stream import Stream
from headrace.fronts.summingbird.stores import Store, text
from headrace.kernel.python.calls import travels_with_the_job
from headrace.planning.recipe import Output

Service = Mapping[Any, Any] | Callable[[Any], Any]
"""What a key is looked up in: a dict, or a function of the key. None is no value."""


@dataclass(frozen=True)
class Branch:
    """A source, the column that is its time, and what is done with its records: (kind, function), one after the other."""

    stream: Stream
    time: str
    steps: tuple[tuple[str, Any], ...] = ()


class Chain:
    """The steps of a branch as one function of a record. It is what travels to the workers."""

    def __init__(self, time: str, steps: Sequence[tuple[str, Any]], length: int, *, keyed: bool) -> None:
        self.time, self.steps, self.length, self.keyed = time, list(steps), length, keyed

    def __call__(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        items: list[Any] = [record]
        for kind, function in self.steps:
            items = list(_step(kind, function, items))
        if not self.keyed:
            return [{"item": text(item)} for item in items]
        at = record[self.time]
        if at is None:
            raise ValueError(f"a record has no time in {self.time!r}: {record!r}")
        batch = int(at.timestamp() * 1_000_000) // self.length
        return [{"key": text(key), "batch": batch, "value": text(value)} for key, value in items]


def _step(kind: str, function: Any, items: list[Any]) -> Iterable[Any]:
    for item in items:
        if kind == "filter":
            if function(item):
                yield item
        elif kind == "flat_map":
            yield from function(item)
        elif kind == "lookup":
            yield item, _found(function, item)
        elif kind == "left_join":
            yield item[0], (item[1], _found(function, item[0]))
        else:
            yield function(item)


def _found(service: Any, key: Any) -> Any:
    return service.get(key) if hasattr(service, "get") else service(key)


@dataclass(frozen=True)
class Producer:
    """Items, and how they come from sources. Each method gives another one; `source` makes the first, whose items are records as dicts."""

    branches: tuple[Branch, ...]
    tails: tuple[Tail, ...] = ()

    def map(self, function: Callable[[Any], Any]) -> Producer:
        """What a function makes of each item."""
        return self._then("map", function)

    def flat_map(self, function: Callable[[Any], Iterable[Any]]) -> Producer:
        """The same for one that gives zero to many."""
        return self._then("flat_map", function)

    def filter(self, function: Callable[[Any], object]) -> Producer:
        """The items for which it says true."""
        return self._then("filter", function)

    def collect(self, function: Callable[[Any], Any]) -> Producer:
        """What a function makes of each item; None leaves it out. (Scala's partial functions.)"""
        return self._then("map", function)._then("filter", _is_there)

    def merge(self, other: Producer) -> Producer:
        """The items of both."""
        if not isinstance(other, Producer):
            raise DefinitionError(f"merge: {other!r} is no producer", fix="give one: one.merge(other)", where=user_line())
        return Producer(self.branches + other.branches, self.tails + other.tails)

    def lookup(self, service: Service) -> Producer:
        """Each item, which is a key, with what the service has for it: (key, value or None)."""
        return self._then("lookup", service)

    def left_join(self, service: Service) -> Producer:
        """Of (key, value) items: (key, (value, what the service has for the key, or None))."""
        return self._then("left_join", service)

    def write(self, sink: Callable[[Stream], Output]) -> Producer:
        """The items also go elsewhere, each as JSON in the column `item`: `write(lambda items: items.to.kafka("words"))`."""
        if not callable(sink):
            raise DefinitionError(f"write: {sink!r} is no sink", fix='write(lambda items: items.to.kafka("topic"))', where=user_line())
        return replace(self, tails=(*self.tails, Tail(self.branches, sink=sink, where=user_line())))

    def sum_by_key(self, store: Store) -> Tail:
        """Add the values of (key, value) items by key, in a store. This is the end of a producer."""
        if not isinstance(store, Store):
            raise DefinitionError(f"sum_by_key: {store!r} is no store", fix="give MemoryStore(SUM, Batcher('1 hour'))", where=user_line())
        return Tail(self.branches, store=store, others=self.tails, where=user_line())

    def _then(self, kind: str, function: Any) -> Producer:
        if not callable(function) and not hasattr(function, "get"):
            wanted = "a dict, or a function of the key" if kind in ("lookup", "left_join") else "a function of an item"
            raise DefinitionError(f"{kind}: {function!r} is no function", fix=f"give {wanted}", where=user_line())
        travels_with_the_job(function)
        return replace(self, branches=tuple(replace(branch, steps=(*branch.steps, (kind, function))) for branch in self.branches))


@dataclass(frozen=True)
class Tail:
    """The end of a producer: a sum in a store, or a sink. `also` takes another one into the same job."""

    branches: tuple[Branch, ...]
    store: Store | None = None
    sink: Callable[[Stream], Output] | None = None
    others: tuple[Tail, ...] = ()
    where: str | None = None

    def also(self, other: Tail) -> Tail:
        """Both, in one job."""
        if not isinstance(other, Tail):
            raise DefinitionError(f"also: {other!r} has no end", fix="give what sum_by_key returns", where=user_line())
        return replace(self, others=(*self.others, other))

    def all(self) -> list[Tail]:
        """This one and those that go with it."""
        return [self, *(tail for other in self.others for tail in other.all())]


def source(stream: Stream, *, time: str) -> Producer:
    """The records of a headrace stream; `time` is the column, a timestamp, that says in which batch of time a record is."""
    if not isinstance(stream, Stream):
        raise DefinitionError(f"source: {stream!r} is no stream", fix="give one that hr.read gave", where=user_line())
    if time not in stream.columns or stream.schema[time].dataType.typeName() != "timestamp":
        raise DefinitionError(
            f"source: there is no timestamp {time!r}", fix=f"name a column that is one; the columns are {', '.join(stream.columns)}",
            where=user_line(),
        )  # fmt: skip
    return Producer((Branch(stream, time),))


def _is_there(item: Any) -> bool:
    return item is not None


def decoded(value: str) -> Any:
    """A key or value of a row."""
    return json.loads(value)
