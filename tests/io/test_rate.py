"""A clock's rows are numbered from 0 on, with no number left out, also by a job that was stopped."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import headrace as hr
from headrace.io.memory import MemorySink


def test_numbers_go_on_from_batch_to_batch_and_from_start_to_start(spark: SparkSession, tmp_path: Path) -> None:  # noqa: ARG001
    output = hr.read.rate(50).select("value").to.memory()
    assert isinstance(output.sink, MemorySink)
    job = hr.Job("ticks", output, trigger=hr.every("100 milliseconds"), checkpoint=tmp_path)
    for _ in range(2):
        before = len(output.sink.rows)
        with job.start() as running:
            while len(output.sink.rows) <= before and not running.wait(0.1):
                pass
    numbers = sorted(row.value for row in output.sink.rows)
    assert numbers == list(range(len(numbers)))
    assert len(numbers) > before > 0
