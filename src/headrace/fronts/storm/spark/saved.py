"""The state of stateful bolts, as it was last saved: in a topic, which is compacted."""

from __future__ import annotations

from typing import Any

from headrace.fronts.storm.spark.seals import opened


def saved_in(topic: str, servers: str, component: str, task: int, secret: bytes) -> dict[Any, Any]:
    """The state of a task, as it was last saved in the topic."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": servers, "group.id": f"{topic}.{task}", "enable.auto.commit": False, "log_level": 0})
    try:
        first, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)
        consumer.assign([TopicPartition(topic, 0, first)])
        values: dict[Any, Any] = {}
        while first < end and consumer.position([TopicPartition(topic, 0)])[0].offset < end:
            for message in consumer.consume(1000, 0.1):
                if message.error() is None:
                    whose, number, key = opened(secret, message.key() or b"")
                    if (whose, number) == (component, task):
                        values[key] = message.value()
        return {key: opened(secret, value) for key, value in values.items() if value is not None}
    finally:
        consumer.close()
