"""The trigger `finish`: all there is, then the end of the input, and the rows are those of a batch."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.errors import JobError, ModeError
from headrace.fronts.read import MemoryStream
from headrace.fronts.stream import Stream
from headrace.io.memory import MemorySink
from headrace.planning import modes
from headrace.planning.recipe import Output
from headrace.planning.triggers import Trigger

pytestmark = pytest.mark.usefixtures("spark")

SCHEMA = "k string, v int, at timestamp"


def at(seconds: float) -> datetime:
    return datetime(2026, 1, 1, 10, tzinfo=UTC) + timedelta(seconds=seconds)


def records() -> MemoryStream:
    """In three batches, the second out of order."""
    return hr.read.memory(
        SCHEMA,
        [("a", 1, at(0)), ("b", 2, at(4))],
        [("a", 3, at(3)), ("c", 4, at(2))],
        [("a", 5, at(40)), ("b", 6, at(41))],
    )


def timed() -> Stream:
    return records().event_time("at", "5 seconds")


def windowed(window: Any) -> Stream:
    return timed().window(window, by=["k"]).agg(F.sum("v").alias("sum"))


def alarms(pause: str, **options: Any) -> Stream:
    """A row for each record, and one when a key has been quiet for so long."""
    seconds = F.unix_seconds("timer.time").alias("seconds")  # Python has no times as late as some of these
    quiet = hr.Timer(at=F.col("state.last") + F.expr(f"interval {pause}"), output=["k", F.lit(None).cast("int").alias("v"), seconds])
    return timed().key_by("k").scan(
        state={"last": "timestamp"}, update={"last": F.col("at")}, output=["k", "v", F.unix_seconds("at").alias("seconds")],
        event_time="at", timer=quiet, **options,
    )  # fmt: skip


def joined() -> Stream:
    """Each record with those of the key up to ten seconds later, or with none."""

    def join(df: DataFrame) -> DataFrame:
        other = df.select(F.col("k").alias("key"), F.col("v").alias("later"), F.col("at").alias("then"))
        soon = F.expr("k = key AND then > at AND then <= at + interval 10 seconds")
        return df.join(other, soon, "left").select("k", "v", "later")

    return timed().then(join)


def windows_of_windows() -> Stream:
    def again(df: DataFrame) -> DataFrame:
        sums = df.groupBy(F.window("at", "5 seconds").alias("w"), "k").agg(F.sum("v").alias("sum"))
        return sums.groupBy(F.window("w", "1 minute")).agg(F.max("sum").alias("most")).select("most")

    return timed().then(again)


OPERATORS: dict[str, Callable[[], Stream]] = {
    "tumbling windows": lambda: windowed(hr.tumbling("10 seconds")),
    "sliding windows": lambda: windowed(hr.sliding("10 seconds", "5 seconds")),
    "sessions": lambda: windowed(hr.sessions("5 seconds")),
    "windows of windows": windows_of_windows,
    "a join of two streams": joined,
    "waiting records": lambda: timed().key_by("k").with_features(event_time="at", sum=hr.running(F.sum("v"), inclusive=True)),
    "alarms": lambda: alarms("10 seconds"),
    "alarms that are far away": lambda: alarms("30 days"),
    "alarms that are further away than any time": lambda: alarms("250000 years"),
    "alarms without waiting": lambda: alarms("10 seconds", wait=False),
    "alarms of idle keys": lambda: alarms("10 seconds", idle="9 seconds"),
    "no state": timed,
    "totals": lambda: records().key_by("k").agg(F.sum("v").alias("sum")),
}


def rows(output: Output) -> list[tuple[Any, ...]]:
    assert isinstance(output.sink, MemorySink)
    return sorted((tuple(row) for row in output.sink.rows), key=str)


def job(stream: Stream, *more: Output, trigger: Trigger = hr.finish, **options: Any) -> tuple[hr.Job, Output]:
    output = stream.to.memory("kept")
    return hr.Job("finish", output, *more, trigger=trigger, **options), output


@pytest.mark.parametrize("case", OPERATORS)
def test_it_gives_the_rows_of_a_batch(case: str) -> None:
    stream = OPERATORS[case]()
    finished, output = job(stream, output_mode="update" if case == "totals" else "append")
    finished.run()
    of_stream, by_batch = rows(output), dict(output.sink.batches)  # type: ignore[attr-defined]
    finished.run("batch")
    if case == "totals":  # an update of each total for each batch
        assert set(rows(output)) <= set(of_stream)
    else:
        assert of_stream == rows(output), by_batch
    assert of_stream


def test_what_once_left_open_is_finished_later() -> None:
    source = records()
    sums = source.event_time("at", "5 seconds").window(hr.tumbling("10 seconds")).agg(F.sum("v").alias("sum")).select("sum")
    finished, output = job(sums, output_mode="append")
    finished.run(trigger=hr.once)
    finished.run(trigger=hr.once)
    first = rows(output)
    source.add([("a", 100, at(42))])
    finished.run(trigger=hr.once)
    assert first == rows(output) == [(10,)]
    finished.run()  # nothing is new, but now it ends
    assert rows(output) == [(10,), (111,)]


def test_what_comes_after_all_there_is_is_not_read() -> None:
    source = records()
    late = source.to.callback(lambda frame, batch: source.add([("z", 0, at(1000))]), name="late")  # noqa: ARG005
    finished, output = job(source.key_by("k").agg(F.count("*").alias("n")), late)
    finished.run()
    assert {k for k, _ in rows(output)} == {"a", "b", "c"}


@pytest.mark.parametrize("trigger", [hr.once, hr.finish, hr.every("1 second")], ids=["once", "finish", "every"])
def test_a_finished_job_is_not_started_again(trigger: Trigger) -> None:
    finished, output = job(timed())
    finished.run()
    with pytest.raises(JobError) as refused:
        finished.run(trigger=trigger)
    assert refused.value.what == "job 'finish' is finished: its input has ended"
    assert refused.value.fix == "to start anew, give the job another name, or move its checkpoint away"
    assert (refused.value.where or "").startswith(__file__)
    hr.Job("another", output, trigger=hr.finish).run()


def test_an_end_that_was_interrupted_is_gone_on_with(tmp_path: Path) -> None:
    stream = windowed(hr.tumbling("10 seconds"))
    filed = stream.drop("sum").to.files(tmp_path / "files")
    finished, output = job(stream, filed, checkpoint=tmp_path / "checkpoint", output_mode="append")
    finished.run()
    whole = rows(output)
    commits = tmp_path / "checkpoint" / "kept" / "checkpoint" / "commits"
    last = max(int(file.name) for file in commits.iterdir() if file.name.isdigit())
    for file in commits.glob(f"*{last}*"):
        file.unlink()
    with pytest.raises(JobError) as refused:
        finished.run(trigger=hr.once)
    assert refused.value.what == "job 'finish' has begun to finish: some of its input has ended"
    assert refused.value.fix.startswith("run it with hr.finish to its end")
    finished.run()
    assert rows(output) == whole
    with pytest.raises(JobError, match="is finished"):
        finished.run()


def test_every_query_of_a_job_ends_also_one_without_records(spark: SparkSession, tmp_path: Path) -> None:
    nothing = hr.read.memory(SCHEMA).event_time("at", "1 second").to.memory("nothing")
    filed = windowed(hr.tumbling("10 seconds")).to.files(tmp_path / "files", name="filed")
    finished, output = job(windowed(hr.sessions("10 seconds")), filed, nothing, output_mode="append")
    with finished.start() as running:
        assert running.wait(120)
        reports = {report.query for report in running.news() if report.query.endswith(", end")}
    assert reports == {"kept, end", "filed, end"}
    assert len(rows(output)) == 5
    assert spark.read.parquet(str(tmp_path / "files")).count() == 5
    assert rows(nothing) == []
    with pytest.raises(JobError, match="is finished"):
        finished.run()


def test_no_query_of_a_job_ends_if_one_fails() -> None:
    broken = [True]

    def write(frame: DataFrame, batch: int) -> None:  # noqa: ARG001
        if broken:
            raise RuntimeError("no")
        frame.collect()

    failing, output = job(windowed(hr.tumbling("10 seconds")), timed().to.callback(write), output_mode="append")
    with pytest.raises(JobError, match="no"):
        failing.run()
    broken.clear()
    failing.run(trigger=hr.once)
    assert len(rows(output)) == 3
    failing.run()
    assert len(rows(output)) == 5


def test_one_that_is_left_before_its_end_is_not_finished() -> None:
    finished, _ = job(timed())
    with finished.start() as running:
        running.process_all()
    finished.run(trigger=hr.once)


def test_real_time_has_no_end() -> None:
    with pytest.raises(ModeError) as refused:
        modes.check_real_time([], hr.finish)
    assert refused.value.what.startswith("the trigger `finish`: not in real-time mode")
