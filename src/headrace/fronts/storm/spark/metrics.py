"""What the tasks of a running topology have done: the counts that they send to its metrics topic, once a second."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from headrace.fronts.storm.graph.layout import Layout
from headrace.fronts.storm.spark.topics import Topics


@dataclass(frozen=True)
class ComponentMetrics:
    """Of all tasks of a component together. Latencies are in milliseconds: `execute` of one call, `complete` from a spout's tuple to its
    ack. `rate` is what was executed a second, between the last two reports."""

    component: str
    tasks: int
    emitted: int
    transferred: int
    executed: int
    acked: int
    failed: int
    pending: int
    rate: float
    execute_latency: float | None
    complete_latency: float | None
    error: str | None


class Metrics:
    """The newest counts of each task."""

    def __init__(self, made: Layout, topics: Topics, servers: str) -> None:
        self.layout = made
        self._tasks: dict[int, tuple[float, Mapping[str, Any]]] = {}
        self._before: dict[int, tuple[float, Mapping[str, Any]]] = {}
        self._consumer = Consumer(
            {"bootstrap.servers": servers, "group.id": f"{topics.metrics}.reader", "enable.auto.commit": False, "log_level": 0}
        )
        _, end = self._consumer.get_watermark_offsets(TopicPartition(topics.metrics, 0), timeout=30)
        self._consumer.assign([TopicPartition(topics.metrics, 0, end)])

    def read(self) -> Metrics:
        """The same, with all that has come meanwhile."""
        while messages := self._consumer.consume(1000, 0.05):
            for message in messages:
                if message.error() is None:
                    report = json.loads(message.value() or b"")
                    for task in report["tasks"]:
                        number = task["task"]
                        if number in self._tasks:
                            self._before[number] = self._tasks[number]
                        self._tasks[number] = report["at"], task
        return self

    def close(self) -> None:
        self._consumer.close()

    def __getitem__(self, component: str) -> ComponentMetrics:
        tasks = [number for number in self.layout.tasks[component] if number in self._tasks]
        counts = [self._tasks[number][1] for number in tasks]

        def total(name: str) -> Any:
            return sum(count.get(name) or 0 for count in counts)

        part, executed, acked = self.layout.parts[component], total("executed"), total("acked")
        return ComponentMetrics(
            component=component,
            tasks=part.tasks,
            emitted=total("emitted"),
            transferred=total("transferred"),
            executed=executed,
            acked=acked,
            failed=total("failed"),
            pending=total("pending"),
            rate=sum(map(self._rate, tasks)),
            execute_latency=total("busy") * 1000 / executed if executed else None,
            complete_latency=total("complete") * 1000 / acked if part.is_spout and acked else None,
            error=next((count["error"] for count in counts if count["error"]), None),
        )

    def _rate(self, task: int) -> float:
        if task not in self._before:
            return 0.0
        (then, before), (now, count) = self._before[task], self._tasks[task]
        name = "emitted" if self.layout.component[task].is_spout else "executed"
        return max(0.0, (count[name] - before[name]) / (now - then)) if now > then else 0.0

    def components(self) -> list[ComponentMetrics]:
        """All of them, in the order of their definition."""
        return [self[name] for name in self.layout.parts]
