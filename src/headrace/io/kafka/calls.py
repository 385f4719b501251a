"""Requests and answers over two Kafka topics, without Spark: who asks sends a request with an id, and waits for the answer with that id."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from headrace.errors import JobError
from headrace.io.kafka.administration import KafkaTopics
from headrace.io.kafka.client import PATIENCE
from headrace.io.kafka.topics import Topic

_RETENTION = Topic(config={"retention.ms": 3_600_000})  # who asked an hour ago does not wait any more
_POLL = 0.05  # seconds; Ctrl-C waits for it


class Caller:
    """One client of a function: it may ask from several threads, and several requests at once.

    Answers are read from where their topic ends when the client begins. One that comes twice, or after its time, is left alone.
    """

    def __init__(self, cluster: KafkaTopics, requests: str, answers: str) -> None:
        cluster.require([requests, answers])
        self._requests = requests
        self._producer = cluster.client.make(Producer, partitioner="murmur2_random", linger_ms=0)
        self._consumer = cluster.client.make(
            Consumer, group_id=f"headrace-ask-{uuid.uuid4().hex}", enable_auto_commit=False, fetch_wait_max_ms=10
        )
        (there,) = cluster.describe([answers], config=False)
        self._consumer.assign([TopicPartition(answers, each.number, each.end) for each in there.partitions])
        self._arrived: dict[str, dict[str, Any]] = {}
        self._awaited: set[str] = set()
        self._lock = threading.Lock()

    def ask(self, requests: Sequence[Mapping[str, Any]], seconds: float) -> list[dict[str, Any]]:
        """The answers to all requests, in their order; JobError for the first that is an error, or if one does not come in time."""
        ids = [uuid.uuid4().hex for _ in requests]
        self._awaited.update(ids)
        try:
            for one, request in zip(ids, requests, strict=True):
                self._producer.produce(self._requests, json.dumps({**request, "id": one}), one)
            deadline = time.monotonic() + seconds
            if self._producer.flush(min(seconds, PATIENCE)):
                raise _in_vain(self._requests, seconds)
            while not self._arrived.keys() >= set(ids):
                if time.monotonic() > deadline:
                    raise _in_vain(self._requests, seconds)
                self._read()
            return [_answer(self._arrived[one]) for one in ids]
        finally:
            self._awaited.difference_update(ids)
            for one in ids:
                self._arrived.pop(one, None)

    def _read(self) -> None:
        with self._lock:  # whichever thread reads, it reads for all
            message = self._consumer.poll(_POLL)
            key, value = (None, None) if message is None or message.error() is not None else (message.key(), message.value())
            if key is not None and value is not None and (one := key.decode()) in self._awaited:
                self._arrived.setdefault(one, json.loads(value))

    def close(self) -> None:
        self._consumer.close()


def make_topics(cluster: KafkaTopics, *names: str) -> None:
    """Both topics, as far as they are not there."""
    if missing := [name for name in names if name not in cluster.names()]:
        cluster.create(missing, _RETENTION)


def _answer(value: dict[str, Any]) -> dict[str, Any]:
    if (reason := value.get("error")) is not None:
        raise JobError(f"the function refused the request: {reason}", fix="ask for something that it can answer")
    answer: dict[str, Any] = value["answer"]
    return answer


def _in_vain(topic: str, seconds: float) -> JobError:
    return JobError(
        f"no answer came within {seconds:g} s to a request in topic {topic!r}",
        fix="see that the job that answers is running, in real time or with a short trigger; or wait longer: seconds=60",
    )
