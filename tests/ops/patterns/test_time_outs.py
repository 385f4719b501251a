"""What did not become a match in its time has a time, as a match has: that moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import functions as F

import headrace as hr

pytestmark = pytest.mark.usefixtures("spark")

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
ORDERS = [("ordered", "a", 0), ("ordered", "b", 4), ("paid", "b", 5), ("ordered", "c", 7), ("ordered", "d", 31)]


@pytest.mark.parametrize("mode", ["batch", "micro-batch"])
def test_time_outs_are_counted_in_windows_by_the_moment_when_their_time_was_over(mode: Any) -> None:
    records = [(kind, order, BEGIN + timedelta(seconds=second)) for kind, order, second in ORDERS]
    orders = hr.read.memory("kind string, order string, at timestamp", *([record] for record in records))
    paid = hr.step("ordered", "kind = 'ordered'").followed_by("paid", "kind = 'paid'").within("10 seconds")
    never_paid = orders.key_by("order").match(paid, event_time="at", output=["ordered.kind"]).port("timed_out")
    counts = never_paid.window(hr.tumbling("20 seconds")).agg(n=F.count("*")).to.memory()
    hr.Job(f"time-outs-{mode}", counts, output_mode="append").run(mode, trigger=hr.finish if mode == "micro-batch" else None)
    assert sorted(((row.start.astimezone(UTC) - BEGIN).seconds, row.n) for row in counts.sink.rows) == [(0, 2), (40, 1)]
