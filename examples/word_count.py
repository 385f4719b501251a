"""Count words as they arrive in a Kafka topic, in real-time mode: the smallest stream with state.

python examples/word_count.py --seconds 30               sends sentences, counts their words and shows the counts as they change
headrace topics create sentences                         the job alone, on a topic of your own, into which you send sentences
headrace run examples/word_count.py --mode real-time     (headrace topics send sentences); it makes the topic of the counts
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from statistics import quantiles

from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import functions as F
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

import headrace as hr
from headrace.embedded import kafka

WORDS = ["Apache", "Streaming", "Scala", "2016", "Spark", "Storm", "Trident", "Flink", "Samza", "NE"]
WEIGHTS = [3, 2, 2, 2, 1, 1, 1, 1, 1, 1]
SENTENCES_A_SECOND = 20


def job(sentences: str = "sentences", counts: str = "counts", checkpoint: str | None = None) -> hr.Job:
    """Each word of topic `sentences`, with how often it came so far, to topic `counts`, which is made if it is not there."""
    words = hr.read.kafka(sentences).select(F.explode(F.split(F.col("value").cast("string"), " ")).alias("word"), "timestamp")
    totals = words.key_by("word").agg(F.count("*").alias("count"), F.unix_millis(F.max("timestamp")).alias("sent"))
    return hr.Job("word-count", totals.to.kafka(counts, key="word", create=True), checkpoint=checkpoint)


class Counts:
    """What has come back: the counts, and how long each took from the sentence's arrival in the topic."""

    def __init__(self, address: str, topic: str) -> None:
        self._consumer = Consumer({"bootstrap.servers": address, "group.id": topic, "fetch.wait.max.ms": 5})
        self._consumer.assign([TopicPartition(topic, 0, 0)])
        self.of: dict[str, int] = {}
        self.milliseconds: deque[float] = deque(maxlen=2000)

    def receive(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            message = self._consumer.poll(left)
            if message is not None and message.error() is None:
                record = json.loads(message.value())
                self.of[record["word"]] = record["count"]
                self.milliseconds.append(time.time() * 1000 - record["sent"])

    def view(self, sent: int) -> Group:
        chart = Table.grid(padding=(0, 1))
        chart.add_column()
        chart.add_column()
        chart.add_column(justify="right")
        most = max(self.of.values(), default=1)
        for word, count in sorted(self.of.items(), key=lambda item: -item[1]):
            chart.add_row(Text(word, style="bold"), Text("█" * max(1, round(48 * count / most)), style="cyan"), f"{count:,}")
        return Group(chart, "", Text(f"{sent:,} sentences, {sum(self.of.values()):,} words\n{self._latency()}", style="dim"))

    def _latency(self) -> str:
        if len(self.milliseconds) < 2:
            return ""
        cuts = quantiles(self.milliseconds, n=100)
        return f"From topic to topic: half within {cuts[49]:.0f} ms, 95 % within {cuts[94]:.0f} ms"


def sentences() -> Iterator[str]:
    chance = random.Random(7)
    while True:
        yield " ".join(chance.choices(WORDS, WEIGHTS, k=chance.randint(3, 9)))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seconds", type=float, default=20, help="how long to count, once the query runs (default: 20)")
    seconds = arguments.parse_args().seconds

    console = Console()
    with console.status("starting a Kafka broker …"):
        address = kafka.ensure()
        run = f"{time.time():.0f}"  # topics of this run's own, so that the counts start at one
        said, counted = f"sentences-{run}", f"counts-{run}"
        hr.topics.create(said, counted, partitions=1, servers=address)
    console.print(f"[bold]Word count in real time[/]\n[dim]Kafka at {address}, {said} → {counted}[/]\n")

    producer, counts = Producer({"bootstrap.servers": address, "linger.ms": 0}), Counts(address, counted)
    with tempfile.TemporaryDirectory() as checkpoint:
        with console.status("starting Spark …"):
            running = job(said, counted, checkpoint).start("real-time")
            producer.produce(said, "Apache")
            while not counts.of and not running.wait(0):
                counts.receive(0.1)
        with running, Live(counts.view(1), console=console, refresh_per_second=10) as live:
            counts.milliseconds.clear()  # the first one waited for the start
            deadline = time.monotonic() + seconds
            for number, sentence in enumerate(sentences(), start=2):
                producer.produce(said, sentence)
                producer.poll(0)
                counts.receive(1 / SENTENCES_A_SECOND)
                live.update(counts.view(number))
                if running.wait(0) or time.monotonic() > deadline:
                    break
            producer.flush()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
