"""Topics at the broker: made, filled from a file, and removed."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer

import headrace as hr

_LARGEST = 100_000_000  # bytes of one record: a line is refused by the rules, not by the broker


@contextmanager
def passing(servers: str, *names: str) -> Iterator[list[str]]:
    """Topics of one partition under names of their own, for as long as the block runs."""
    run = uuid.uuid4().hex[:12]
    topics = [f"headrace-fraud-{name}-{run}" for name in names]
    create(servers, topics, partitions=1)
    try:
        yield topics
    finally:
        remove(servers, topics)


def existing(servers: str) -> set[str]:
    return {topic.name for topic in hr.topics.list(servers=servers)}


def create(servers: str, topics: Iterable[str], *, partitions: int) -> None:
    hr.topics.create(*topics, partitions=partitions, config={"max.message.bytes": _LARGEST}, servers=servers)


def remove(servers: str, topics: Iterable[str]) -> None:
    if names := list(topics):
        hr.topics.delete(*names, servers=servers)


def _client(servers: str) -> dict[str, str | int | float | bool]:
    return {"bootstrap.servers": servers, "log_level": 3}  # errors only: what the library retries by itself is not for the terminal


def send(file: Path, servers: str, topic: str, say: Callable[[str], None]) -> int:
    """Every line of a file as a record, keyed by its customer, in order; how many there were."""
    failed: Counter[str] = Counter()
    producer = Producer(_client(servers) | {"enable.idempotence": True, "message.max.bytes": _LARGEST, "linger.ms": 20})

    def delivered(error: object, message: object) -> None:  # noqa: ARG001
        if error is not None:
            failed[str(error)] += 1

    lines = 0
    with file.open("rb") as source:
        for line in source:
            value = line.removesuffix(b"\n")
            while True:
                try:
                    producer.produce(topic, value, _customer(value), on_delivery=delivered)
                    break
                except BufferError:
                    producer.poll(0.1)
            lines += 1
            if lines % 100_000 == 0:
                say(f"sending, {lines:,} lines")
    producer.flush()
    if failed:
        raise hr.HeadraceError(f"{failed.total():,} lines did not reach the broker: {next(iter(failed))}", fix="run it again")
    return lines


def _customer(value: bytes) -> bytes | None:
    try:
        customer = json.loads(value)["customer"]
        return customer.encode() if isinstance(customer, str) else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
