"""How the feeder writes: each tuple at once, or, effectively once, many together with the states of the spouts that emitted them."""

from __future__ import annotations

import time
from collections.abc import Iterable

from confluent_kafka import Producer

from headrace.fronts.storm.graph.layout import Layout
from headrace.fronts.storm.spark.topics import Topics
from headrace.fronts.storm.spark.wire import records, saved
from headrace.fronts.storm.tasks.messages import Message, Save
from headrace.fronts.storm.tasks.spouts import SpoutTask

_TOGETHER = 0.05
"""Seconds between two transactions: so much later a tuple is seen."""


class AtOnce:
    """Every record for itself."""

    def __init__(self, layout: Layout, topics: Topics, servers: str) -> None:
        self.layout, self.topics = layout, topics
        common = {"bootstrap.servers": servers, "log_level": 0, "linger.ms": 0, "queue.buffering.max.messages": 1_000_000}
        self.producer = Producer({**common, **self.own(topics)})

    def own(self, topics: Topics) -> dict[str, object]:  # noqa: ARG002
        """Settings of its own."""
        return {}

    def send(self, messages: Iterable[Message]) -> None:
        """Tuples and notes, to the topology's topic."""
        for key, value in records(messages, self.layout):
            self.write(self.topics.tuples, key, value)

    def write(self, topic: str, key: bytes | None, value: bytes | None) -> None:
        while True:
            try:
                self.producer.produce(topic, value, key)
                return
            except BufferError:  # the broker is slower than the spouts
                self.producer.poll(0.1)

    def passed(self, spouts: Iterable[SpoutTask]) -> None:  # noqa: ARG002
        """To be called all the time, when no spout is in the middle of something."""
        self.producer.poll(0)


class Together(AtOnce):
    """In transactions, each with what the spouts' states are after its tuples. A reader sees all of it or nothing, and a feeder that begins
    ends what the one before had begun: so tuples and states never disagree."""

    def __init__(self, layout: Layout, topics: Topics, servers: str) -> None:
        super().__init__(layout, topics, servers)
        self.producer.init_transactions(30)
        self.producer.begin_transaction()
        self.number, self.due, self.begun = 0, time.monotonic(), False

    def own(self, topics: Topics) -> dict[str, object]:
        return {"transactional.id": topics.spouts}

    def write(self, topic: str, key: bytes | None, value: bytes | None) -> None:
        super().write(topic, key, value)
        self.begun = True

    def passed(self, spouts: Iterable[SpoutTask]) -> None:
        super().passed(spouts)
        if not self.begun or time.monotonic() < self.due:
            return
        self.number += 1
        for spout in spouts:
            spout.save(self.number)
            messages = spout.taken()
            for change in messages:
                if isinstance(change, Save):
                    self.write(self.topics.spouts, *saved(change, self.layout.secret))
            self.send(message for message in messages if not isinstance(message, Save))
        self.producer.commit_transaction(30)
        self.producer.begin_transaction()
        self.due, self.begun = time.monotonic() + _TOGETHER, False
