"""Tasks: one object of a component each, with its routing, its acks and its counts. The same in a test and on Spark.

A task does nothing by itself. It is given a tuple, or asked for the next one, and leaves in `out` what is to be sent: tuples to tasks, and
notes to the acker.
"""

from __future__ import annotations

import os
import random
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.fronts.storm.acking import Note, RotatingMap, Verdict
from headrace.fronts.storm.components import Context, FailedException
from headrace.fronts.storm.groupings import Choose, Sender
from headrace.fronts.storm.layout import Layout
from headrace.fronts.storm.tuples import SYSTEM, Tuple

Clock = Callable[[], float]
"""The time now, in seconds."""


@dataclass(frozen=True, slots=True)
class Send:
    """A tuple on its way to a task."""

    task: int
    tuple: Tuple


@dataclass(frozen=True, slots=True)
class Write:
    """A record for a Kafka topic."""

    topic: str
    key: bytes | None
    value: bytes


@dataclass(frozen=True, slots=True)
class Save:
    """A change of a task's state: a key with its value, or with nothing if it was deleted."""

    component: str
    task: int
    key: Any
    value: tuple[Any, ...]


Message = Send | Note | Write | Save
"""What a task leaves to be sent."""


class Counts:
    """What a task has done since it began, and its last error."""

    __slots__ = ("acked", "busy", "complete", "emitted", "error", "executed", "failed", "transferred")

    def __init__(self) -> None:
        self.emitted = self.transferred = self.executed = self.acked = self.failed = 0
        self.busy = self.complete = 0.0
        self.error: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


class Task:
    """What tasks of spouts and bolts share."""

    def __init__(self, layout: Layout, number: int, clock: Clock) -> None:
        self.layout, self.number, self.clock = layout, number, clock
        self.part = layout.component[number]
        self.code: Any = self.part.make()
        self.out: list[Message] = []
        self.emitted: Callable[[str, list[Any]], None] | None = None
        self.counts = Counts()
        self._random = random.Random(os.urandom(16))  # of its own: a program may seed Python's
        self._choosers: dict[str, list[Choose]] = {}
        self._direct: dict[str, set[int]] = {}

    def context(self) -> Context:
        by_task = {task: part.name for task, part in self.layout.component.items()}
        return Context({"taskid": self.number, "componentid": self.part.name, "task->component": by_task})

    def open(self) -> None:
        self.code.begin(self.layout.conf(self.part), self.context(), self)

    def close(self) -> None:
        self.code.close()

    def new_id(self) -> int:
        """A random number of 63 bits, never 0: what an acker XORs."""
        return self._random.getrandbits(63) | 1

    def taken(self) -> list[Message]:
        """All that is to be sent, and nothing is left of it."""
        out, self.out = self.out, []
        return out

    def route(self, stream: str, values: Sequence[Any], direct_task: int | None) -> list[int]:
        """The tasks that a tuple goes to; an error in words if the stream was not declared so."""
        declared = self.part.outputs.get(stream)
        if declared is None:
            raise ValueError(f"{self.part.name!r} emits to the stream {stream!r}, but declares {', '.join(self.part.outputs) or 'none'}")
        if len(values) != len(declared.fields):
            raise ValueError(
                f"{self.part.name!r} emits {len(values)} values, {list(values)!r}; its stream {stream!r} has {', '.join(declared.fields)}"
            )
        if stream not in self._choosers:
            self._subscribe(stream, declared.fields)
        if declared.direct != (direct_task is not None):
            how = "is direct: name the task, direct_task=…" if declared.direct else "is not direct: declare it so, or name no task"
            raise ValueError(f"the stream {stream!r} of {self.part.name!r} {how}")
        self.counts.emitted += 1
        if self.emitted is not None:
            self.emitted(stream, list(values))
        if direct_task is not None:
            targets = [direct_task] if direct_task in self._direct[stream] else []
        else:
            targets = [task for choose in self._choosers[stream] for task in choose(values)]
        self.counts.transferred += len(targets)
        return targets

    def _subscribe(self, stream: str, fields: Sequence[str]) -> None:
        sender = Sender(self.number, self.layout.worker[self.number], self.part.name, stream, fields)
        subscribed = self.layout.subscribers(self.part.name, stream)
        self._direct[stream] = {t for part, by in subscribed if by.kind == "direct" for t in self.layout.tasks[part.name]}
        self._choosers[stream] = [
            grouping.chooser(sender, self.layout.tasks[part.name], self.layout.worker) for part, grouping in subscribed
        ]

    def tuple(self, stream: str, values: Sequence[Any], roots: dict[int, int]) -> Tuple:
        return Tuple(self.part.name, stream, self.number, values, self.part.outputs[stream].fields, roots)


