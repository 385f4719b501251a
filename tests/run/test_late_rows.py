"""What comes too late for all of its windows is counted, record by record."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Literal

import pytest
from pyspark.sql import functions as F

import headrace as hr
from headrace.io.memory import MemorySink
from headrace.ops.windows import Window
from headrace.testing.clocks import START

pytestmark = pytest.mark.usefixtures("spark")

# key and second of each record, batch by batch; at 100 s everything before is late, for the batches after the next
BATCHES = [
    [("a", 1), ("b", 2)],
    [("a", 100)],
    [("a", 101)],
    [("a", 3), ("a", 4), ("a", 5), ("b", 6), ("b", 102)],
]


@pytest.mark.parametrize("output_mode", ["update", "append", "complete"])
@pytest.mark.parametrize("window", [hr.tumbling("10 seconds"), hr.sliding("10 seconds", "5 seconds")], ids=["tumbling", "sliding"])
def test_every_record_that_no_window_takes_is_counted_once(
    window: Window, output_mode: Literal["update", "append", "complete"], tmp_path: Path
) -> None:
    records = hr.read.memory("k string, ts timestamp")
    counts = records.event_time("ts", "0 seconds").window(window, by=["k"]).agg(F.count("*").alias("n")).to.memory()
    with hr.Job("late", counts, output_mode=output_mode, checkpoint=tmp_path).start() as running:
        for batch in BATCHES:
            records.add([(key, START + timedelta(seconds=second)) for key, second in batch])
            running.process_all()
        batches, (now,) = running.news(), running.snapshot()
    kept = 0 if output_mode == "complete" else 4  # which keeps every window, so that nothing is late
    assert sum(batch.late_rows for batch in batches) == kept
    assert now.late_rows == kept
    assert isinstance(counts.sink, MemorySink)
    grew = any(row.n > 1 for row in counts.sink.rows if row.start.minute == START.minute)  # a window of the late ones
    assert grew == (output_mode == "complete")
