"""Topics that live as long as a measurement."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from headrace.embedded import kafka

PARTITIONS = 2


@contextmanager
def topics(*purposes: str) -> Iterator[list[str]]:
    """Empty topics of two partitions, deleted at the end."""
    admin = AdminClient({"bootstrap.servers": kafka.ensure()})
    names = [f"headrace-bench-{purpose}-{uuid.uuid4().hex[:8]}" for purpose in purposes]
    for made in admin.create_topics([NewTopic(name, num_partitions=PARTITIONS, replication_factor=1) for name in names]).values():
        made.result()
    try:
        yield names
    finally:
        for gone in admin.delete_topics(names).values():
            gone.result()


def consumer(topic: str) -> Consumer:
    """A reader of all partitions from their beginning, outside any group, that hands records over as soon as they are there."""
    reading = Consumer(
        {
            "bootstrap.servers": kafka.ensure(),
            "group.id": "headrace-bench",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 100,
        }
    )
    reading.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
    return reading


def read(topic: str) -> list[bytes]:
    """The values of a topic, partition by partition in the order of the log."""
    reading = consumer(topic)
    values: dict[int | None, list[bytes]] = {partition: [] for partition in range(PARTITIONS)}
    open_: set[int | None] = set(values)
    while open_:
        message = reading.poll(10)
        if message is None:
            raise SystemExit(f"{topic} cannot be read")
        error = message.error()
        if error is None:
            values[message.partition()].append(message.value() or b"")
        elif error.code() == KafkaError._PARTITION_EOF:
            open_.discard(message.partition())
        else:
            raise KafkaException(error)
    reading.close()
    return [value for partition in values.values() for value in partition]