class BoltTask(Task):
    """A task of a bolt. `saved` gives its state, as it was last saved."""

    saved: Callable[[], Mapping[Any, Any]] = staticmethod(dict)

    def execute(self, tup: Tuple) -> None:
        """One tuple. An error of the bolt's fails what it was at and is kept in the counts; it is raised if the bolt does not want that."""
        began = time.perf_counter()
        try:
            self.code.take(tup)
        except Exception as error:
            current = self.code.current()
            if not current and not tup.component.startswith("__"):
                raise
            for each in current:
                self.fail(each)
            if not isinstance(error, FailedException):
                self.counts.error = _described(error)
        self.counts.executed += 1
        self.counts.busy += time.perf_counter() - began

    def timers(self) -> dict[str, float]:
        return dict(self.code.timers(self.layout.conf(self.part)))

    def emit(self, values: Sequence[Any], stream: str, anchors: Sequence[Tuple], direct_task: int | None = None) -> list[int]:
        targets = self.route(stream, values, direct_task)
        for target in targets:
            roots: dict[int, int] = {}
            for anchor in anchors:
                if anchor.roots:
                    edge = self.new_id()
                    anchor.ack_val ^= edge
                    for root in anchor.roots:
                        roots[root] = roots.get(root, 0) ^ edge
            self.out.append(Send(target, self.tuple(stream, values, roots)))
        return targets

    def ack(self, tup: Tuple) -> None:
        if tup.component != SYSTEM:
            self.counts.acked += 1
        self.out.extend(Note(root, edge ^ tup.ack_val) for root, edge in tup.roots.items())

    def fail(self, tup: Tuple) -> None:
        self.counts.failed += 1
        self.out.extend(Note(root, fails=True) for root in tup.roots)

    def write(self, topic: str, key: bytes | None, value: bytes) -> None:
        """To a Kafka topic, together with all else that the topology puts out: at-least-once."""
        self.out.append(Write(topic, key, value))

    def save(self, changes: Mapping[Any, tuple[Any, ...]]) -> None:
        self.out.extend(Save(self.part.name, self.number, key, value) for key, value in changes.items())

    def reset_timeout(self, tup: Tuple) -> None:
        self.out.extend(Note(root, resets=True) for root in tup.roots)


def clock_tuple(stream: str, seconds: float) -> Tuple:
    return Tuple(SYSTEM, stream, -1, [seconds], ["rate_secs"])


@dataclass(slots=True)
class Pending:
    """A tuple of a spout that is under way."""

    tup_id: Any
    since: float


class SpoutTask(Task):
    """A task of a spout, with its tuples under way. One that was emitted `timeout` seconds ago fails, at the latest after twice that."""

    def __init__(self, layout: Layout, number: int, clock: Clock) -> None:
        super().__init__(layout, number, clock)
        self.pending: RotatingMap[int, Pending] = RotatingMap(2)
        limit = layout.conf(self.part).get("topology.max.spout.pending")
        self.most = None if limit is None else int(limit)
        self.rotates = clock() + layout.timeout

    def open(self) -> None:
        super().open()
        self.code.activate()

    def next(self) -> bool:
        """Ask the spout for its next tuple, unless as many as may be are under way; whether it emitted something."""
        if self.most is not None and len(self.pending) >= self.most:
            return False
        before = self.counts.emitted
        began = time.perf_counter()
        self.code.next_tuple()
        self.counts.busy += time.perf_counter() - began
        self.counts.executed += 1
        return self.counts.emitted > before

    def emit(self, values: Sequence[Any], stream: str, tup_id: Any, direct_task: int | None = None) -> list[int]:
        targets = self.route(stream, values, direct_task)
        tracked = tup_id is not None and self.layout.ackers > 0
        root, value = self.new_id() if tracked else 0, 0
        for target in targets:
            edge = self.new_id() if tracked else 0
            value ^= edge
            self.out.append(Send(target, self.tuple(stream, values, {root: edge} if tracked else {})))
        if tracked:
            self.pending.put(root, Pending(tup_id, self.clock()))
            self.out.append(Note(root, value, spout=self.number))
        elif tup_id is not None:
            self._done(Pending(tup_id, self.clock()), "ack")
        return targets

    def told(self, root: int, verdict: Verdict) -> None:
        """What the acker says. Of roots that are not under way (any more), it is no news."""
        if verdict == "reset":
            if (pending := self.pending.get(root)) is not None:
                self.pending.put(root, pending)
        elif (done := self.pending.pop(root)) is not None:
            self._done(done, verdict)

    def expire(self) -> None:
        """To be called now and then: fails what has been under way for too long."""
        while self.clock() >= self.rotates:
            self.rotates += self.layout.timeout
            for pending in self.pending.rotate().values():
                self._done(pending, "fail")

    def _done(self, pending: Pending, verdict: Verdict) -> None:
        if verdict == "ack":
            self.counts.acked += 1
            self.counts.complete += self.clock() - pending.since
            self.code.ack(pending.tup_id)
        else:
            self.counts.failed += 1
            self.code.fail(pending.tup_id)


def _described(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({frame.filename}:{frame.lineno})"
