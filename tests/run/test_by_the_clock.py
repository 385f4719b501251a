"""Micro-batch jobs with state that goes by the clock: they look at it once a second, and rest in between."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import headrace as hr
from headrace.errors import ModeError
from headrace.fronts.stream import Stream
from headrace.io.memory import MemorySink
from headrace.ops.windows import Window
from headrace.planning.recipe import Output
from headrace.planning.triggers import Trigger
from headrace.run.running import Running

pytestmark = pytest.mark.usefixtures("spark")


def counted(stream: Stream, **options: Any) -> Output:
    n = F.col("state.n") + 1
    return stream.key_by("k").scan(state={"n": F.lit(0)}, update={"n": n}, output=["k", n.alias("n")], **options).to.memory()


def rows(output: Output) -> list[tuple[Any, ...]]:
    assert isinstance(output.sink, MemorySink)
    return sorted(tuple(row) for row in output.sink.rows)


@pytest.mark.parametrize("trigger", [None, hr.every("100 milliseconds")], ids=["as fast as possible", "as often as asked"])
def test_process_all_returns_when_the_records_are_processed_though_the_job_goes_on_looking_at_the_clock(
    trigger: Trigger | None, tmp_path: Path
) -> None:
    stream = hr.read.memory("k string")
    output = counted(stream, idle="1 hour")
    with hr.Job("idle", output, checkpoint=tmp_path).start("micro-batch", trigger=trigger) as running:
        running.process_all()
        assert rows(output) == []
        stream.add([("a",), ("a",)])
        running.process_all()
        assert rows(output) == [("a", 1), ("a", 2)]
        stream.add([("a",)])
        stream.add([("b",)])
        running.process_all()
        assert rows(output) == [("a", 1), ("a", 2), ("a", 3), ("b", 1)]


def test_it_looks_at_the_clock_once_a_second_and_an_alarm_rings_without_a_record(tmp_path: Path) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=1)
    alarm = hr.Timer(at=F.lit(soon), output=["k", (-F.col("state.n")).alias("n")])
    output = counted(hr.read.memory("k string", [("a",)]), timer=alarm)
    with hr.Job("alarm", output, checkpoint=tmp_path).start("micro-batch") as running:
        batches = []
        while len(batches) < 4 or len(rows(output)) < 2:
            running.wait(0.1)
            batches += running.news()
    assert rows(output) == [("a", -1), ("a", 1)]
    begun = [batch.at[: len("2026-01-01T10:00:00")] for batch in batches[1:]]  # the first does not wait for a whole second
    assert sorted(set(begun)) == begun


def test_a_job_without_a_clock_goes_on_as_fast_as_possible_and_one_that_is_told_its_interval_has_that() -> None:
    assert Trigger().micro_batch(by_the_clock=False) == {"processingTime": "0 seconds"}
    assert Trigger().micro_batch(by_the_clock=True) == {"processingTime": "1000 milliseconds"}
    assert hr.every("100 milliseconds").micro_batch(by_the_clock=True) == {"processingTime": "100 milliseconds"}
    assert hr.once.micro_batch(by_the_clock=True) == {"availableNow": True}


@pytest.mark.parametrize(
    ("window", "mode"), [(hr.tumbling("1 hour"), "append"), (hr.sessions("1 hour"), None)], ids=["tumbling", "sessions"]
)
def test_windows_that_would_wait_for_a_watermark_behind_a_scan_by_the_clock_are_refused(window: Window, mode: Any, tmp_path: Path) -> None:
    stream = hr.read.memory("k string, at timestamp").event_time("at", "1 minute")
    passed_on = stream.key_by("k").scan(state={"n": 0}, update={}, output=["record.*"], idle="1 hour")
    output = passed_on.window(window, on="at").agg(F.count("*").alias("n")).to.memory()
    with pytest.raises(ModeError) as refused:
        hr.Job("windows", output, output_mode=mode, checkpoint=tmp_path).start("micro-batch")
    assert "watermark" in refused.value.what
    assert refused.value.where == output.where


def test_jobs_that_start_at_once_do_not_change_settings_for_each_other(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, begin = "spark.sql.streaming.noDataMicroBatches.enabled", Running.begin
    before, seen, another = spark.conf.get(name), {}, threading.Event()

    def slowly(running: Running, *args: Any, **options: Any) -> StreamingQuery:
        seen[running.job] = spark.conf.get(name)
        if len(seen) > 1:
            another.set()
        another.wait(1)  # as long as it takes the other to come here, if it can
        return begin(running, *args, **options)

    monkeypatch.setattr(Running, "begin", slowly)
    streams = {"idle": counted(hr.read.memory("k string"), idle="1 hour"), "plain": hr.read.memory("k string").to.memory()}
    jobs = [hr.Job(job, output, trigger=hr.once, checkpoint=tmp_path / job) for job, output in streams.items()]
    with ThreadPoolExecutor() as threads:
        for done in [threads.submit(job.run) for job in jobs]:
            done.result()
    assert seen == {"idle": "false", "plain": before}
    assert spark.conf.get(name) == before
