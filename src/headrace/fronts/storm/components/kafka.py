"""Kafka as a spout's source and as the end of a stream.

KafkaSpout  at-least-once: it emits again what failed, and saves how far all is acked in a consumer group, from where it goes on.
KafkaBolt   at-least-once: its records are written by the query that runs the topology.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.fronts.storm.components.streamparse import Bolt, Spout
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


class KafkaSpout(Spout):
    """Emits the values of a topic as text, in the field `value`, or as `decode(bytes)` gives them, a list. Each of its tasks reads some of
    the partitions. What failed is emitted again, as often as it fails."""

    def __init__(
        self, topic: str, *, servers: str | None = None, group: str | None = None, fields: Sequence[str] = ("value",), decode: Any = None
    ) -> None:
        self.topic, self.servers, self.group, self.names, self.decode = topic, servers, group or f"storm-{topic}", list(fields), decode

    def declared(self) -> dict[str, Stream]:
        return {DEFAULT: Stream(self.names)}

    def initialize(self, conf: Mapping[str, Any], ctx: Context) -> None:  # noqa: ARG002
        from confluent_kafka import Consumer

        self.consumer = Consumer(
            {
                "bootstrap.servers": self.servers or conf["headrace.kafka"],
                "group.id": self.group,
                "log_level": 0,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "partition.assignment.strategy": "range",
                "session.timeout.ms": 6000,  # after so long the group gives the partitions of a process that was killed to the next one
            }
        )
        self.under_way: dict[int, dict[int, list[Any]]] = {}  # by partition, the oldest first
        self.reached: dict[int, int] = {}
        self.again: deque[tuple[int, int]] = deque()
        self.consumer.subscribe([self.topic])

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
