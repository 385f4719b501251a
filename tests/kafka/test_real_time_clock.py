"""Alarms and expiry by the clock in real-time mode, on a real broker: what comes at once, and what at the end of a batch."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.fronts.stream import Stream
from headrace.planning.recipe import Output
from headrace.planning.triggers import Trigger
from headrace.testing.microbatches import configured

pytestmark = pytest.mark.usefixtures("spark")
Topic = Callable[..., str]

NEVER_IN_A_TEST = hr.every("1 hour")


class Wire:
    """Records into topics of one partition, and those that come out of one."""

    def __init__(self, kafka: str, out: str) -> None:
        self._producer = Producer({"bootstrap.servers": kafka, "log_level": 0})
        self._consumer = Consumer({"bootstrap.servers": kafka, "group.id": "test", "enable.auto.commit": False})
        self._consumer.assign([TopicPartition(out, 0, 0)])

    def send(self, topic: str, **record: Any) -> None:
        self._producer.produce(topic, json.dumps(record, default=datetime.isoformat))
        self._producer.flush()

    def next(self, seconds: float = 60) -> Any:
        message = self._consumer.poll(seconds)
        assert message is not None, "nothing more came"
        assert message.error() is None
        return json.loads(message.value())

    def come(self) -> list[Any]:
        """What has come by now."""
        return [json.loads(message.value()) for message in self._consumer.consume(100, timeout=0.1)]


@contextmanager
def live(output: Output, trigger: Any, checkpoint: Path, spark: SparkSession) -> Iterator[None]:
    """A job in real time whose keys are all in one task, so that each record reaches the task of every key."""
    with (
        configured(spark, {"spark.sql.shuffle.partitions": "1"}),
        hr.Job("live", output, trigger=trigger, checkpoint=checkpoint).start("real-time"),
    ):
        yield


def records(topic: str) -> Stream:
    return hr.read.kafka(topic, schema="k string not null, v string, at timestamp")


def ringing(topic: str) -> Stream:
    """Rings when the clock has passed a record's time."""
    alarm = hr.Timer(at="state.at", output=["k", F.lit("rang").alias("what")], forget=True)
    return records(topic).key_by("k").scan(
        state={"at": "timestamp"}, update={"at": F.col("at")}, output=["k", F.lit("set").alias("what")], timer=alarm
    )  # fmt: skip


def test_an_alarm_by_the_clock_rings_at_the_end_of_a_batch_if_no_record_comes(
    short_batches: Trigger, kafka: str, topic: Topic, tmp_path: Path, spark: SparkSession
) -> None:
    given, out = topic(), topic()
    wire = Wire(kafka, out)
    with live(ringing(given).to.kafka(out), short_batches, tmp_path, spark):
        wire.send(given, k="ann", at=datetime.now(UTC) + timedelta(seconds=1))
        assert [wire.next(), wire.next()] == [{"k": "ann", "what": "set"}, {"k": "ann", "what": "rang"}]


def test_an_alarm_by_the_clock_rings_within_a_batch_when_its_task_gets_a_record(
    kafka: str, topic: Topic, tmp_path: Path, spark: SparkSession
) -> None:
    given, out = topic(), topic()
    wire = Wire(kafka, out)
    with live(ringing(given).to.kafka(out), NEVER_IN_A_TEST, tmp_path, spark):
        wire.send(given, k="ann", at=datetime.now(UTC) + timedelta(seconds=1))
        told, deadline = [wire.next()], time.monotonic() + 60
        while {"k": "ann", "what": "rang"} not in told:
            assert time.monotonic() < deadline, f"only {told} came"
            wire.send(given, k="bob", at=None)
            told += wire.come()


@pytest.mark.parametrize("alarm", [None, hr.Timer(at="state.never", output=["k", "state.n"])], ids=["alone", "with an alarm"])
def test_idle_by_the_clock_forgets_a_key_within_a_batch(
    alarm: hr.Timer | None, kafka: str, topic: Topic, tmp_path: Path, spark: SparkSession
) -> None:
    given, out = topic(), topic()
    wire, n = Wire(kafka, out), F.col("state.n")
    counted = records(given).key_by("k").scan(
        state={"n": F.lit(0), "never": "timestamp"}, update={"n": n + 1}, output=["k", n.alias("n")], idle="2 seconds", timer=alarm
    )  # fmt: skip
    with live(counted.to.kafka(out), NEVER_IN_A_TEST, tmp_path, spark):
        wire.send(given, k="ann")
        wire.send(given, k="ann")
        assert [wire.next()["n"], wire.next()["n"]] == [0, 1]
        idle_until = time.monotonic() + 2.1
        while time.monotonic() < idle_until:
            wire.send(given, k="bob")
            assert wire.next()["k"] == "bob"
        wire.send(given, k="ann")
        assert wire.next() == {"k": "ann", "n": 0}
