"""A job in real time that is killed among its first, short batches and started again: nothing is lost, and what comes twice is the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

PROGRAM = Path(__file__).with_name("counts.py")
PAYMENTS, CUSTOMERS, STARTS = 90, 7, 3  # a third of them for each start; it is killed when half of its own are out


@contextmanager
def running(*arguments: str) -> Iterator[None]:
    """The job, in a process of its own, killed at the end: Python and the JVM at once."""
    process = subprocess.Popen([sys.executable, str(PROGRAM), *arguments], start_new_session=True)
    try:
        yield
        assert process.poll() is None, "it ended by itself"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.faults
def test_a_killed_job_in_real_time_goes_on_with_the_state_that_it_had(kafka: str, topic: Callable[..., str], tmp_path: Path) -> None:
    given, out = topic(), topic()
    producer = Producer({"bootstrap.servers": kafka, "log_level": 0})
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "test", "enable.auto.commit": False})
    consumer.assign([TopicPartition(out, 0, 0)])
    counts: dict[int, set[tuple[str, int]]] = {}

    def until_out(last: int) -> None:
        deadline = time.monotonic() + 120
        while not counts.keys() >= set(range(last)):
            assert time.monotonic() < deadline, f"only {sorted(counts)} came"
            if (message := consumer.poll(1)) is not None and message.error() is None:
                row = json.loads(message.value())
                counts.setdefault(row["id"], set()).add((row["customer"], row["before"]))

    share = PAYMENTS // STARTS
    for start in range(STARTS):
        with running(kafka, given, out, str(tmp_path)):
            for number in range(start * share, (start + 1) * share):
                producer.produce(given, json.dumps({"id": number, "customer": f"c{number % CUSTOMERS}"}))
                producer.flush()
            until_out(PAYMENTS if start == STARTS - 1 else start * share + share // 2)
    consumer.close()

    before: Counter[str] = Counter()
    for number in range(PAYMENTS):
        customer = f"c{number % CUSTOMERS}"
        assert counts[number] == {(customer, before[customer])}
        before[customer] += 1
