"""Kafka as a spout's source and as the end of a stream.

KafkaSpout  at-least-once: it emits again what failed, and saves how far all is acked in a consumer group, from where it goes on.
KafkaBolt   at-least-once: its records are written by the query that runs the topology. When that runs effectively once, a record that is
            written again after a crash has the same id as the first, in the header `storm-id`: `TASK-NUMBER`, numbered from 1 on.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.fronts.storm.components.state import StatefulSpout
from headrace.fronts.storm.components.streamparse import Bolt
from headrace.fronts.storm.graph.layout import Stream
from headrace.fronts.storm.graph.tuples import DEFAULT, Tuple
from headrace.fronts.storm.tasks.task import Context


class KafkaBolt(Bolt):
    """Writes each tuple to a topic: `value`, one field as it is (text or bytes), or all fields as a JSON object; `key` is a field, too."""

    def __init__(self, topic: str, *, key: str | None = None, value: str | None = None) -> None:
        self.topic, self.key, self.value = topic, key, value

    def process(self, tup: Tuple) -> None:
        whole = dict(zip(tup.fields, tup.values, strict=True))
        value = _bytes(json.dumps(whole) if self.value is None else tup[self.value])
        self._task.write(self.topic, None if self.key is None else _bytes(tup[self.key]), value)


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


class KafkaSpout(StatefulSpout):
    """Emits the values of a topic as text, in the field `value`, or as `decode(bytes)` gives them, a list. Each of its tasks reads some of
    the partitions. What failed is emitted again, as often as it fails.

    At least once, the offset up to which all is acked is saved in the consumer group, whenever it moves. Effectively once, the offsets are
    the spout's state, and each task has its partitions for good: partition p is that of task p modulo tasks.
    """

    def __init__(
        self, topic: str, *, servers: str | None = None, group: str | None = None, fields: Sequence[str] = ("value",), decode: Any = None
    ) -> None:
        self.topic, self.servers, self.group, self.names, self.decode = topic, servers, group or f"storm-{topic}", list(fields), decode

    def declared(self) -> dict[str, Stream]:
        return {DEFAULT: Stream(self.names)}

    def initialize(self, conf: Mapping[str, Any], ctx: Context) -> None:
        from confluent_kafka import Consumer

        self.consumer = Consumer(
            {
                "bootstrap.servers": self.servers or conf["headrace.kafka"],
                "group.id": self.group,
                "log_level": 0,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "partition.assignment.strategy": "range",
                # A process that takes the place of one that was killed is the same member, and has its partitions again at once.
                "group.instance.id": f"{self._task.layout.name}-{self._task.number}",
                "session.timeout.ms": 6000,
            }
        )
        self.under_way: dict[int, dict[int, list[Any]]] = {}  # by partition, the oldest first
        self.reached: dict[int, int] = {}
        self.again: deque[tuple[int, int]] = deque()
        self.exact = self._task.exact
        if self.exact:
            self._assign(ctx)
        else:
            self.consumer.subscribe([self.topic])

    def _assign(self, ctx: Context) -> None:
        from confluent_kafka import OFFSET_BEGINNING, TopicPartition

        tasks = len(ctx.getComponentTasks(ctx.getThisComponentId()))
        partitions = self.consumer.list_topics(self.topic, timeout=30).topics[self.topic].partitions
        own = [partition for partition in partitions if partition % tasks == ctx.getThisTaskIndex()]
        self.consumer.assign([TopicPartition(self.topic, each, self.state.get(each, OFFSET_BEGINNING)) for each in own])

    def next_tuple(self) -> None:
        if self.again:
            partition, offset = self.again.popleft()
            self.emit(self.under_way[partition][offset], tup_id=(partition, offset))
            return
        message = self.consumer.poll(0)
        if message is None or message.error():
            return
        value, partition, offset = message.value() or b"", int(message.partition() or 0), int(message.offset() or 0)
        values = [value.decode()] if self.decode is None else list(self.decode(value))
        if self.exact:
            self.state[partition] = offset + 1
            self.emit(values)
        else:
            self.under_way.setdefault(partition, {})[offset] = values
            self.reached[partition] = offset + 1
            self.emit(values, tup_id=(partition, offset))

    def ack(self, tup_id: Any) -> None:
        """Saves the offset up to which everything has been acked, whenever that moves."""
        from confluent_kafka import TopicPartition

        partition, offset = tup_id
        waiting = self.under_way.get(partition, {})
        moves = next(iter(waiting), None) == offset
        waiting.pop(offset, None)
        if moves:
            saved = TopicPartition(self.topic, partition, next(iter(waiting), self.reached[partition]))
            self.consumer.commit(offsets=[saved], asynchronous=True)

    def fail(self, tup_id: Any) -> None:
        partition, offset = tup_id
        if offset in self.under_way.get(partition, {}):
            self.again.append((partition, offset))

    def close(self) -> None:
        self.consumer.close()
