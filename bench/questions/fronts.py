"""What does a front cost? One word count in headrace's words and through each front, in micro-batches, in one run: sentences a second.

The ways are those of `work/front_ways.py`: Kafka in, Kafka out, sentences of six words in two partitions, a thousand words. Each runs in a
process of its own. It first gets some sentences whose counts must be those of plain Python; then ever larger portions of sentences, until
one takes some seconds: that one counts, from when its first sentence is sent until the count of its last word, which each partition has
one of its own of, has been read. So the rate holds the sender, the broker and the reader, who are the same for all.

To read: sentences a second, on a machine that runs broker, job, sender and reader at once; and how many times as many headrace's own words
manage. Batches of Trident and headrace follow one another, those of DStreams come each second.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from confluent_kafka import Consumer, Producer

import headrace as hr
from bench.measuring import processes, topics
from bench.measuring.timeline import percentiles
from bench.reporting.answers import Answer, say
from bench.work.front_ways import WAYS
from headrace.embedded import kafka
from headrace.planning.table import Mode

_PATIENCE = 120.0
_LAST = re.compile(rb"last(\d+)x(\d)")
_DUE = re.compile(rb"due(\d{19})")


@dataclass(frozen=True)
class Size:
    """`prefix` sentences are checked; a portion that takes `seconds` counts, or one of `most` sentences. In real time then come `rate`
    sentences a second, for `steady` seconds."""

    prefix: int
    seconds: float
    most: int
    rate: int
    steady: int


FULL = Size(prefix=2_000, seconds=8, most=2_000_000, rate=200, steady=15)
QUICK = Size(prefix=200, seconds=0.5, most=4_000, rate=50, steady=3)
_MICRO_BATCH = ("headrace", "headrace, Python", "Samza", "Summingbird", "Trident", "DStreams")


def ask(*, quick: bool) -> list[Answer]:
    size = QUICK if quick else FULL
    measured = {name: measure(name, "micro-batch", size) for name in _MICRO_BATCH}
    return answers("micro_batch", measured)


def answers(mode: str, measured: dict[str, dict[str, Any]]) -> list[Answer]:
    """Of each way its rate, in real time its median, and one number for all: how much the slowest costs."""
    rows: list[Answer] = []
    for name, values in measured.items():
        key = re.sub(r"\W+", "_", name.lower())
        rows.append(Answer(f"front_{key}_{mode}_per_s", values["per_s"], "sentences/s", None, {"front": name, "mode": mode, **values}))
        if "p50" in values:
            rows.append(Answer(f"front_{key}_{mode}_p50_ms", values["p50"], "ms"))
    return rows


def measure(name: str, mode: Mode, size: Size) -> dict[str, Any]:
    """One way: its rate, and in real time its latency."""
    with topics.topics("in", "out") as (source, result):
        job = processes.Started(serve, name, mode, kafka.ensure(), source, result, talks=True)
        job.recv(_PATIENCE)
        trial = _Trial(source, result)
        trial.check(size.prefix)
        per_s, portion = trial.rate(size)
        values: dict[str, Any] = {"per_s": per_s, "portion": portion}
        if mode == "real-time":
            values |= trial.latency(size.rate, size.steady)
        job.send("stop")
        values["peak_mb"] = job.result().peak_mb
    say(f"{name}, {mode}: {values}")
    return values


def serve(talk: Connection, name: str, mode: Mode, bootstrap: str, source: str, result: str) -> None:
    """The job, until told to stop."""
    os.environ[kafka.ADDRESS] = bootstrap
    hr.session(master="local[8]", conf={"spark.sql.shuffle.partitions": "2", "spark.default.parallelism": "2"})
    with WAYS[name](source, result, mode):
        talk.send("started")
        talk.recv()
    hr.session().stop()


class _Trial:
    """Who sends sentences, and reads counts."""

    def __init__(self, source: str, result: str) -> None:
        self._source, self._portions = source, 0
        self._producer = Producer({"bootstrap.servers": kafka.ensure(), "linger.ms": 2, "queue.buffering.max.messages": 1_000_000})
        self._consumer: Consumer = topics.consumer(result)

    def check(self, sentences: int) -> None:
        """The counts of so many sentences are those of plain Python."""
        expected: Counter[str] = Counter()
        for i in range(sentences):
            self._send(_sentence(i), i % topics.PARTITIONS)
            expected.update(_sentence(i).split(" "))
        self._producer.flush()
        counts: dict[str, int] = {}
        deadline = time.monotonic() + _PATIENCE
        while sum(counts.values()) < expected.total() and time.monotonic() < deadline:
            counts.update(_count(message) for message in self._read())
        got: Counter[str] = Counter()
        for word, count in counts.items():
            got[word.partition("@")[0]] += count
        if got != expected:
            raise SystemExit(f"{got.total():,} words of {expected.total():,}, or others, are counted: no time counts")

    def rate(self, size: Size) -> tuple[int, int]:
        """Sentences a second, of a portion that was large enough; and how many it had."""
        portion = min(4_000, size.most)
        while True:
            began = time.monotonic()
            self._await_last(self._portion(portion))
            taken = time.monotonic() - began
            if taken >= size.seconds or portion >= size.most:
                return round(portion / taken), portion
            portion = min(size.most, int(portion * min(8.0, max(2.0, 1.3 * size.seconds / taken))))

    def _portion(self, sentences: int) -> set[bytes]:
        self._portions += 1
        for i in range(sentences):
            self._send(_sentence(i), i % topics.PARTITIONS)
        ends = [f"last{self._portions}x{partition}" for partition in range(topics.PARTITIONS)]
        for partition, word in enumerate(ends):
            self._send(word, partition)
        self._producer.flush()
        return {word.encode() for word in ends}

    def _await_last(self, words: set[bytes]) -> None:
        deadline = time.monotonic() + _PATIENCE
        while words:
            for message in self._read():
                if last := _LAST.search(message.value() or b"") or _LAST.search(message.key() or b""):
                    words.discard(last[0])
            if time.monotonic() > deadline:
                raise SystemExit(f"{words} did not come out")

    def latency(self, rate: int, seconds: int) -> dict[str, float]:
        """Milliseconds from when a sentence was due to be sent until the count of its last word has been read."""
        start, sent = time.time_ns() + 100_000_000, 0
        took: list[float] = []
        deadline = time.monotonic() + seconds + _PATIENCE
        while len(took) < rate * seconds and time.monotonic() < deadline:
            while sent < rate * seconds and (at := start + sent * 1_000_000_000 // rate) <= time.time_ns():
                self._send(f"{_sentence(sent)} due{at}", sent % topics.PARTITIONS)
                sent += 1
            self._producer.poll(0)
            dues = [_DUE.search(message.value() or b"") or _DUE.search(message.key() or b"") for message in self._read(0.001)]
            now = time.time_ns()
            took += [(now - int(due[1])) / 1e6 for due in dues if due]
        if len(took) < rate * seconds:
            raise SystemExit(f"{len(took):,} of {rate * seconds:,} sentences came out: no time counts")
        return percentiles(np.array(took))

    def _send(self, sentence: str, partition: int) -> None:
        while True:
            try:
                self._producer.produce(self._source, sentence.encode(), None, partition)
                return
            except BufferError:
                self._producer.poll(0.01)

    def _read(self, seconds: float = 0.05) -> Iterator[Any]:
        return (message for message in self._consumer.consume(10_000, seconds) if message.error() is None)


_WORDS = [f"word{number}" for number in range(1_000)]


def _sentence(i: int) -> str:
    """Six words of a thousand."""
    return " ".join(_WORDS[(i * 7919 + j * 104_729) % len(_WORDS)] for j in range(6))


def _count(message: Any) -> tuple[str, int]:
    """A word and its count so far: a JSON object, or Summingbird's key and total."""
    value = json.loads(message.value())
    return (value["word"], value["count"]) if isinstance(value, dict) else (json.loads(message.key())[0], value)
