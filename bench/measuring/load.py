"""The outside of a latency measurement: who sends, and who reads what comes out. Each is a process of its own.

A record is due at a time fixed in advance and carries that time; its latency runs from then, not from the moment when the sender got to
it, until a consumer has it in hand. So a system that stalls is charged for everything that should have been sent meanwhile.
"""

from __future__ import annotations

import gc
import time
from array import array
from dataclasses import dataclass
from multiprocessing.connection import Connection

from confluent_kafka import Producer

from bench.measuring import topics
from bench.work import rules

LINGER_MS = 2
SCHEMA = f"{rules.SCHEMA}, due BIGINT NOT NULL"


@dataclass(frozen=True)
class Sent:
    """Records `first`, first + 1, … at a steady rate, from the time `start` (ns since 1970) on.

    `late`: how late each hundredth was handed to the client (ns), which is the sender's own share of the latency.
    """

    first: int
    rate: int
    records: int
    start: int
    late: list[int]

    def due(self, i: int) -> int:
        return self.start + i * 1_000_000_000 // self.rate


def send(bootstrap: str, topic: str, first: int, rate: int, records: int) -> Sent:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": LINGER_MS, "queue.buffering.max.messages": 1_000_000, "acks": 1})
    producer.list_topics(topic, timeout=30)  # connect first
    gc.disable()
    sent = Sent(first, rate, records, time.time_ns() + 100_000_000, [])
    for i in range(records):
        due = sent.due(i)
        if time.time_ns() < due:
            producer.poll(0)
            while (left := due - time.time_ns()) > 0:
                time.sleep(left / 1e9)
        if i % 100 == 0:
            sent.late.append(time.time_ns() - due)
        key, value, partition = record(first + i, due)
        while True:
            try:
                producer.produce(topic, value, key, partition)
                break
            except BufferError:
                producer.poll(0.01)
    producer.flush()
    return sent


def record(n: int, due: int) -> tuple[bytes, bytes, int]:
    customer = n * 7919 % rules.CUSTOMERS  # a prime: all customers in turn, neighbours apart
    amount = n * 104_729 % 1_000_000
    seconds, millis = divmod(n, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    value = b'{"tx_id": "t%d", "customer": "c%d", "amount": %d.%02d, "ts": "2026-01-%02dT%02d:%02d:%02d.%03dZ", "due": %d}' % (
        n, customer, amount // 100, amount % 100, 1 + hours // 24, hours % 24, minutes, seconds, millis, due,
    )  # fmt: skip
    return b"c%d" % customer, value, customer % topics.PARTITIONS


@dataclass(frozen=True)
class Read:
    """When each record was due and when it was read (both ns), and its value if asked for."""

    due: array[int]
    read: array[int]
    values: list[bytes]


def receive(talk: Connection, topic: str, keep: bool) -> None:
    """Read all the time. True asks for what was read since the last question (its values only if they are to be kept); False ends it."""
    gc.disable()
    reading = topics.consumer(topic)
    due, read, values = array("q"), array("q"), []
    while True:
        message = reading.poll(0.05)
        if message is not None and message.error() is None:
            now, value = time.time_ns(), message.value() or b""
            due.append(int(value[value.rindex(b":") + 1 : -1]))
            read.append(now)
            if keep:
                values.append(value)
            if len(read) % 500:
                continue
        if talk.poll():
            if not talk.recv():
                break
            talk.send(Read(due, read, values))
            due, read, values = array("q"), array("q"), []
    reading.close()
