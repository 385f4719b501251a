"""What reads and writes Kafka in Spark's tasks. It is sent there as it is, so executors need Kafka's client, not headrace."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from pyspark import cloudpickle

_PATIENCE = 60  # seconds without an answer


class KafkaMessageAndMetadata(NamedTuple):
    """A record as `messageHandler` gets it. Key and message are bytes or None."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    message: bytes | None


def fetched(client: dict[str, str], topic: str, partition: int, start: int, until: int) -> Iterator[tuple[Any, ...]]:
    """(topic, partition, offset, key, value) of the records in [start, until)."""
    if start >= until:
        return
    from confluent_kafka import Consumer, KafkaError, TopicPartition

    ours = {"group.id": "headrace-dstreams", "enable.auto.commit": False, "enable.partition.eof": True, "auto.offset.reset": "error"}
    consumer = Consumer({"log_level": 0, **client, **ours})
    try:
        heard, next_offset = time.monotonic(), start
        consumer.assign([TopicPartition(topic, partition, start)])
        while True:
            messages = consumer.consume(min(1000, until - next_offset), 0.1)  # it waits that long for as many
            heard = time.monotonic() if messages else heard
            if time.monotonic() - heard > _PATIENCE:
                raise RuntimeError(f"Kafka: no record of {topic}/{partition} comes")
            for message in messages:
                error = message.error()
                if error is not None and error.code() != KafkaError._PARTITION_EOF:
                    raise RuntimeError(f"Kafka: {topic}/{partition} cannot be read from {start} on: {error.str()}")
                # What follows the last record may be the mark of a transaction: then Kafka says that this is the end.
                offset: Any = message.offset()
                if error is not None or offset >= until:
                    return
                yield topic, partition, offset, message.key(), message.value()
                next_offset = offset + 1
                if next_offset == until:
                    return
    finally:
        consumer.close()


def sent(client: dict[str, str], topic: str, elements: Iterable[Any]) -> None:
    """Write elements, and wait until the cluster has them all."""
    from confluent_kafka import Producer

    # Java's clients choose the partition of a key in this way; librdkafka by itself in another.
    producer = Producer({"log_level": 0, "partitioner": "murmur2_random", "enable.idempotence": True, "linger.ms": 5, **client})
    failures: list[str] = []

    def delivered(error: Any, _: Any) -> None:
        if error is not None:
            failures.append(error.str())

    for element in elements:
        key, value = element if isinstance(element, tuple) and len(element) == 2 else (None, element)
        while True:
            try:
                producer.produce(topic, encoded(value), encoded(key), on_delivery=delivered)
                break
            except BufferError:  # as many are under way as the client holds
                producer.poll(0.1)
        producer.poll(0)
    producer.flush()
    if failures:
        raise RuntimeError(f"Kafka: {len(failures)} records did not reach topic {topic!r}: {failures[0]}")


def encoded(value: Any) -> bytes | None:
    """A key or a value as Kafka takes it.

    >>> encoded("ö"), encoded(b"x"), encoded(None), encoded({"n": 1})
    (b'\\xc3\\xb6', b'x', None, b'{"n": 1}')
    """
    if value is None or isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else json.dumps(value)).encode()


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
