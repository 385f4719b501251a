"""Partitions that are read apart: each has a time of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from confluent_kafka import Producer
from pyspark.sql import functions as F

import headrace as hr
from headrace.errors import DefinitionError, JobError

pytestmark = pytest.mark.usefixtures("spark")

Topic = Callable[..., str]
SCHEMA = "second int not null, at timestamp not null"
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SECONDS = {0: [30, 40, 60], 1: [1, 2, 61]}
"""Of each partition. The second one is half a minute behind the first."""


@pytest.fixture
def uneven(kafka: str, topic: Topic) -> str:
    place, producer = topic(partitions=2), Producer({"bootstrap.servers": kafka})
    for partition, seconds in SECONDS.items():
        for second in seconds:
            producer.produce(
                place, json.dumps({"second": second, "at": (BEGIN + timedelta(seconds=second)).isoformat()}), partition=partition
            )
    producer.flush()
    return place


def late(name: str, records: hr.Stream) -> list[int]:
    counts = records.event_time("at", "1 second").window(hr.tumbling("10 seconds")).agg(n=F.count("*"))
    counted, lost = counts.to.memory(name="counted"), counts.late.to.memory(name="lost")
    hr.Job(name, counted, lost, output_mode="append").run("micro-batch", trigger=hr.finish)
    assert sum(row.n for row in counted.sink.rows) + len(lost.sink.rows) == 6
    return [row.second for row in lost.sink.rows]


def test_a_partition_that_is_behind_is_late_unless_each_is_a_stream_of_its_own(uneven: str) -> None:
    assert late("together", hr.read.kafka(uneven, schema=SCHEMA, cap=2)) == [2]
    first, second = (hr.read.kafka(uneven, schema=SCHEMA, cap=1, partitions=[partition]) for partition in SECONDS)
    assert late("apart", first.union(second)) == []


def test_a_batch_has_the_partitions_that_were_asked_for(uneven: str) -> None:
    assert [row.second for row in hr.read.kafka(uneven, schema=SCHEMA, partitions=[1]).head()] == SECONDS[1]


def test_a_partition_that_is_not_there_is_refused(uneven: str) -> None:
    with pytest.raises(JobError, match="has no partition 2"):
        hr.Job("absent", hr.read.kafka(uneven, partitions=[2]).to.memory()).run("batch")
    with pytest.raises(DefinitionError, match="partitions= is of one topic"):
        hr.read.kafka("orders", "payments", partitions=[0])
