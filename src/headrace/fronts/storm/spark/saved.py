"""What was saved of tasks: in a topic, whose newest record of a key counts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from headrace.definitions.seals import opened

States = dict[int, dict[tuple[Any, ...], Any]]
"""Of each task, what `Save` (tasks/messages.py) has said of it."""


def saved_in(topic: str, servers: str, secret: bytes, tasks: Collection[int], places: tuple[int, int] | None = None) -> States:
    """The states of these tasks: what the topic has from one offset up to another, or all that it has now."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": servers, "group.id": f"{topic}.reader", "enable.auto.commit": False, "log_level": 0,
            "isolation.level": "read_committed", "enable.partition.eof": True,
        }
    )  # fmt: skip
    try:
        first, end = places or consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)
        consumer.assign([TopicPartition(topic, 0, first)])
        newest: dict[bytes, bytes | None] = {}
        while first < end:
            for message in consumer.consume(1000, 0.1):
                at, error = int(message.offset() or 0), message.error()
                if error is None and at < end:
                    newest[message.key() or b""] = message.value()
                    first = at + 1
                elif error is None or error.name() == "_PARTITION_EOF":  # what is left was aborted, or compacted
                    first = end
        return _by_task(newest, secret, tasks)
    finally:
        consumer.close()


def _by_task(records: Mapping[bytes, bytes | None], secret: bytes, tasks: Collection[int]) -> States:
    states: States = {}
    for key, value in records.items():
        task = int(key.split(b" ", 1)[0])
        if task in tasks and value is not None:
            name, content = opened(secret, value)
            states.setdefault(task, {})[name] = content
    return states
