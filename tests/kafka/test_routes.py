"""Several topics from one query, and headers, on a real broker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import functions as F

import headrace as hr
from headrace.errors import DefinitionError, JobError

pytestmark = pytest.mark.usefixtures("spark")
Topic = Callable[..., str]


def received(kafka: str, topic: str) -> list[tuple[bytes, dict[str, bytes]]]:
    """All records of a topic of one partition: value and headers."""
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "test", "enable.auto.commit": False})
    place = TopicPartition(topic, 0, 0)
    _, end = consumer.get_watermark_offsets(place, timeout=30)
    consumer.assign([place])
    found = [consumer.poll(30) for _ in range(end)]
    consumer.close()
    return [(message.value(), dict(message.headers() or [])) for message in found if message is not None]


def test_each_row_goes_to_the_topic_of_its_route_with_its_headers(kafka: str, topic: Topic) -> None:
    even, odd = topic(), topic()
    numbers = hr.read.memory("n int, to string, note string", [(1, odd, "x"), (2, even, None), (3, None, "y"), (4, even, "z")])
    headers = {"id": F.concat(F.lit("n/"), "n"), "note": "note"}
    hr.Job("j", numbers.to.kafka(even, odd, route="to", value="n", headers=headers)).run("batch")
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
    one, two = topic(), topic()
    lost = hr.read.memory("n int, to string", [(1, "elsewhere")]).to.kafka(one, two, route="to", value="n")
    with pytest.raises(JobError) as error:
        hr.Job("j", lost).run("batch")
    assert "no row may go to the topic elsewhere" in error.value.what


@pytest.mark.parametrize(("topics", "route"), [((), None), (("a", "b"), None), (("a",), "to")])
def test_several_topics_need_a_route_and_one_needs_none(topics: tuple[str, ...], route: str | None) -> None:
    with pytest.raises(DefinitionError) as error:
        hr.read.memory("n int, to string").to.kafka(*topics, route=route)
    assert error.value.what == "a Kafka sink writes to one topic, or to several by a route"
