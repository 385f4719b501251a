"""Payments by a seed, and the log of those that Kafka has acknowledged: `partition offset text`, a line for each.

Most are of one customer (skew), some come in the wrong order, again, an hour late, or so that they cannot be read; the last partition is
idle. Late ones are sent when `late` is set: once the job has seen later ones.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

CUSTOMERS = 20
NEW = 1000  # the customers of partition 3 are those of number 1003
STEP = timedelta(milliseconds=50)  # of event time, between two payments
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
LATE = timedelta(hours=1)
# A payment must not be late by accident: the job's delay is 300 steps. So no payment passes more than so many others,
PASSING = 30
# no more than so many wait for the broker, which may answer for one partition before another,
WAITING = 60
# no more than so many wait for the job: of a backlog Spark takes from each partition in proportion to what waits there, and the longer it
# is, the further the times of two partitions come apart on the way (by 330 steps in one of 11,000),
BEHIND, LOOK = 2000, 40  # looked at once a second
# and the rest is for batches that end earlier in one partition than in another.
POISON = [
    '{{"id": {id}, "customer": "c1", "amount": ',
    '{{"id": {id}, "customer": "c1", "amount": "much", "at": "2026-01-01T00:00:00Z"}}',
    '{{"id": {id}, "customer": null, "amount": 1, "at": "2026-01-01T00:00:00Z"}}',
    '{{"id": {id}, "customer": "c1", "amount": NaN, "at": "2026-01-01T00:00:00Z"}}',
    '{{"id": {id}, "customer": "c1", "amount": 1, "at": "<script>\'; DROP TABLE decisions; --"}}',
    '{{"id": {id}, "deep": ' + "[" * 1000 + "]" * 1000 + "}}",
    '{{"id": {id}, "amount": 99999999999999999999}}',
]


@dataclass
class Payments:
    """Texts of payments, each with the partition that it goes to, without an end."""

    chance: random.Random
    partitions: int
    late: bool = False
    orderly: bool = False
    """Whether none passes another."""
    next_id: int = 0
    added: list[int] = field(default_factory=list)
    """Partitions that came later: each has customers of its own, for a customer's payments have an order only within one."""

    def __iter__(self) -> Iterator[tuple[int, str]]:
        waiting: list[tuple[int, str]] = []  # a few are passed by others, at most so many that they are not late
        since = 0
        while True:
            payment, kind = self._next(), self.chance.random()
            if kind < 0.03:
                yield self._partition("c1"), self.chance.choice(POISON).format(id=payment["id"])
                continue
            if kind < 0.06 and self.late:
                payment["at"] = _text(payment["id"], LATE)
            sent = self._partition(payment["customer"]), json.dumps(payment)
            if self.orderly:
                yield from [sent] * (2 if kind < 0.09 else 1)
            elif kind < 0.15:
                since = since if waiting else payment["id"]
                waiting.append(sent)
                if kind < 0.09:
                    waiting.append(sent)
            else:
                yield sent
            if waiting and payment["id"] - since > PASSING:
                self.chance.shuffle(waiting)
                yield from waiting
                waiting.clear()

    def _next(self) -> dict[str, Any]:
        number, self.next_id = self.next_id, self.next_id + 1
        customer = "c0" if self.chance.random() < 0.4 else f"c{self.chance.randrange(CUSTOMERS)}"
        if self.added and self.chance.random() < 0.2:
            customer = f"c{NEW + self.chance.choice(self.added)}"
        return {"id": number, "customer": customer, "amount": self.chance.randrange(1000), "at": _text(number)}

    def _partition(self, customer: str) -> int:
        number = int(customer[1:])
        return number - NEW if number >= NEW else number % (self.partitions - 1)  # the last one is idle


def _text(number: int, behind: timedelta = timedelta(0)) -> str:
    return (BEGIN + number * STEP - behind).isoformat()


class Sending(threading.Thread):
    """Sends payments until it is told to end, so many a second, and writes down what was acknowledged."""

    def __init__(self, servers: str, topic: str, payments: Payments, log: Path, per_second: float, waiting: int = WAITING) -> None:
        super().__init__(daemon=True)
        # Idempotent: what is sent again after an answer was lost is in the topic once.
        settings = {"bootstrap.servers": servers, "enable.idempotence": True, "message.timeout.ms": 0, "linger.ms": 5, "log_level": 0}
        self._producer = Producer(settings)
        self._topic, self._payments, self._pause, self._waiting = topic, payments, 1 / per_second, waiting
        self._file = log.open("a")
        self._over = threading.Event()
        self.behind: Callable[[], int] = lambda: 0
        """How many wait for the job."""
        self.acknowledged = 0
        self.error: str | None = None

    def run(self) -> None:
        sent = count(1)
        for partition, text in self._payments:
            self._producer.produce(self._topic, text, partition=partition, on_delivery=self._told)
            self._producer.poll(0)
            while len(self._producer) > self._waiting:
                self._producer.poll(0.05)
            if self._over.wait(self._pause):
                return
            if next(sent) % LOOK == 0:
                while self.behind() > BEHIND:
                    self._producer.poll(0)
                    if self._over.wait(0.2):
                        return

    def sees(self, partition: int) -> bool:
        """Whether it may send to that one by now."""
        return partition in self._producer.list_topics(self._topic, timeout=60).topics[self._topic].partitions

    def end(self) -> None:
        """Send no more, and wait until all is acknowledged."""
        self._over.set()
        if self.is_alive():
            self.join()
        left = self._producer.flush(120)
        self._file.close()
        if left or self.error:
            raise SystemExit(f"{left} payments were not acknowledged: {self.error}")

    def _told(self, error: Any, message: Any) -> None:
        if error is not None:
            self.error = str(error)
            return
        self.acknowledged += 1
        self._file.write(json.dumps([message.partition(), message.offset(), message.value().decode()]) + "\n")
