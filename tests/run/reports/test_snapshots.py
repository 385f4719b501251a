"""A query at a moment: how fast its records are, and how it is told in few words."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.kernel.jvm import package
from headrace.run.reports import snapshots, summaries
from headrace.run.reports.snapshots import Pace, Pulse, Snapshot, quantile

NOW = Snapshot(query="totals", batch=3, late_rows=0, rate=1204.4, lag=0, latency_ms=8.0, latency_p99_ms=34.0)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(snapshots, "time", clock)
    return clock


def test_a_pulse_is_that_of_the_last_seconds_however_often_one_looks(clock: Clock) -> None:
    pulse, counted = Pulse(), Counter[int]()
    for _ in range(20):  # a second each: ten records of 3 ms
        clock.now += 1
        counted[3] += 10
        assert pulse(Counter(counted)) == Pace(10.0, 3.0, 3.0)
    for _ in range(5):  # then a hundred of 50 ms
        clock.now += 1
        counted[50] += 100
        last = pulse(Counter(counted))
    assert last == Pace(100.0, 50.0, 50.0)
    for _ in range(5):  # then nothing
        clock.now += 1
        last = pulse(Counter(counted))
    assert last == Pace(0.0, None, None)


def test_there_is_no_pulse_before_something_was_counted(clock: Clock) -> None:
    pulse = Pulse()
    clock.now += 10
    assert pulse(Counter()) is None
    clock.now += 1
    assert pulse(Counter({5: 22})) == Pace(2.0, 5.0, 5.0)  # since the start


@pytest.mark.parametrize(("part", "value"), [(0.5, 2), (0.9, 3), (0.99, 40)])
def test_a_quantile_is_a_value_that_occurred(part: float, value: float) -> None:
    assert quantile(Counter({1: 30, 2: 30, 3: 30, 40: 10}), part) == value


def test_a_job_in_a_line() -> None:
    new = Snapshot(query="letters", batch=0, late_rows=0)
    assert summaries.line("j", "real-time", "running", [NOW, new]) == (
        "<Running 'j', real-time, running: totals (batch 3, 1,204 records/s, 0 behind); letters (batch 0)>"
    )
    assert summaries.line("j", "real-time", "failed", []) == "<Running 'j', real-time, failed>"


def test_a_job_in_a_notebook_is_a_table_with_nothing_but_text_in_it() -> None:
    odd = Snapshot(query="<b>&", batch=0, late_rows=0, state_rows=5, state_bytes=2000)
    assert summaries.table("<i>", "real-time", "running", [NOW, odd]) == (
        "<table><caption><b>&lt;i&gt;</b>, real-time, running</caption>"
        "<thead><tr><th>output</th><th>batch</th><th>records/s</th><th>behind</th><th>latency p50 / p99</th><th>state</th></tr></thead>"
        "<tbody><tr><td>totals</td><td>3</td><td>1,204</td><td>0</td><td>8 / 34 ms</td><td>–</td></tr>"
        "<tr><td>&lt;b&gt;&amp;</td><td>0</td><td>–</td><td>–</td><td>–</td><td>5 rows, 2 kB</td></tr></tbody></table>"
    )


@pytest.mark.usefixtures("spark")
def test_a_running_job_says_what_it_is_at(tmp_path: Path) -> None:
    with hr.Job("shown", hr.read.memory("n int", [(1,), (2,)]).to.memory("rows"), checkpoint=tmp_path).start() as running:
        running.process_all()
        assert repr(running).startswith("<Running 'shown', micro-batch, running: rows (batch ")
        assert "<caption><b>shown</b>, micro-batch, running</caption>" in running._repr_html_()
    assert repr(running).startswith("<Running 'shown', micro-batch, ended: rows (batch ")


def test_waiting_is_counted_to_the_millisecond_and_then_to_the_sixteenth_part(spark: SparkSession) -> None:
    meter = package(spark).Meter
    for millis in [0, 1, 31, 32, 33, 63, 64, 100, 999, 12_345, 86_400_000, 2**62]:
        least = meter.least(meter.bucket(millis))
        assert least <= millis
        assert millis == least if millis < 32 else millis - least < millis / 16
