"""How long a word takes through a topology of Python bolts: the word count with 5, 8 and 12 tasks, from the spout to a Kafka topic.

    python -m bench.storm_words                # 500 sentences of about six words a second, for a minute, acked
    python -m bench.storm_words --ackers 0     # at most once

Prints the latency of every word of each five seconds, from `next_tuple` to the reader of the output topic, and of all after the first
twenty, in which Java compiles. Every ten seconds the query saves where it is, and words wait: nothing is left out.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from confluent_kafka import Consumer

from headrace.embedded import kafka
from headrace.storm import Bolt, Grouping, KafkaBolt, ReliableSpout, RunningTopology, Topology, submit

SENTENCES = (
    "my dog has fleas",
    "the cow jumped over the moon",
    "an apple a day keeps the doctor away",
    "four score and seven years ago",
    "snow white and the seven dwarfs",
)


class Sentences(ReliableSpout):
    """So many a second, all tasks together."""

    outputs = ("sentence", "at")

    def initialize(self, conf: Any, ctx: Any) -> None:
        self.number, self.due = 0, time.time()
        self.pause = len(ctx.getComponentTasks("sentences")) / conf["rate"]

    def next_tuple(self) -> None:
        now = time.time()
        if now >= self.due:
            self.due = max(self.due + self.pause, now - 1)
            self.number += 1
            self.emit([SENTENCES[self.number % len(SENTENCES)], now], tup_id=self.number)


class Split(Bolt):
    outputs = ("word", "at")

    def process(self, tup: Any) -> None:
        for word in tup["sentence"].split(" "):
            self.emit([word, tup["at"]])


class Count(KafkaBolt):
    """Counts, and writes each count itself: two levels of bolts, as in the talk."""

    def initialize(self, conf: Any, ctx: Any) -> None:  # noqa: ARG002
        self.counts: dict[str, int] = {}

    def process(self, tup: Any) -> None:
        self.counts[tup["word"]] = self.counts.get(tup["word"], 0) + 1
        self._task.write(self.topic, None, json.dumps([tup["word"], self.counts[tup["word"]], tup["at"]]).encode())


class WordCount(Topology):
    sentences = Sentences.spec(par=5)
    split = Split.spec(inputs=[sentences], par=8)
    count = Count("storm-words").spec(inputs={split: Grouping.fields("word")}, par=12)


def measure(running: RunningTopology, consumer: Consumer, seconds: float) -> list[float]:
    """The milliseconds of all words that come out meanwhile, sorted."""
    took: list[float] = []
    until = time.time() + seconds
    while time.time() < until:
        message = consumer.poll(0.01)  # one by one: `consume` waits for company, and that is no time of the topology's
        if message is not None and message.error() is None:
            took.append(1000 * (time.time() - json.loads(message.value() or b"")[2]))
    running.wait(0)
    return sorted(took)


def shown(took: list[float]) -> str:
    """The median and the slowest hundredth of sorted times."""
    return ", ".join(f"{name} {took[int(len(took) * part)]:.1f} ms" for name, part in (("p50", 0.5), ("p99", 0.99)) if took)


_SPAN, _WARM = 5, 20


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--rate", type=int, default=500)
    options.add_argument("--seconds", type=int, default=60)
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--ackers", type=int, default=1)
    options.add_argument("--mode", default="real-time")
    asked = options.parse_args()
    config = {"rate": asked.rate, "topology.workers": asked.workers, "topology.acker.executors": asked.ackers}
    servers = kafka.ensure()
    with submit(WordCount, f"bench-{time.time_ns()}", mode=asked.mode, config=config) as running:
        consumer = Consumer(
            {"bootstrap.servers": servers, "group.id": f"bench-{time.time_ns()}", "auto.offset.reset": "latest", "fetch.wait.max.ms": 5}
        )
        consumer.subscribe(["storm-words"])
        spans = []
        for _ in range(asked.seconds // _SPAN):
            spans.append(measure(running, consumer, _SPAN))
            print(f"{len(spans[-1]) / _SPAN:,.0f} words/s  {shown(spans[-1])}", flush=True)
        print(f"all after {_WARM} s: {shown(sorted(took for span in spans[_WARM // _SPAN :] for took in span))}", flush=True)
        for component in running.metrics().components():
            print(component, flush=True)
        consumer.close()


if __name__ == "__main__":
    main()
