"""Ports in real time: all outputs behind one state come out of one query."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from pyspark.sql import functions as F

import headrace as hr
from headrace.errors import ModeError
from headrace.planning.triggers import Trigger

Topic = Callable[..., str]
SCHEMA = "k string not null, n int not null, ts timestamp not null"
START = datetime(2026, 1, 1, 10, tzinfo=UTC)


def send(kafka: str, topic: str, records: list[tuple[str, int, datetime]]) -> None:
    producer = Producer({"bootstrap.servers": kafka})
    for k, n, ts in records:
        producer.produce(topic, json.dumps({"k": k, "n": n, "ts": ts.isoformat()}), k)
    producer.flush()


def received(kafka: str, topics: list[str], count: int, seconds: float = 90) -> dict[str, list[int]]:
    """The numbers in each topic, when there are so many in all, or the time is over."""
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "-".join(topics), "auto.offset.reset": "earliest"})
    consumer.subscribe(topics)
    numbers: dict[str, list[int]] = {topic: [] for topic in topics}
    deadline = time.monotonic() + seconds
    while sum(map(len, numbers.values())) < count and time.monotonic() < deadline:
        for message in consumer.consume(1000, 0.2):
            numbers[message.topic()].append(json.loads(message.value())["n"])
    consumer.close()
    return numbers


def counted(source: str) -> hr.Stream:
    n = F.col("state.n")
    return hr.read.kafka(source, schema=SCHEMA).key_by("k").scan(
        state={"n": F.lit(0)}, update={"n": n + 1}, output=["k", "record.n"], event_time="ts", delay="1 second", wait=False
    )  # fmt: skip


@pytest.mark.usefixtures("spark")
def test_on_time_and_late_records_come_out_of_one_query_each_of_them_once(
    kafka: str, topic: Topic, short_batches: Trigger, tmp_path: Path
) -> None:
    source, on_time, late = topic(), topic(), topic()
    stream = counted(source)
    job = hr.Job("ports", stream.to.kafka(on_time), stream.late.to.kafka(late), trigger=short_batches, checkpoint=tmp_path)
    with job.start("real-time") as running:
        assert len(running.progress()) <= 1
        for second in range(20):  # every fifth is eight seconds behind
            behind = timedelta(seconds=8 if second % 5 == 4 else 0)
            send(
                kafka,
                source,
                [("a", second, START + timedelta(seconds=second) - behind), ("b", 100 + second, START + timedelta(seconds=second))],
            )
            running.wait(0.3)
        numbers = received(kafka, [on_time, late], 40)
    assert sorted(numbers[on_time] + numbers[late]) == [*range(20), *range(100, 120)]
    assert numbers[late]
    assert set(numbers[late]) <= {4, 9, 14, 19}


@pytest.mark.usefixtures("spark")
def test_every_branch_behind_one_state_writes_its_own_topic(kafka: str, topic: Topic, short_batches: Trigger, tmp_path: Path) -> None:
    source, whole, twice, few = topic(), topic(), topic(), topic()
    stream = hr.read.kafka(source, schema=SCHEMA).key_by("k").with_features(count=hr.running(F.count("*"), inclusive=True))
    outputs = [
        stream.to.kafka(whole, key="k", headers={"from": F.lit("all")}),
        stream.select(F.explode(F.array("n", F.col("n") + 1000)).alias("n")).to.kafka(twice),
        stream.where("count % 2 = 0").select("n").to.kafka(few),
    ]
    with hr.Job("branches", *outputs, trigger=short_batches, checkpoint=tmp_path).start("real-time") as running:
        send(kafka, source, [("a", n, START) for n in range(6)])
        numbers = received(kafka, [whole, twice, few], 6 + 12 + 3)
        assert running.active
    assert {name: sorted(found) for name, found in numbers.items()} == {
        whole: [*range(6)], twice: [*range(6), *range(1000, 1006)], few: [1, 3, 5],
    }  # fmt: skip


@pytest.mark.usefixtures("spark")
def test_outputs_behind_one_state_must_be_of_one_cluster(topic: Topic, tmp_path: Path) -> None:
    stream = counted(topic())
    other = stream.late.to.console()
    with pytest.raises(ModeError) as refused:
        hr.Job("ports", stream.to.kafka(topic()), other, checkpoint=tmp_path).start("real-time")
    assert "behind one state are one query" in refused.value.what
    assert "one Kafka cluster" in refused.value.fix
    assert str(refused.value.where).startswith(__file__)
