"""Records of a Kafka topic, sent and read one by one, without Spark: for people and tests, not for streams."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from confluent_kafka import OFFSET_END, Consumer, KafkaError, Message, Producer, TopicPartition

from headrace.definitions import secrets
from headrace.errors import JobError
from headrace.io.kafka.administration import KafkaTopics
from headrace.io.kafka.client import PATIENCE, KafkaClient
from headrace.io.kafka.topics import Partition, Record, in_utc


def send(topics: KafkaTopics, topic: str, records: Iterable[Record], sent: Callable[[int], None]) -> int:
    """Send records in this order, and wait until the cluster has them all; how many there were. `sent` is told as they go."""
    (there,) = topics.describe([topic], config=False)
    # Java's clients, and so Spark, choose the partition of a key in this way; librdkafka by itself in another.
    producer = topics.client.make(Producer, partitioner="murmur2_random", enable_idempotence=True, linger_ms=5, message_timeout_ms=30_000)
    failures: Counter[str] = Counter()

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failures[error.str()] += 1

    count = 0
    for record in records:
        _require_partition(topic, record.partition, len(there.partitions))
        with topics.client.answering(f"topic {topic!r}: "):
            _produce(producer, topic, record, delivered)
        count += 1
        sent(count)
    producer.flush()
    if failures:
        raise JobError(
            f"{failures.total():,} of {count:,} records did not reach topic {topic!r}: {secrets.hide(next(iter(failures)))}",
            fix="look whether the cluster runs, and takes records of this size; then send these again",
        )
    return count


def _produce(producer: Producer, topic: str, record: Record, delivered: Callable[[KafkaError | None, Message], None]) -> None:
    partition = -1 if record.partition is None else record.partition
    timestamp = 0 if record.timestamp is None else _millis(record.timestamp)
    while True:
        try:
            headers = list(record.headers)
            producer.produce(
                topic, record.value, record.key, partition, on_delivery=delivered, timestamp=timestamp, headers=headers  # type: ignore[arg-type]
            )  # fmt: skip
            producer.poll(0)
            return
        except BufferError:  # as many are under way as the client holds
            producer.poll(0.1)


def read(
    topics: KafkaTopics, topic: str, *, start: str | datetime, limit: int | None, follow: bool, partition: int | None
) -> Iterator[Record]:
    """Records as they come, those of a partition in its order: all there are now, or with `follow` also those to come."""
    (there,) = topics.describe([topic], config=False)
    _require_partition(topic, partition, len(there.partitions))
    partitions = [each for each in there.partitions if partition in (None, each.number)]
    consumer = topics.client.make(Consumer, group_id="headrace-topics", enable_auto_commit=False, enable_partition_eof=True)
    with topics.client.answering(f"topic {topic!r}: "):
        starts = _starts(consumer, topic, partitions, start)
    consumer.assign([TopicPartition(topic, number, offset) for number, offset in starts.items()])
    ends = {each.number: each.end for each in partitions if starts[each.number] < each.end}
    return _records(topics.client, consumer, None if follow else ends, limit)


def _starts(consumer: Consumer, topic: str, partitions: Sequence[Partition], start: str | datetime) -> dict[int, int]:
    """The offset at which each partition begins."""
    if isinstance(start, str):
        return {each.number: each.begin if start == "earliest" else each.end for each in partitions}
    wanted = [TopicPartition(topic, each.number, _millis(start)) for each in partitions]
    offsets = {place.partition: place.offset for place in consumer.offsets_for_times(wanted, timeout=PATIENCE)}
    return {each.number: each.end if offsets[each.number] == OFFSET_END else offsets[each.number] for each in partitions}


def _records(client: KafkaClient, consumer: Consumer, ends: dict[int, int] | None, limit: int | None) -> Iterator[Record]:
    """Until each partition has come to its end, if there are such."""
    with closing(consumer):
        count, heard = 0, time.monotonic()
        while (ends is None or ends) and count != limit:
            message = consumer.poll(0.2)  # not longer: Ctrl-C waits for it
            if message is None:
                if ends is not None and time.monotonic() - heard > PATIENCE:
                    raise client.no_answer("no record comes")
                continue
            heard = time.monotonic()
            if _counts(client, message, ends):
                count += 1
                yield _record(message)


def _counts(client: KafkaClient, message: Message, ends: dict[int, int] | None) -> bool:
    """Whether it is a record that was asked for. A partition whose end it is has no end any more."""
    error, number, offset = message.error(), message.partition(), message.offset()
    assert number is not None
    assert offset is not None
    if error is not None and error.code() != KafkaError._PARTITION_EOF:
        raise client.failure(error)
    if ends is None:
        return error is None
    end = ends.get(number)
    # Behind the last record there may be the mark of a transaction, or one that is not committed: then Kafka says that this is the end.
    if end is not None and (error is not None or offset + 1 >= end):
        del ends[number]
    return error is None and end is not None and offset < end


def _require_partition(topic: str, partition: int | None, count: int) -> None:
    if partition is not None and partition not in range(count):
        raise JobError(f"topic {topic!r} has no partition {partition}", fix=f"it has {count}, counted from 0")


def _millis(time: datetime) -> int:
    return int(in_utc(time).timestamp() * 1000)


def _record(message: Message) -> Record:
    _, millis = message.timestamp()
    time = datetime.fromtimestamp(millis / 1000, UTC) if millis >= 0 else None
    headers: Any = message.headers() or ()  # pairs, and in another form only before they are sent
    return Record(message.value(), message.key(), tuple(headers), message.partition(), message.offset(), time)
