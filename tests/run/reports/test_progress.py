"""What a job reports of the records that came too late."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import headrace as hr
from headrace.fronts.stream import Stream
from headrace.ops.windows import Window

pytestmark = pytest.mark.usefixtures("spark")


def at(seconds: int) -> datetime:
    return datetime(2026, 1, 1, 10, tzinfo=UTC) + timedelta(seconds=seconds)


def counted(window: Window) -> Callable[[Stream], Stream]:
    return lambda stream: stream.window(window, by=["k"]).agg(F.count("*").alias("n"))


def joined(df: DataFrame) -> DataFrame:
    return df.join(df.select(F.col("k").alias("key"), F.col("at").alias("then")), F.expr("k = key AND at = then"))


# what is done with three late records of one key and window, the mode of its output, and how many are reported
LATE: dict[str, tuple[Callable[[Stream], Stream], str, int]] = {
    "tumbling, closed": (counted(hr.tumbling("10 seconds")), "append", 3),
    "tumbling, open": (counted(hr.tumbling("10 seconds")), "update", 3),
    "sliding, of two closed windows each": (counted(hr.sliding("10 seconds", "5 seconds")), "append", 3),
    "sessions": (counted(hr.sessions("10 seconds")), "append", 3),
    "by the time itself": (lambda stream: stream.key_by("k", "at").agg(F.count("*").alias("n")), "append", 3),
    "all windows": (counted(hr.tumbling("10 seconds")), "complete", 0),
    "dropDuplicates": (lambda stream: stream.then(DataFrame.dropDuplicates), "append", 3),
    "dropDuplicatesWithinWatermark": (lambda stream: stream.then(DataFrame.dropDuplicatesWithinWatermark, ["k"]), "append", 3),
    "Spark's join of two streams, on both sides": (lambda stream: stream.then(joined), "append", 6),
    "a scan, which puts them out": (
        lambda stream: stream.key_by("k").scan(state={"n": 0}, update={}, output=["k"], event_time="at"), "append", 3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LATE)
def test_every_late_record_is_counted(case: str) -> None:
    define, output_mode, late = LATE[case]
    records = hr.read.memory("k string, v int, at timestamp", [("a", 0, at(0)), ("b", 0, at(1000))])
    output = define(records.event_time("at", "10 seconds")).to.memory()
    with hr.Job("late", output, output_mode=output_mode).start() as running:  # type: ignore[arg-type]
        running.process_all()
        records.add([("a", v, at(5 + v)) for v in range(3)] + [("a", 3, at(2000))])
        running.process_all()
        assert sum(report.late_rows for report in running.news()) == late


def test_the_end_of_the_input_is_no_watermark() -> None:
    records = hr.read.memory("at timestamp", [(at(0),)]).event_time("at", "10 seconds").to.memory()
    with hr.Job("ended", records, trigger=hr.finish).start() as running:
        running.wait()
        assert [(report.query, report.watermark) for report in running.progress()] == [
            ("memory", "1970-01-01T00:00:00.000Z"),
            ("memory, end", None),
        ]
