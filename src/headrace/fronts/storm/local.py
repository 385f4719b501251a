"""A topology within this process, with a clock of its own: for tests. No Spark, no Kafka; the same tasks, routing and acker.

>>> from headrace.storm import Bolt, Grouping, Spout, Topology, complete_topology
>>> class Words(Spout):
...     outputs = ["word"]
>>> class Count(Bolt):
...     outputs = ["word", "n"]
...     def initialize(self, conf, ctx):
...         self.counts = {}
...     def process(self, tup):
...         self.counts[tup["word"]] = self.counts.get(tup["word"], 0) + 1
...         self.emit([tup["word"], self.counts[tup["word"]]])
>>> class T(Topology):
...     words = Words.spec()
...     count = Count.spec(inputs={words: Grouping.fields("word")}, par=2)
>>> sorted(complete_topology(T, {"words": [["to"], ["be"], ["to"]]})["count"])
[['be', 1], ['to', 1], ['to', 2]]
"""

from __future__ import annotations

import copy
import heapq
import itertools
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from headrace.errors import JobError, user_line
from headrace.fronts.storm.components.feeding import FixedSpout
from headrace.fronts.storm.graph.layout import Layout
from headrace.fronts.storm.graph.reliability import Reliability
from headrace.fronts.storm.graph.tuples import DEFAULT
from headrace.fronts.storm.tasks.acking import Acker, Note, Verdict
from headrace.fronts.storm.tasks.bolts import BoltTask
from headrace.fronts.storm.tasks.messages import Message, Save, Send, Write, clock_tuple
from headrace.fronts.storm.tasks.spouts import SpoutTask
from headrace.fronts.storm.tasks.task import Task
from headrace.fronts.storm.topologies.topology import layout

MOST_TUPLES = 1_000_000


class LocalCluster:
    """Runs a topology in this process. Nothing happens but in `run` and `advance`, so a test sees every state that it wants to.

    topology  a Topology, or what `createTopology()` gives
    sources   spout -> tuples that it emits, instead of what it would; a list of values, or (stream, values)
    config    settings on top of the topology's own
    """

    def __init__(
        self, topology: Any, *, sources: Mapping[str, Sequence[Any]] | None = None, config: Mapping[str, Any] | None = None
    ) -> None:
        self.layout: Layout = _mocked(layout(topology, config=config), sources or {})
        self.now = 0.0
        self.emitted: dict[tuple[str, str], list[list[Any]]] = {}
        self.written: dict[str, list[tuple[bytes | None, bytes]]] = {}
        self.states: dict[int, dict[tuple[Any, ...], Any]] = {}
        self.acker = Acker(self._tell)
        self._messages: deque[Message] = deque()
        self._verdicts: deque[tuple[int, int, Verdict]] = deque()
        self._alarms: list[tuple[float, int, int, str, float]] = []
        self._order = itertools.count()
        self._rotates = self.layout.timeout
        self._exact = self.layout.reliability is Reliability.EFFECTIVELY_ONCE
        self._saves, self._checkpoints = self.layout.checkpoint_seconds, 0
        self._begin_all()
        for bolt in self.bolts.values():
            for stream, seconds in bolt.timers().items():
                self._alarm(seconds, bolt.number, stream, seconds)

    def clock(self) -> float:
        """The seconds that have passed since it began."""
        return self.now

    def task(self, component: str, index: int = 0) -> Any:
        """The object of the program that works in a task."""
        number = self.layout.tasks[component][index]
        return (self.spouts.get(number) or self.bolts[number]).code

    @property
    def pending(self) -> int:
        """How many of the spouts' tuples are under way."""
        return sum(len(spout.pending) for spout in self.spouts.values())

    def run(self) -> None:
        """Until nothing moves any more: the spouts emit nothing, and every tuple has been processed. Time stands still."""
        emitted = 0
        while True:
            self._drain()
            for spout in self.spouts.values():
                emitted += spout.next()
                self._messages.extend(spout.taken())
            if not self._messages and not self._verdicts:
                return
            if emitted > MOST_TUPLES:
                raise JobError(
                    f"the spouts of {self.layout.name} do not come to an end: they have emitted {MOST_TUPLES} tuples",
                    fix="give their tuples yourself: sources={'spout': [[…], …]}", where=user_line(),
                )  # fmt: skip

    def advance(self, seconds: float) -> None:
        """Let time pass: ticks come, windows close and tuples time out, each at its moment, and what follows from it is done."""
        until = self.now + seconds
        while True:
            spouts = [spout.rotates for spout in self.spouts.values()]
            due = [self._rotates, self._saves, *spouts, *(alarm[0] for alarm in self._alarms[:1])]
            if min(due) > until:
                break
            self.now = max(self.now, min(due))
            self._ring()
            self.run()
        self.now = until
        self.run()

    def kill(self, component: str, index: int = 0) -> None:
        """Let the process of a bolt's task die: what it holds in memory is gone, and it begins anew. Effectively once, all tasks go back
        to where they were saved last."""
        number = self.layout.tasks[component][index]
        if self._exact:
            self._messages.clear()
            self._begin_all()
        else:
            self.bolts[number] = BoltTask(self.layout, number, self.clock)
            self._begin(self.bolts[number])

    def _begin_all(self) -> None:
        components = self.layout.component.items()
        self.spouts = {number: SpoutTask(self.layout, number, self.clock) for number, part in components if part.is_spout}
        self.bolts = {number: BoltTask(self.layout, number, self.clock) for number, part in components if not part.is_spout}
        for task in [*self.bolts.values(), *self.spouts.values()]:
            self._begin(task)

    def _begin(self, task: Task) -> None:
        name = task.part.name
        task.saved = lambda: copy.deepcopy(self.states.get(task.number, {}))
        task.emitted = lambda stream, values: self.emitted.setdefault((name, stream), []).append(values)
        task.open()
        self._messages.extend(task.taken())

    def _drain(self) -> None:
        while self._messages or self._verdicts:
            while self._messages:
                message = self._messages.popleft()
                if isinstance(message, Note):
                    self.acker.take(message)
                elif isinstance(message, Write):
                    self.written.setdefault(message.topic, []).append((message.key, message.value))
                elif isinstance(message, Save):
                    state = self.states.setdefault(message.task, {})
                    state.pop(message.key, None)
                    state.update((message.key, copy.deepcopy(value)) for value in message.value)
                else:
                    bolt = self.bolts[message.task]
                    bolt.execute(message.tuple)
                    self._messages.extend(bolt.taken())
            while self._verdicts:
                number, root, verdict = self._verdicts.popleft()
                self.spouts[number].told(root, verdict)
                self._messages.extend(self.spouts[number].taken())

    def _tell(self, spout: int, root: int, verdict: Verdict) -> None:
        self._verdicts.append((spout, root, verdict))

    def _alarm(self, at: float, task: int, stream: str, seconds: float) -> None:
        heapq.heappush(self._alarms, (at, next(self._order), task, stream, seconds))

    def _ring(self) -> None:
        while self._alarms and self._alarms[0][0] <= self.now:
            at, _, task, stream, seconds = heapq.heappop(self._alarms)
            self._alarm(at + seconds, task, stream, seconds)
            self._messages.append(Send(task, clock_tuple(stream, seconds)))
        if self.now >= self._rotates:
            self._rotates += self.layout.timeout
            self.acker.trees.rotate()
        for spout in self.spouts.values():
            spout.expire()
            self._messages.extend(spout.taken())
        if self.now >= self._saves:
            self._saves += self.layout.checkpoint_seconds
            if self._exact:
                self._save()

    def _save(self) -> None:
        """All states, when no tuple is under way: so they are of one moment."""
        self.run()
        self._checkpoints += 1
        for task in [*self.spouts.values(), *self.bolts.values()]:
            task.save(self._checkpoints)
            self._messages.extend(task.taken())


