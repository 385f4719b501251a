"""A driver that is killed in the middle of a keyed job and started again gives what a batch gives: nothing lost, nothing twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from headrace.cli import program

PROGRAM = Path(__file__).with_name("totals.py")
PAYMENTS, CUSTOMERS = 200, 7  # in 10 batches


def _start(settings: dict[str, str], kafka: str, stdout: int) -> subprocess.Popen[str]:
    """The job, in a process of its own."""
    command = [sys.executable, "-c", "from headrace.cli import app; app()", "run", str(PROGRAM), "--json", "--trigger", "once"]
    command += [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    return subprocess.Popen(command, stdout=stdout, text=True, start_new_session=True, env=os.environ | {"HEADRACE_KAFKA": kafka})


def _kill(process: subprocess.Popen[str]) -> None:
    os.killpg(process.pid, signal.SIGKILL)  # Python and the JVM at once
    assert process.wait() == -signal.SIGKILL


def _until_told(settings: dict[str, str], kafka: str, batch: int) -> None:
    """Run the job until it has told of a batch."""
    process = _start(settings, kafka, subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout:
        while json.loads(process.stdout.readline())["batch"] < batch:
            pass
        _kill(process)


def _until_made(settings: dict[str, str], kafka: str, file: str) -> None:
    """Run the job until a file of its checkpoint or of its output is there."""
    process = _start(settings, kafka, subprocess.DEVNULL)
    while not any(Path(settings["checkpoint"]).parent.glob(file)):
        assert process.poll() is None, f"it ended before there was {file}"
        time.sleep(0.002)  # a batch takes many times as long
    _kill(process)


# where the job is killed, one time after the other: as it starts, within a batch, after one, and as it has written one but may not have
# committed it; the last long before the last batch
Kill = tuple[Callable[..., None], int | str]
KILLS: list[Kill] = [
    (_until_made, "checkpoint/*/job.json"),
    (_until_made, "checkpoint/*/checkpoint/offsets/0"),
    (_until_told, 1),
    (_until_made, "checkpoint/*/checkpoint/offsets/4"),
    (_until_made, "stream/_spark_metadata/6"),
]


@pytest.mark.parametrize("kills", [KILLS[-2:], pytest.param(KILLS, marks=pytest.mark.soak)], ids=lambda kills: f"{len(kills)} times")
def test_a_killed_job_that_is_started_again_gives_what_a_batch_gives(
    kills: list[Kill], kafka: str, topic: Callable[..., str], spark: SparkSession, tmp_path: Path
) -> None:
    place, chance, producer = topic(), random.Random(7), Producer({"bootstrap.servers": kafka, "log_level": 0})
    for number in range(PAYMENTS):
        payment = {"id": number, "customer": f"c{chance.randrange(CUSTOMERS)}", "amount": chance.randrange(100)}
        producer.produce(place, json.dumps(payment))
    producer.flush()

    settings = {"topic": place, "out": str(tmp_path / "stream"), "checkpoint": str(tmp_path / "checkpoint")}
    for run, moment in kills:
        run(settings, kafka, moment)
    assert _start(settings, kafka, subprocess.DEVNULL).wait() == 0

    program.load(PROGRAM, settings | {"out": str(tmp_path / "batch")}).run("batch")
    streamed, batch = (Counter(spark.read.parquet(out).collect()) for out in (settings["out"], str(tmp_path / "batch")))
    assert batch.total() == PAYMENTS
    assert streamed == batch
