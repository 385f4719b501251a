"""kill -9 of either job of a chain: in the end each row is there once, whatever the first has written twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from tests.waiting import eventually

import headrace as hr
from headrace.definitions import failpoints

pytestmark = pytest.mark.faults

PROGRAM = Path(__file__).with_name("chain.py")
PAYMENTS = [(number, f"c{number * number % 7}") for number in range(100)]
ROWS = 2 * len(PAYMENTS)  # in 5 batches of the second job


def oracle() -> Counter[tuple[int, str, str, int]]:
    """Shares no code with the jobs."""
    seen: Counter[str] = Counter()
    rows = []
    for number, customer in PAYMENTS:
        for side in ("from", "to"):
            rows.append((number, customer, side, seen[customer]))
            seen[customer] += 1
    return Counter(rows)


def start(kafka: str, mode: str, point: str | None = None, **settings: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", "from headrace.cli import app; app()", "run", str(PROGRAM), "--mode", mode, "--json"]
    command += ["--conf", "spark.headrace.realTime.rehearsals=0"]  # they save, and a kill would find nothing to repeat
    command += [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    env = os.environ | {"HEADRACE_KAFKA": kafka} | ({failpoints.VARIABLE: point} if point else {})
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, env=env, start_new_session=True)


def test_each_row_of_a_chain_is_there_once(kafka: str, topic: Callable[..., str], tmp_path: Path) -> None:
    source, between, target, live, careless = topic(), topic(), topic(), topic(), topic()
    producer = Producer({"bootstrap.servers": kafka, "log_level": 0})
    for number, customer in PAYMENTS:
        producer.produce(source, json.dumps({"id": number, "customer": customer}))
    producer.flush()

    def written(name: str = between) -> int:
        return sum(partition.end for partition in hr.topics.describe(name, servers=kafka).partitions)

    def rows(name: str) -> Counter[tuple[int, str, str, int]]:
        values = [json.loads(record.value) for record in hr.topics.read(name, servers=kafka)]
        return Counter((row["id"], row["customer"], row["side"], row["before"]) for row in values)

    first = {"part": "first", "source": source, "target": between, "checkpoint": tmp_path / "first"}
    for wanted, how in ((ROWS, signal.SIGKILL), (2 * ROWS, signal.SIGTERM)):  # nothing was saved: all of it again
        job = start(kafka, "real-time", **first)
        assert eventually(lambda wanted=wanted: written() >= wanted, within=200)
        os.killpg(job.pid, how)
        assert job.wait(60) == (-how if how == signal.SIGKILL else 0)
    second = {"part": "second", "source": between, "target": target, "checkpoint": tmp_path / "second"}
    assert start(kafka, "micro-batch", "kafka: committed:2", **second).wait(200) == -signal.SIGKILL
    assert start(kafka, "micro-batch", **second).wait(200) == 0
    assert rows(target) == oracle()
    without = start(kafka, "micro-batch", part="careless", source=between, target=careless, checkpoint=tmp_path / "careless")
    assert without.wait(200) == 0
    assert rows(careless) > oracle()  # that each is read once is by their ids
    third = start(kafka, "real-time", part="live", source=between, target=live, checkpoint=tmp_path / "live")
    assert eventually(lambda: written(live) >= ROWS, within=200)
    os.killpg(third.pid, signal.SIGTERM)  # it saves first: what was read has then gone through
    assert third.wait(60) == 0
    assert rows(live) == oracle()
