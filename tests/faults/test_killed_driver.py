"""A driver that is killed in the middle of a keyed job and started again gives what a batch gives: nothing lost, nothing twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Producer
from pyspark.sql import SparkSession

from headrace.cli import program

PROGRAM = Path(__file__).with_name("totals.py")
PAYMENTS, CUSTOMERS = 400, 7  # in 20 batches: both kills come long before the last


def _run(settings: dict[str, str], kafka: str, *, kill_at: int | None) -> None:
    """Run the job in a process of its own; until the end, or until it has told of batch `kill_at`."""
    command = [sys.executable, "-c", "from headrace.cli import app; app()", "run", str(PROGRAM), "--json", "--trigger", "once"]
    command += [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True, env=os.environ | {"HEADRACE_KAFKA": kafka}
    )
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            if kill_at is not None and json.loads(line)["batch"] >= kill_at:
                os.killpg(process.pid, signal.SIGKILL)  # Python and the JVM at once
                break
    assert process.wait() == (0 if kill_at is None else -signal.SIGKILL)


def test_a_killed_job_that_is_started_again_gives_what_a_batch_gives(
    kafka: str, topic: Callable[..., str], spark: SparkSession, tmp_path: Path
) -> None:  # fmt: skip
    place, chance, producer = topic(), random.Random(7), Producer({"bootstrap.servers": kafka, "log_level": 0})
    for number in range(PAYMENTS):
        payment = {"id": number, "customer": f"c{chance.randrange(CUSTOMERS)}", "amount": chance.randrange(100)}
        producer.produce(place, json.dumps(payment))
    producer.flush()

    settings = {"topic": place, "out": str(tmp_path / "stream"), "checkpoint": str(tmp_path / "checkpoint")}
    for kill_at in (2, 5):
        _run(settings, kafka, kill_at=kill_at)
    _run(settings, kafka, kill_at=None)

    program.load(PROGRAM, settings | {"out": str(tmp_path / "batch")}).run("batch")
    streamed, batch = (Counter(spark.read.parquet(out).collect()) for out in (settings["out"], str(tmp_path / "batch")))
    assert batch.total() == PAYMENTS
    assert streamed == batch
