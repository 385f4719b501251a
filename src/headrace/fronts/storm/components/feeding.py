"""Spouts for tests: one that is fed, and one that stands in for another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.fronts.storm.components.state import StatefulSpout
from headrace.fronts.storm.graph.layout import Stream
from headrace.fronts.storm.graph.tuples import DEFAULT
from headrace.fronts.storm.tasks.task import Context


class FeederSpout(StatefulSpout):
    """A spout that a test feeds: `feed(values, id)`. What came of it is in `acked` and `failed`; a failed tuple is not emitted again.
    Effectively once, it goes back in what it was fed as any stateful spout does."""

    def __init__(self, fields: Sequence[str] = ("value",), streams: Sequence[Stream] = ()) -> None:
        self.streams = {stream.name: stream for stream in streams} or {DEFAULT: Stream(list(fields))}
        self.fed: list[tuple[Sequence[Any], Any, str]] = []
        self.acked: list[Any] = []
        self.failed: list[Any] = []

    def __deepcopy__(self, memo: dict[int, Any]) -> FeederSpout:
        return self  # its tasks share what is fed

    def declared(self) -> dict[str, Stream]:
        return dict(self.streams)

    def feed(self, values: Sequence[Any], id: Any = None, stream: str = DEFAULT) -> None:
        """One more tuple, with its message id."""
        self.fed.append((values, id, stream))

    def next_tuple(self) -> None:
        at = self.state.get("at", 0)
        if at < len(self.fed):
            self.state["at"] = at + 1
            values, tup_id, stream = self.fed[at]
            self.emit(values, tup_id, stream)

    def ack(self, tup_id: Any) -> None:
        self.acked.append(tup_id)

    def fail(self, tup_id: Any) -> None:
        self.failed.append(tup_id)


class FixedSpout(StatefulSpout):
    """Emits what it was given: each of its tasks a part of it, in turn. A tuple counts as done when it is acked or failed."""

    def __init__(self, streams: Mapping[str, Stream], tuples: Sequence[Any]) -> None:
        self.streams, self.tuples = dict(streams), list(tuples)

    def declared(self) -> dict[str, Stream]:
        return self.streams

    def initialize(self, conf: Mapping[str, Any], ctx: Context) -> None:  # noqa: ARG002
        step = len(ctx.getComponentTasks(ctx.getThisComponentId()))
        self.own = self.tuples[ctx.getThisTaskIndex() :: step]

    def next_tuple(self) -> None:
        number = self.state.get("at", 0)
        if number < len(self.own):
            self.state["at"], item = number + 1, self.own[number]
            stream, values = item if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) else (DEFAULT, item)
            self.emit(list(values), number, stream)
