"""The process of a topology's spouts: it asks them for tuples, writes these to the topology's topic, and tells them what became of them.

It also is the clock of the bolts: ticks are tuples that it writes. It ends with the process that started it. When it dies, it is started
again, and what its spouts had under way must come again from where they have it.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any, cast

from confluent_kafka import Consumer, Producer, TopicPartition

from headrace.fronts.storm.graph.layout import Layout
from headrace.fronts.storm.spark import stages
from headrace.fronts.storm.spark.topics import Topics
from headrace.fronts.storm.spark.wire import records
from headrace.fronts.storm.tasks.acking import Verdict
from headrace.fronts.storm.tasks.bolts import BoltTask
from headrace.fronts.storm.tasks.messages import Message, Send, clock_tuple
from headrace.fronts.storm.tasks.spouts import SpoutTask

_REST = 0.001
"""Seconds that it waits for verdicts when no spout had a tuple, as Storm's spouts do."""


@dataclass(frozen=True)
class Orders:
    """What the feeder is told: as the driver sends it."""

    layout: Layout
    topics: Topics
    servers: str
    metrics_seconds: float


class Feeder:
    def __init__(self, orders: Orders) -> None:
        self.layout, self.topics = orders.layout, orders.topics
        common = {"bootstrap.servers": orders.servers, "log_level": 0}
        self.producer = Producer({**common, "linger.ms": 0, "queue.buffering.max.messages": 1_000_000})
        self.verdicts = Consumer(
            {**common, "group.id": f"{orders.topics.acks}.feeder", "enable.auto.commit": False, "fetch.wait.max.ms": 50}
        )
        _, end = self.verdicts.get_watermark_offsets(TopicPartition(orders.topics.acks, 0), timeout=30)
        self.verdicts.assign([TopicPartition(orders.topics.acks, 0, end)])
        self.spouts = {n: SpoutTask(self.layout, n, time.time) for n, part in self.layout.component.items() if part.is_spout}
        self.alarms = {timer: time.time() + timer[2] for timer in self._timers(orders.metrics_seconds)}
        self.reports, self.metrics_seconds = time.time(), orders.metrics_seconds

    def _timers(self, metrics_seconds: float) -> list[tuple[int, str, float]]:
        """Tasks that the clock sends tuples to; and one of each process, which is asked for counts."""
        bolts = {n: BoltTask(self.layout, n, time.time) for n, part in self.layout.component.items() if not part.is_spout}
        asked = {(self.layout.level[bolt.part.name], self.layout.worker[number]): number for number, bolt in reversed(bolts.items())}
        return [(number, stream, seconds) for number, bolt in bolts.items() for stream, seconds in bolt.timers().items()] + [
            (number, stages.METRICS, metrics_seconds) for number in asked.values()
        ]

    def run(self) -> None:
        self._await_bolts()
        for spout in self.spouts.values():
            spout.open()
            self._flush(spout)
        moved = False
        while True:
            for message in self.verdicts.consume(1000, 0 if moved else _REST):
                if message.error() is None:
                    self._tell(int(message.key() or 0), *(message.value() or b"").decode().split(","))
            moved = False
            for spout in self.spouts.values():
                moved |= spout.next()
                spout.expire()
                self._flush(spout)
            self._ring()
            self.producer.poll(0)

    def _await_bolts(self) -> None:
        """Until every task of a bolt is ready. A query that was just started is compiled first; tuples would only wait meanwhile."""
        waiting = {number for number, part in self.layout.component.items() if not part.is_spout}
        for number in waiting:
            self._send(Send(number, clock_tuple(stages.START, 0)))
        while waiting:
            for message in self.verdicts.consume(1000, 0.1):
                task, _, verdict = (message.value() or b"").decode().partition(",")
                if verdict == "ready":
                    waiting.discard(int(task))
            self.producer.poll(0)

    def _tell(self, task: int, root: str, verdict: str) -> None:
        if task in self.spouts:
            self.spouts[task].told(int(root), cast(Verdict, verdict))
            self._flush(self.spouts[task])

    def _ring(self) -> None:
        now = time.time()
        for (task, stream, seconds), due in self.alarms.items():
            if due <= now:
                self.alarms[task, stream, seconds] = max(due + seconds, now)
                self._send(Send(task, clock_tuple(stream, seconds)))
        if self.reports <= now:
            self.reports = now + self.metrics_seconds
            counts: list[dict[str, Any]] = [
                {"component": spout.part.name, "task": number, "pending": len(spout.pending), **spout.counts.as_dict()}
                for number, spout in self.spouts.items()
            ]
            self.producer.produce(self.topics.metrics, json.dumps({"at": now, "pid": os.getpid(), "tasks": counts}).encode())

    def _flush(self, spout: SpoutTask) -> None:
        if spout.out:
            self._send(*spout.taken())

    def _send(self, *messages: Message) -> None:
        for key, value in records(messages, self.layout):
            while True:
                try:
                    self.producer.produce(self.topics.tuples, value, key)
                    break
                except BufferError:  # the broker is slower than the spouts
                    self.producer.poll(0.1)


def _end_with_the_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who started it
    size = int.from_bytes(sys.stdin.buffer.read(8), "big")
    orders = pickle.loads(sys.stdin.buffer.read(size))
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    Feeder(orders).run()