def _mocked(made: Layout, sources: Mapping[str, Sequence[Any]]) -> Layout:
    for name in sources:
        if name not in made.parts or not made.parts[name].is_spout:
            spouts = ", ".join(part.name for part in made.parts.values() if part.is_spout)
            raise JobError(f"there is no spout [{name}] to give tuples for", fix=f"the spouts are {spouts}", where=user_line())
    parts = {
        name: replace(part, code=FixedSpout(part.outputs, sources[name])) if name in sources else part for name, part in made.parts.items()
    }
    return Layout(made.name, parts, made.config)


class Results:
    """What every component emitted, in order: `results["count"]`, or of another stream `results["count", "errors"]`."""

    def __init__(self, emitted: Mapping[tuple[str, str], list[list[Any]]], cluster: LocalCluster) -> None:
        self.emitted, self.cluster = emitted, cluster

    def __getitem__(self, of: str | tuple[str, str]) -> list[list[Any]]:
        component, stream = (of, DEFAULT) if isinstance(of, str) else of
        part = self.cluster.layout.parts.get(component)
        if part is None or stream not in part.outputs:
            raise KeyError(f"there is no stream {stream!r} of a component {component!r}")
        return list(self.emitted.get((component, stream), []))


def complete_topology(
    topology: Any, sources: Mapping[str, Sequence[Any]] | None = None, *, config: Mapping[str, Any] | None = None, seconds: float = 0
) -> Results:
    """Run a topology to its end, and give every tuple of every component.

    It has ended when the spouts emit nothing and each of their tuples is acked or failed; for that, and then for `seconds` more, time
    passes: a clock of its own, so a time-out of 30 seconds takes no time. A tuple of `sources` that fails is not emitted again.
    """
    cluster = LocalCluster(topology, sources=sources, config=config)
    cluster.run()
    while cluster.pending:
        cluster.advance(1)
    cluster.advance(seconds)
    return Results(cluster.emitted, cluster)


def read_tuples(results: Results, component: str, stream: str = DEFAULT) -> list[list[Any]]:
    """The tuples of one stream."""
    return results[component, stream]


def multiset_eq(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether two lists hold the same things, in whatever order."""
    return sorted(map(repr, one)) == sorted(map(repr, other))
