"""A position in a topic is worth something in that topic only, and not in another one of the same name."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

import headrace as hr
from headrace.embedded import kafka as broker
from headrace.errors import JobError
from headrace.io.memory import MemorySink


def _send(kafka: str, topic: str, values: Iterable[str]) -> None:
    producer = Producer({"bootstrap.servers": kafka, "log_level": 0})
    for value in values:
        producer.produce(topic, value)
    producer.flush()


def _make_again(kafka: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.delete_topics([topic])[topic].result()
    deadline = time.monotonic() + 60
    while topic in admin.list_topics(timeout=10).topics:
        assert time.monotonic() < deadline, f"{topic} is still there"
        time.sleep(0.02)
    admin.create_topics([NewTopic(topic, 1)])[topic].result()


@pytest.mark.usefixtures("spark")
def test_a_topic_that_was_deleted_and_made_again_is_not_gone_on_in(kafka: str, topic: Callable[..., str], tmp_path: Path) -> None:
    place = topic()
    read = hr.read.kafka(place).select("offset").to.memory()
    job = hr.Job("again", read, trigger=hr.once, checkpoint=tmp_path)
    _send(kafka, place, ["a", "b"])
    job.run()
    job.run()  # the same topic, with nothing new
    assert isinstance(read.sink, MemorySink)
    assert [tuple(row) for row in read.sink.rows] == [(0,), (1,)]
    _make_again(kafka, place)
    _send(kafka, place, ["c", "d", "e"])  # of which c and d would be skipped
    with pytest.raises(JobError) as refused:
        job.run()
    assert f"the topic {place!r} is not the one that it read: it was deleted and made again, or is on another cluster" in refused.value.what


def test_what_a_pattern_finds_is_of_one_cluster(kafka: str, topic: Callable[..., str], spark: SparkSession, tmp_path: Path) -> None:  # noqa: ARG001
    place = topic()
    hr.Job("all", hr.read.kafka(pattern=place).select("offset").to.memory(), trigger=hr.once, checkpoint=tmp_path).run()
    (note,) = tmp_path.glob("*/job.json")
    cluster = AdminClient({"bootstrap.servers": kafka}).list_topics(timeout=10).cluster_id
    (source,) = json.loads(note.read_text())["sources"]
    assert (source["pattern"], source["cluster"], list(source["topics"])) == (place, cluster, [place])


@pytest.mark.usefixtures("spark")
def test_a_topic_that_a_pattern_found_and_that_was_made_again_is_not_gone_on_in(
    kafka: str, topic: Callable[..., str], tmp_path: Path
) -> None:
    one, other = topic(), topic()
    job = hr.Job("found", hr.read.kafka(pattern=f"{one}|{other}").select("offset").to.memory("out"), trigger=hr.once, checkpoint=tmp_path)
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.delete_topics([other])[other].result()
    _send(kafka, one, ["a"])
    job.run()
    admin.create_topics([NewTopic(other, 1)])[other].result()  # one more is no other plan
    job.run()
    _make_again(kafka, other)
    with pytest.raises(JobError) as refused:
        job.run()
    assert f"the topic {other!r} is not the one that it read: it was deleted and made again" in refused.value.what


@pytest.mark.usefixtures("spark")
def test_an_address_is_looked_up_once_a_start_and_not_with_each_batch(
    topic: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, numbers, asked = topic(), hr.read.memory("n int", [(1,)]), []
    outputs = numbers.to.kafka(place), numbers.to.memory()
    ensure = broker.ensure
    monkeypatch.setattr(broker, "ensure", lambda: [asked.append(1), ensure()][1])
    counts = []
    for batches in (1, 3):
        for n in range(batches - 1):
            numbers.add([(n,)])
        asked.clear()
        hr.Job("once", *outputs, trigger=hr.once, checkpoint=tmp_path).run()
        counts.append(len(asked))
    assert counts[0] == counts[1]
