"""kill -9 of a whole job, Spark included, at a line inside of its sink: what it gives in the end is what a few lines of Python give."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from headrace.definitions import failpoints

PROGRAM = Path(__file__).with_name("sinks.py")
PAYMENTS = [(number, f"c{number * number % 7}") for number in range(100)]  # in 5 batches

Rows = Counter[tuple[int, str, int]]


def oracle() -> Rows:
    """Shares no code with the job."""
    seen: Counter[str] = Counter()
    rows = []
    for number, customer in PAYMENTS:
        rows.append((number, customer, seen[customer]))
        seen[customer] += 1
    return Counter(rows)


def run(kafka: str, settings: dict[str, str], point: str | None) -> int:
    command = [sys.executable, "-c", "from headrace.cli import app; app()", "run", str(PROGRAM), "--json", "--trigger", "once"]
    command += [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    env = os.environ | {"HEADRACE_KAFKA": kafka} | ({failpoints.VARIABLE: point} if point else {})
    return subprocess.run(command, stdout=subprocess.DEVNULL, env=env, start_new_session=True, timeout=240, check=False).returncode


def in_database(file: str) -> Rows:
    with closing(sqlite3.connect(file)) as connection:
        return Counter(connection.execute("SELECT id, customer, before FROM counted"))


def in_topic(kafka: str, topic: str) -> Rows:
    settings: dict[str, Any] = {"bootstrap.servers": kafka, "group.id": "test", "isolation.level": "read_committed", "log_level": 0}
    consumer = Consumer(settings | {"enable.auto.commit": False, "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, 0, 0)])
    rows: Rows = Counter()
    while True:
        message = consumer.poll(60)
        assert message is not None
        if message.error() is not None:
            assert message.error().code() == KafkaError._PARTITION_EOF
            consumer.close()
            return rows
        row = json.loads(message.value())
        rows[row["id"], row["customer"], row["before"]] += 1


@pytest.mark.parametrize(
    ("sink", "point"),
    [
        ("database", "database: committed:2"),
        pytest.param("database", "database: rows written:3", marks=pytest.mark.soak),
        pytest.param("kafka", "kafka: committed:2", marks=pytest.mark.soak),
        pytest.param("kafka", "kafka: about to commit:2", marks=pytest.mark.soak),
    ],
)
def test_a_job_that_is_killed_in_its_sink_gives_each_row_once(
    sink: str, point: str, kafka: str, topic: Callable[..., str], tmp_path: Path
) -> None:
    source, target = topic(), f"database:{tmp_path / 'rows.db'}" if sink == "database" else topic()
    producer = Producer({"bootstrap.servers": kafka, "log_level": 0})
    for number, customer in PAYMENTS:
        producer.produce(source, json.dumps({"id": number, "customer": customer}))
    producer.flush()
    settings = {"topic": source, "to": target, "checkpoint": str(tmp_path / "checkpoint")}
    assert run(kafka, settings, point) == -signal.SIGKILL
    assert run(kafka, settings, None) == 0
    assert (in_database(str(tmp_path / "rows.db")) if sink == "database" else in_topic(kafka, target)) == oracle()
