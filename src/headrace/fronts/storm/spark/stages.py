"""A level of a topology on Spark: a process of Python that hosts the level's bolts, from batch to batch.

Rows for this level are tuples, and become what the bolts make of them; all others pass. A task begins with its first tuple. Its memory
lives as long as the process: a process that dies takes it along, as in Storm.

Effectively once, the process knows of which batch its memory is. At the end of each batch the changes of all states leave as rows, and are
kept by the query's one state (states.py), which is saved with the batch. A process that is asked for another batch than the next one has
lost its memory, or never had it: it says so, the query begins again, and all processes with it, from the states that were saved last.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.fronts.storm.graph.layout import Layout
from headrace.fronts.storm.graph.tuples import SYSTEM
from headrace.fronts.storm.spark.saved import States, saved_in
from headrace.fronts.storm.spark.topics import Topics
from headrace.fronts.storm.spark.wire import Carried, Row, rows, unpacked
from headrace.fronts.storm.tasks.bolts import BoltTask
from headrace.fronts.storm.tasks.messages import Write
from headrace.kernel.python.worker.functions import Called

METRICS = "__metrics"
"""The stream of the clock's tuples by which a process is asked for the counts of its tasks."""
START = "__start"
"""The stream of those that only make a task begin; it answers that it is ready."""
LOST = "the memory of a bolt's process is not that of the batch before"
"""What a process says that must begin anew, effectively once."""


@dataclass(frozen=True)
class Restored:
    """The states that a query begins with: as they were after a batch, in the state topic from one offset up to another."""

    batch: int
    places: tuple[int, int]


class Stage:
    """What runs in the process."""

    def __init__(self, layout: Layout, level: int, topics: Topics, restored: Restored | None = None) -> None:
        self.layout, self.topics, self.restored = layout, topics, restored
        self.own = frozenset(t for t, part in layout.component.items() if layout.level[part.name] == level)

    def open(self) -> None:
        self.tasks: dict[int, BoltTask] = {}
        self._states: States = {}
        self._after: int | None = None  # the batch that its memory is of
        self._batch: int | None = None  # the one that it is at
        if self.restored is not None:
            self._after = self.restored.batch
            if self.restored.places[0] < self.restored.places[1]:
                self._states = self._saved(self.own, self.restored.places)

    def close(self) -> None:
        for task in self.tasks.values():
            task.close()

    def __call__(self, call: Sequence[Any] | None) -> Sequence[Sequence[Any]]:
        if self.restored is not None and self._batch is None:
            self._begin_batch()
        if call is None:
            return self._end_batch()
        number = call[0]
        if number not in self.own:
            return [call]
        row = Row(*call)
        task = self.tasks.get(number) or self._begin(number)
        tup = unpacked(row.payload or b"", self.layout)
        if tup.component == SYSTEM and tup.stream == METRICS:
            task.out.append(Write(self.topics.metrics, None, self._counts()))
        elif tup.component == SYSTEM and tup.stream == START:
            task.out.append(Write(self.topics.acks, b"0", f"{number},ready".encode()))
        else:
            task.execute(tup)
        return [tuple(each) for each in rows(task.taken(), self.layout, Carried(*row[2:6]))]

    def _begin_batch(self) -> None:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        self._batch, after = int(context.getLocalProperty("streaming.sql.batchId") or -1), self._after
        self._after = None  # until it has come to the end
        if after != self._batch - 1:
            raise RuntimeError(f"{LOST}: it is of {after}, and batch {self._batch} is due")

    def _end_batch(self) -> Sequence[Sequence[Any]]:
        assert self._batch is not None
        saved = []
        for task in self.tasks.values():
            task.save(self._batch)
            saved += rows(task.taken(), self.layout)
        self._after, self._batch = self._batch, None
        return [tuple(each) for each in saved]

    def _begin(self, number: int) -> BoltTask:
        task = self.tasks[number] = BoltTask(self.layout, number, time.time)
        if self.restored is not None:
            task.saved = lambda: self._states.pop(number, {})
        else:
            task.saved = lambda: self._saved([number]).get(number, {})
        task.open()
        return task

    def _saved(self, tasks: Sequence[int] | frozenset[int], places: tuple[int, int] | None = None) -> States:
        return saved_in(self.topics.state, self.layout.config["headrace.kafka"], self.layout.secret, tasks, places)

    def _counts(self) -> bytes:
        counts = [{"component": task.part.name, "task": number, **task.counts.as_dict()} for number, task in self.tasks.items()]
        return json.dumps({"at": time.time(), "tasks": counts}).encode()


class Hosted(Called):
    """A stage as the kernel calls it: a row in, rows out; effectively once, also at the end of a batch, without a row."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage, "storm", lenient=False)

    def __call__(self, call: Any) -> Any:
        return self.function(call)
