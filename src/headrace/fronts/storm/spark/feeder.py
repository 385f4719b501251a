"""The process of a topology's spouts: it asks them for tuples, writes these to the topology's topic, and tells them what became of them.

It also is the clock of the bolts: ticks are tuples that it writes. It ends with the process that started it. When it dies, it is started
again, and what its spouts had under way must come again from where they have it; effectively once, from where their states were saved.
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
from functools import partial
from typing import Any, cast

from confluent_kafka import Consumer, TopicPartition

from headrace.fronts.storm.graph.layout import Layout
from headrace.fronts.storm.graph.reliability import Reliability
from headrace.fronts.storm.spark import stages
from headrace.fronts.storm.spark.saved import saved_in
from headrace.fronts.storm.spark.sending import AtOnce, Together
from headrace.fronts.storm.spark.topics import Topics
from headrace.fronts.storm.tasks.acking import Verdict
from headrace.fronts.storm.tasks.bolts import BoltTask
from headrace.fronts.storm.tasks.messages import Message, Send, clock_tuple
from headrace.fronts.storm.tasks.spouts import SpoutTask

_REST = 0.001
"""Seconds that it waits for verdicts when no spout had a tuple, as Storm's spouts do."""
_LEAVE = 3.0
"""Seconds that spouts have to close, when all is to end."""


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
        self.exact = self.layout.reliability is Reliability.EFFECTIVELY_ONCE
        self.log = (Together if self.exact else AtOnce)(self.layout, self.topics, orders.servers)
        self.verdicts = Consumer(
            {
                "bootstrap.servers": orders.servers, "group.id": f"{orders.topics.acks}.feeder", "enable.auto.commit": False,
                "log_level": 0, "fetch.wait.max.ms": 50,
            }
        )  # fmt: skip
        _, end = self.verdicts.get_watermark_offsets(TopicPartition(orders.topics.acks, 0), timeout=30)
        self.verdicts.assign([TopicPartition(orders.topics.acks, 0, end)])
        self.spouts = {n: SpoutTask(self.layout, n, time.time) for n, part in self.layout.component.items() if part.is_spout}
        if self.exact:
            states = saved_in(self.topics.spouts, orders.servers, self.layout.secret, self.spouts.keys())
            for number, spout in self.spouts.items():
                spout.saved = partial(dict, states.get(number, {}))
        self.alarms = {timer: time.time() + timer[2] for timer in self._timers(orders.metrics_seconds)}
        self.reports, self.metrics_seconds = time.time(), orders.metrics_seconds
        self.ends = threading.Event()

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
        while not self.ends.is_set():
            for message in self.verdicts.consume(1000, 0 if moved else _REST):
                if message.error() is None:
                    self._tell(int(message.key() or 0), *(message.value() or b"").decode().split(","))
            moved = False
            for spout in self.spouts.values():
                moved |= spout.next()
                spout.expire()
                self._flush(spout)
            self._ring()
            self.log.passed(self.spouts.values())
        for spout in self.spouts.values():
            spout.close()

    def _await_bolts(self) -> None:
        """Until every task of a bolt is ready. A query that was just started is compiled first; tuples would only wait meanwhile."""
        waiting = {number for number, part in self.layout.component.items() if not part.is_spout}
        for number in waiting:
            self._send(Send(number, clock_tuple(stages.START, 0)))
        while waiting and not self.ends.is_set():
            self.log.passed([])
            for message in self.verdicts.consume(1000, 0.1):
                task, _, verdict = (message.value() or b"").decode().partition(",")
                if verdict == "ready":
                    waiting.discard(int(task))

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
            self.log.write(self.topics.metrics, None, json.dumps({"at": now, "pid": os.getpid(), "tasks": counts}).encode())

    def _flush(self, spout: SpoutTask) -> None:
        if spout.out:
            self._send(*spout.taken())

    def _send(self, *messages: Message) -> None:
        self.log.send(messages)

    def end_with_the_parent(self) -> None:
        """Blocks until the parent has ended, or wants an end."""
        sys.stdin.buffer.read()
        self.ends.set()
        time.sleep(_LEAVE)
        os._exit(0)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who started it
    size = int.from_bytes(sys.stdin.buffer.read(8), "big")
    feeder = Feeder(pickle.loads(sys.stdin.buffer.read(size)))
    threading.Thread(target=feeder.end_with_the_parent, daemon=True).start()
    feeder.run()
    os._exit(0)  # at once: what it has not sent, nobody waits for
