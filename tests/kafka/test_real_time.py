"""What the table of modes says of real-time mode, run: on a real broker, until every row has come.

Scans, features, totals and tumbling windows are run there by the laws (tests/laws), from one topic to one.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.waiting import eventually

import headrace as hr
from headrace.planning.table import MODES, Mode
from headrace.planning.triggers import Trigger
from headrace.run.running import Running
from headrace.testing.clocks import START
from headrace.testing.microbatches import configured

pytestmark = pytest.mark.usefixtures("spark")
Topic = Callable[..., str]
SCHEMA = "k string, v int, ts timestamp"
Record = tuple[str, int, int]  # key, value, and the second of its time


def send(kafka: str, topic: str, *records: Record) -> None:
    producer = Producer({"bootstrap.servers": kafka, "log_level": 0})
    for k, v, second in records:
        producer.produce(topic, json.dumps({"k": k, "v": v, "ts": f"{START + timedelta(seconds=second):%Y-%m-%dT%H:%M:%SZ}"}))
    producer.flush()


def received(kafka: str, topic: str, count: int) -> list[tuple[Any, ...]]:
    """The first `count` rows of a topic of one partition, in their order."""
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "test", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    rows: list[tuple[Any, ...]] = []
    while len(rows) < count:
        message = consumer.poll(120)
        assert message is not None, f"only {rows} came"
        assert message.error() is None
        rows.append(tuple(json.loads(message.value()).values()))
    consumer.close()
    return rows


def read(running: Running, rows: int) -> None:
    """Wait until a batch has ended that had read so many rows: whatever they change in the state is done."""
    deadline, done = time.monotonic() + 120, 0
    while done < rows:
        assert time.monotonic() < deadline, f"only {done} rows were read"
        running.wait(0.2)
        done += sum(progress.rows_in for progress in running.news())


def windows(stream: hr.Stream) -> hr.Stream:
    counted = stream.event_time("ts", "1 hour").window(hr.sliding("4 seconds", "2 seconds"), by=["k"]).agg(F.count("*").alias("n"))
    return counted.select("k", F.date_format("start", "ss").alias("from"), "n")


RECORDS: tuple[Record, ...] = (("ann", 1, 3), ("bob", 2, 3), ("ann", 3, 4))

# what is built of the records of one topic -> the rows that come
STREAMS: dict[str, tuple[Callable[[hr.Stream], hr.Stream], list[tuple[Any, ...]]]] = {
    "repartition": (lambda s: s.then(DataFrame.repartition, 3).select("k", "v"), [("ann", 1), ("bob", 2), ("ann", 3)]),
    "repartition by a key": (lambda s: s.then(lambda df: df.repartition(3, "k")).select("v"), [(1,), (2,), (3,)]),
    "union of a topic with itself": (lambda s: s.where("v > 1").union(s).select("k", "v"), [("ann", 1), *[("ann", 3), ("bob", 2)] * 2]),
    "sliding windows": (
        windows,
        [("ann", "00", 1), ("ann", "02", 1), ("bob", "00", 1), ("bob", "02", 1), ("ann", "02", 2), ("ann", "04", 1)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("stream", STREAMS)
def test_runs_in_real_time(stream: str, kafka: str, topic: Topic, tmp_path: Path) -> None:
    build, expected = STREAMS[stream]
    given, out = topic(), topic()
    send(kafka, given, *RECORDS)
    with hr.Job("live", build(hr.read.kafka(given, schema=SCHEMA)).to.kafka(out), checkpoint=tmp_path).start("real-time"):
        assert sorted(received(kafka, out, len(expected))) == sorted(expected)


def test_observe_tells_of_every_batch_in_real_time(short_batches: Trigger, kafka: str, topic: Topic, tmp_path: Path) -> None:
    given, out = topic(), topic()
    send(kafka, given, *RECORDS)
    seen = hr.read.kafka(given, schema=SCHEMA).then(lambda df: df.observe("seen", F.sum("v").alias("total"))).select("v")
    with hr.Job("seen", seen.to.kafka(out), trigger=short_batches, checkpoint=tmp_path).start("real-time") as running:
        assert received(kafka, out, 3) == [(1,), (2,), (3,)]
        read(running, 3)
        (query,) = running._queries
        assert sum(report.observedMetrics["seen"].total or 0 for report in query.spark_query.recentProgress) == 6


def test_the_first_batches_are_short_and_those_that_follow_as_long_as_asked(
    spark: SparkSession, kafka: str, topic: Topic, tmp_path: Path
) -> None:
    given, out = topic(), topic()
    counted = hr.read.kafka(given, schema=SCHEMA).key_by("k").with_features(n=hr.running(F.count("*"))).select("k", "n")
    job = hr.Job("rehearsed", counted.to.kafka(out), trigger=hr.every("1 hour"), checkpoint=tmp_path)
    send(kafka, given, ("ann", 1, 0))
    with configured(spark, {"spark.headrace.realTime.rehearsals": "3"}), job.start("real-time") as running:
        assert received(kafka, out, 1) == [("ann", 0)]
        (query,) = running._queries
        assert eventually(lambda: query.batch == 3)
        send(kafka, given, ("ann", 2, 0))
        assert received(kafka, out, 2)[1:] == [("ann", 1)]
        assert query.batch == 3


def test_a_union_reads_two_topics_in_real_time(kafka: str, topic: Topic, tmp_path: Path) -> None:
    first, second, out = topic(), topic(partitions=2), topic()
    both = hr.read.kafka(first, schema=SCHEMA).union(hr.read.kafka(second, schema=SCHEMA)).select("k", "v")
    send(kafka, first, ("ann", 1, 0))
    with hr.Job("union", both.to.kafka(out), checkpoint=tmp_path).start("real-time"):
        assert received(kafka, out, 1) == [("ann", 1)]
        send(kafka, second, ("bob", 2, 0))
        assert received(kafka, out, 2)[1:] == [("bob", 2)]
        send(kafka, first, ("ann", 3, 0))
        assert received(kafka, out, 3)[2:] == [("ann", 3)]


END: Record = ("end", 0, 3600)


@pytest.mark.parametrize("mode", MODES)
def test_latest_finds_what_another_topic_said_before_the_time_of_the_record(
    mode: Mode, short_batches: Trigger, kafka: str, topic: Topic, tmp_path: Path
) -> None:
    spent, moved, out = topic(), topic(), topic()
    places = hr.read.kafka(moved, schema=SCHEMA)
    payments = hr.read.kafka(spent, schema=SCHEMA).key_by("k")
    found = payments.with_features(event_time="ts", delay="1 minute", place=hr.latest(places, "v")).where("k <> 'end'")
    output = found.select("k", F.second("ts").alias("second"), "place.v").to.kafka(out)
    job = hr.Job("latest", output, trigger=short_batches, checkpoint=tmp_path)
    send(kafka, moved, ("ann", 100, 1), ("ann", 200, 5), ("bob", 7, 9), END)
    send(kafka, spent, ("ann", 1, 6), ("ann", 2, 2), ("bob", 3, 8), ("ann", 4, 0), END)
    expected = [("ann", 0, None), ("ann", 2, 100), ("ann", 6, 200), ("bob", 8, None)]
    if mode == "real-time":
        with job.start(mode):
            assert sorted(received(kafka, out, 4)) == expected
    else:
        job.run(mode, trigger=hr.once)
        assert sorted(received(kafka, out, 4)) == expected


def test_latest_finds_what_has_come_from_another_topic_in_real_time(
    short_batches: Trigger, kafka: str, topic: Topic, tmp_path: Path
) -> None:
    spent, moved, out = topic(), topic(), topic()
    place = hr.latest(hr.read.kafka(moved, schema=SCHEMA), "v")
    found = hr.read.kafka(spent, schema=SCHEMA).key_by("k").with_features(place=place).select("k", "place.v")
    with hr.Job("latest", found.to.kafka(out), trigger=short_batches, checkpoint=tmp_path).start("real-time") as running:
        send(kafka, spent, ("ann", 1, 0))
        assert received(kafka, out, 1) == [("ann", None)]
        send(kafka, moved, ("ann", 100, 0))
        read(running, 2)
        send(kafka, spent, ("ann", 2, 0), ("bob", 3, 0))
        assert sorted(received(kafka, out, 3)[1:], key=str) == [("ann", 100), ("bob", None)]


CONSOLE = """
import headrace as hr

words = hr.read.kafka({topic!r}).select("partition", "offset")
job = hr.Job("shown", words.to.console(), trigger=hr.every("5 seconds"), checkpoint={checkpoint!r})
"""


def test_the_console_shows_rows_in_real_time(kafka: str, topic: Topic, tmp_path: Path) -> None:
    given, file = topic(), tmp_path / "shown.py"
    send(kafka, given, ("ann", 1, 0))
    file.write_text(CONSOLE.format(topic=given, checkpoint=str(tmp_path / "checkpoint")))
    command = [sys.executable, "-c", "from headrace.cli import app; app()", "run", str(file), "--mode", "real-time", "--json"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    shown = next((line for line in running.stdout if line.startswith("|0 ")), None)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert shown == "|0        |0     |\n"
    assert (running.returncode, errors) == (0, "")
