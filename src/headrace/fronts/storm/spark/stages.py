"""A level of a topology on Spark: a process of Python that hosts the level's bolts, from batch to batch.

Rows for this level are tuples, and become what the bolts make of them; all others pass. A task begins with its first tuple. Its memory
lives as long as the process: a process that dies takes it along, as in Storm.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from headrace.fronts.storm.graph.layout import Layout
from headrace.fronts.storm.graph.tuples import SYSTEM
from headrace.fronts.storm.spark.saved import saved_in
from headrace.fronts.storm.spark.topics import Topics
from headrace.fronts.storm.spark.wire import Carried, Row, rows, unpacked
from headrace.fronts.storm.tasks.bolts import BoltTask
from headrace.fronts.storm.tasks.messages import Write
from headrace.kernel.worker import Called

METRICS = "__metrics"
"""The stream of the clock's tuples by which a process is asked for the counts of its tasks."""
START = "__start"
"""The stream of those that only make a task begin; it answers that it is ready."""


class Stage:
    """What runs in the process."""

    def __init__(self, layout: Layout, level: int, topics: Topics) -> None:
        self.layout, self.topics = layout, topics
        self.own = frozenset(t for t, part in layout.component.items() if layout.level[part.name] == level)

    def open(self) -> None:
        self.tasks: dict[int, BoltTask] = {}

    def close(self) -> None:
        for task in self.tasks.values():
            task.close()

    def __call__(self, given: Sequence[Any]) -> Sequence[Sequence[Any]]:
        number = given[0]
        if number not in self.own:
            return [given]
        row = Row(*given)
        task = self.tasks.get(number) or self._begin(number)
        tup = unpacked(row.payload or b"", self.layout)
        if tup.component == SYSTEM and tup.stream == METRICS:
            task.out.append(Write(self.topics.metrics, None, self._counts()))
        elif tup.component == SYSTEM and tup.stream == START:
            task.out.append(Write(self.topics.acks, b"0", f"{number},ready".encode()))
        else:
            task.execute(tup)
        return [tuple(each) for each in rows(task.taken(), self.layout, Carried(*row[2:6]))]

    def _begin(self, number: int) -> BoltTask:
        task = self.tasks[number] = BoltTask(self.layout, number, time.time)
        servers = self.layout.config["headrace.kafka"]
        task.saved = lambda: saved_in(self.topics.state, servers, task.part.name, number, self.layout.secret)
        task.open()
        return task

    def _counts(self) -> bytes:
        counts = [{"component": task.part.name, "task": number, **task.counts.as_dict()} for number, task in self.tasks.items()]
        return json.dumps({"at": time.time(), "tasks": counts}).encode()


class Hosted(Called):
    """A stage as the kernel calls it: a row in, rows out."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage, "storm", lenient=False)

    def __call__(self, given: Any) -> Any:
        return self.function(given)
