"""Headers, and rows that name their own topic, on a real broker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import functions as F

import headrace as hr
from headrace.errors import JobError
from headrace.io.kafka.connector import KafkaSink
from headrace.planning import recipe
from headrace.planning.recipe import Output

pytestmark = pytest.mark.usefixtures("spark")
Topic = Callable[..., str]


def received(kafka: str, topic: str) -> list[tuple[bytes, dict[str, bytes]]]:
    """All records of a topic of one partition: value and headers."""
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "test", "enable.auto.commit": False})
    place = TopicPartition(topic, 0, 0)
    _, end = consumer.get_watermark_offsets(place, timeout=30)
    consumer.assign([place])
    messages = [consumer.poll(30) for _ in range(end)]
    consumer.close()
    return [(message.value(), dict(message.headers() or [])) for message in messages if message is not None]


def routed(stream: hr.Stream, *topics: str, **how: Any) -> Output:
    """As fronts write what other systems send to topics by name."""
    return recipe.end(stream.step, KafkaSink(topics, None, "n", "routed", route="to", **how))


def test_each_row_goes_to_the_topic_that_it_names_with_its_headers(kafka: str, topic: Topic) -> None:
    even, odd = topic(), topic()
    numbers = hr.read.memory("n int, to string, note string", [(1, odd, "x"), (2, even, None), (3, None, "y"), (4, even, "z")])
    headers = {"id": F.concat(F.lit("n/"), "n"), "note": "note"}
    hr.Job("j", routed(numbers, even, odd, headers=headers)).run("batch")
    assert received(kafka, odd) == [(b"1", {"id": b"n/1", "note": b"x"})]
    assert sorted(received(kafka, even)) == [(b"2", {"id": b"n/2"}), (b"4", {"id": b"n/4", "note": b"z"})]


def test_headers_are_read_where_they_are_asked_for(topic: Topic, tmp_path: Path) -> None:
    there = topic()
    hr.Job("write", hr.read.memory("n int", [(7,)]).to.kafka(there, headers={"id": "n"}), checkpoint=tmp_path).run("batch")
    read = hr.read.kafka(there, schema="n int", headers=True, keep=["headers"]).to.memory()
    hr.Job("read", read).run("batch")
    assert [(row.n, [tuple(header) for header in row.headers]) for row in read.sink.rows] == [(7, [("id", bytearray(b"7"))])]
    assert "headers" not in hr.read.kafka(there).columns


def test_a_row_to_no_known_topic_stops_the_job(topic: Topic) -> None:
    lost = routed(hr.read.memory("n int, to string", [(1, "elsewhere")]), topic(), topic())
    with pytest.raises(JobError) as error:
        hr.Job("j", lost).run("batch")
    assert "no row may go to the topic elsewhere" in error.value.what


def test_each_topic_that_a_row_may_name_must_exist_or_is_made(topic: Topic) -> None:
    there = topic()
    rows = hr.read.memory("n int, to string", [(1, there), (2, f"{there}-too")])
    with pytest.raises(JobError) as refused:
        hr.Job("j", routed(rows, there, f"{there}-too")).run("batch")
    assert f"topic '{there}-too' does not exist" in refused.value.what
    hr.Job("j", routed(rows, there, f"{there}-too", create=hr.topics.Topic())).run("batch")
    assert [record.value for record in hr.topics.read(f"{there}-too")] == [b"2"]
