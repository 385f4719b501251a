"""A stop on purpose, from topic to topic on a real broker: what was put out is saved, and is not put out again."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import functions as F

import headrace as hr
from headrace.run.running import Running

pytestmark = pytest.mark.usefixtures("spark")
Topic = Callable[..., str]
KEYS = 7


class Sender:
    """Sends numbers to a topic, a few hundred a second, until it is told to stop."""

    def __init__(self, kafka: str, topic: str) -> None:
        self.sent = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._send, args=(kafka, topic))
        self._thread.start()

    def _send(self, kafka: str, topic: str) -> None:
        producer = Producer({"bootstrap.servers": kafka, "log_level": 0})
        for number in itertools.count():
            if self._over.wait(0.002):
                break
            producer.produce(topic, json.dumps({"k": number % KEYS, "v": number}), partition=number % 2)
            producer.poll(0)
            self.sent = number + 1
        producer.flush()

    def end(self) -> int:
        self._over.set()
        self._thread.join()
        return self.sent


@contextmanager
def sending(kafka: str, topic: str) -> Iterator[Sender]:
    sender = Sender(kafka, topic)
    try:
        yield sender
    finally:
        sender.end()


class Reader:
    """Reads a topic of one partition from its beginning."""

    def __init__(self, kafka: str, topic: str) -> None:
        self.rows: list[dict[str, Any]] = []
        self._consumer = Consumer({"bootstrap.servers": kafka, "group.id": "test", "enable.auto.commit": False})
        self._place = TopicPartition(topic, 0, 0)
        self._consumer.assign([self._place])

    def until(self, count: int) -> None:
        """Read until there are so many rows."""
        deadline = time.monotonic() + 120
        while len(self.rows) < count:
            assert time.monotonic() < deadline, f"only {len(self.rows)} of {count} rows came"
            self._take(1.0)

    def to_end(self) -> None:
        """Read all that is there now."""
        _, end = self._consumer.get_watermark_offsets(self._place, timeout=60)
        self.until(end)

    def _take(self, seconds: float) -> None:
        self.rows += [json.loads(message.value()) for message in self._consumer.consume(1000, seconds)]


def numbers(stream: hr.Stream) -> hr.Stream:
    return stream.select("k", "v")


def counted(stream: hr.Stream) -> hr.Stream:
    return stream.key_by("k").with_features(before=hr.running(F.count("*"))).select("k", "v", "before")


def started(job: hr.Job, out: Reader) -> Running:
    """The job, and some rows more in its output than before."""
    out.to_end()
    running = job.start("real-time")
    out.until(len(out.rows) + 200)
    return running


@pytest.mark.parametrize("stream", [numbers, counted])
def test_a_stop_in_real_time_saves_first_so_that_nothing_is_put_out_twice(
    stream: Callable[[hr.Stream], hr.Stream], kafka: str, topic: Topic, tmp_path: Path
) -> None:
    given, result = topic(partitions=2), topic()
    job = hr.Job("stopped", stream(hr.read.kafka(given, schema="k int, v int")).to.kafka(result), checkpoint=tmp_path)  # saves every minute
    out = Reader(kafka, result)
    with sending(kafka, given) as sender:
        for _ in range(2):
            assert started(job, out).stop()
        running = started(job, out)
        sent = sender.end()
        out.until(sent)
        running.finish()
        assert running.wait(30)
    out.to_end()
    assert sorted(row["v"] for row in out.rows) == list(range(sent))
    if stream is counted:  # the state is that of all records before, each counted once
        seen: Counter[int] = Counter()
        for row in sorted(out.rows, key=lambda row: (row["k"], row["before"])):
            assert row["before"] == seen[row["k"]]
            seen[row["k"]] += 1


def test_a_real_time_job_to_which_nothing_comes_stops_in_seconds(kafka: str, topic: Topic, tmp_path: Path) -> None:
    given, result = topic(partitions=2), topic()
    out = Reader(kafka, result)
    with sending(kafka, given):
        running = started(hr.Job("idle", hr.read.kafka(given, schema="v int").to.kafka(result), checkpoint=tmp_path), out)
    out.to_end()
    began = time.monotonic()
    assert running.stop()
    assert time.monotonic() - began < 20  # a batch lasts a minute
    assert (tmp_path / f"kafka-{result}" / "checkpoint" / "commits" / "0").exists()


def test_a_stop_now_does_not_save(kafka: str, topic: Topic, tmp_path: Path) -> None:
    given, result = topic(partitions=2), topic()
    out = Reader(kafka, result)
    with sending(kafka, given):
        running = started(hr.Job("now", hr.read.kafka(given, schema="v int").to.kafka(result), checkpoint=tmp_path), out)
        assert not running.stop(now=True)
    assert not running.active
    assert not (tmp_path / f"kafka-{result}" / "checkpoint" / "commits" / "0").exists()


def test_rate_and_latency_are_known_before_the_first_save(kafka: str, topic: Topic, tmp_path: Path) -> None:
    given, result = topic(partitions=2), topic()
    out = Reader(kafka, result)
    with (
        sending(kafka, given),
        hr.Job("seen", hr.read.kafka(given, schema="v int").to.kafka(result), checkpoint=tmp_path).start("real-time") as running,
    ):
        out.until(200)
        (now,) = running.snapshot()
        assert running.progress() == []
        assert (now.query, now.batch, now.saved) == (f"kafka-{result}", 0, None)
        assert now.rate is not None
        assert now.rate > 10
        assert now.latency_ms is not None
        assert now.latency_p99_ms is not None
        assert 0 <= now.latency_ms <= now.latency_p99_ms < 60_000
        assert "records/s" in repr(running)
