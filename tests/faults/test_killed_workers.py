"""kill -9 of a worker of a cluster while it works: what the job gives in the end is what a few lines of Python give."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Producer
from tests.waiting import eventually

import headrace as hr
from headrace.embedded import cluster
from headrace.embedded.cluster import Cluster

pytestmark = pytest.mark.faults

PROGRAM = Path(__file__).with_name("counted.py")
PAYMENTS = [(number, f"c{number * number % 101}") for number in range(40_000)]
KILLS = 3


@pytest.fixture
def running() -> Iterator[Cluster]:
    yield cluster.up(workers=2, cores=3)
    cluster.down()


def oracle() -> Counter[tuple[int, str, int]]:
    """Shares no code with the job."""
    seen: Counter[str] = Counter()
    rows = []
    for number, customer in PAYMENTS:
        rows.append((number, customer, seen[customer]))
        seen[customer] += 1
    return Counter(rows)


def send(kafka: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": kafka, "log_level": 0})
    for number, customer in PAYMENTS:
        producer.produce(topic, json.dumps({"id": number, "customer": customer}))
        producer.poll(0)
    producer.flush()


def start(kafka: str, running: Cluster, *more: str, **settings: object) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-c",
        "from headrace.cli import app; app()",
        "run",
        str(PROGRAM),
        "--json",
        "--master",
        running.master,
        *more,
    ]
    command += [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | {"HEADRACE_KAFKA": kafka}, start_new_session=True)


def kill_one(running: Cluster, number: int) -> None:
    """A worker that has an executor; another one each time."""
    name = f"{running.logs / 'work'}"
    workers = sorted((each for each in psutil.process_iter() if is_worker(each, name)), key=lambda each: each.pid)
    workers[number % len(workers)].send_signal(signal.SIGKILL)


def is_worker(process: psutil.Process, place: str) -> bool:
    with suppress(psutil.Error):
        line = process.cmdline()
        return "org.apache.spark.deploy.worker.Worker" in line and place in line
    return False


def test_a_batch_whose_worker_is_killed_is_done_once(running: Cluster, kafka: str, topic: Callable[..., str], tmp_path: Path) -> None:
    source, file = topic(partitions=1), tmp_path / "rows.db"
    send(kafka, source)
    job = start(
        kafka,
        running,
        "--trigger",
        "once",
        topic=source,
        to=f"database:{file}",
        checkpoint=tmp_path / "checkpoint",
        cap=len(PAYMENTS) // 20,
    )

    def rows() -> int:
        with closing(sqlite3.connect(file)) as connection, suppress(sqlite3.OperationalError):
            return int(connection.execute("SELECT count(*) FROM counted").fetchone()[0])
        return 0

    for number in range(KILLS):
        least = len(PAYMENTS) * (number + 1) // (KILLS + 2)
        assert eventually(lambda least=least: rows() >= least or job.poll() is not None, within=240)
        assert job.poll() is None
        kill_one(running, number)
    assert job.wait(300) == 0
    with closing(sqlite3.connect(file)) as connection:
        assert Counter(connection.execute("SELECT id, customer, before FROM counted")) == oracle()


def test_a_real_time_job_whose_worker_is_killed_goes_on_under_supervision_and_its_reader_has_each_row_once(
    running: Cluster, kafka: str, topic: Callable[..., str], tmp_path: Path
) -> None:
    source, target = topic(), topic()
    send(kafka, source)
    job = start(
        kafka, running, "--mode", "real-time", "--trigger", "5 seconds", "--supervise", "--conf", "spark.sql.shuffle.partitions=2",
        topic=source, to=target, checkpoint=tmp_path / "checkpoint", guarantee="at-least-once",
    )  # fmt: skip
    try:
        seen: set[int] = set()
        for number, record in enumerate(hr.topics.read(target, servers=kafka, follow=True)):
            if number == len(PAYMENTS) // 2:
                kill_one(running, 0)
            seen.add(json.loads(record.value)["id"])
            if len(seen) == len(PAYMENTS):
                break
        job.send_signal(signal.SIGTERM)
        assert job.wait(120) == 0
    finally:
        with suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGKILL)
    once = hr.read.kafka(target, schema="id int, customer string, before long", servers=kafka, once=True).to.memory()
    hr.Job("reader", once, trigger=hr.once, checkpoint=tmp_path / "reader").run()
    assert Counter(map(tuple, once.sink.rows)) == oracle()  # type: ignore[attr-defined]
