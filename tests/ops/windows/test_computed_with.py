"""What computes with windows gets each row once, when it is final: the same as in a batch, whatever the job's output mode."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import Column
from pyspark.sql import functions as F

import headrace as hr
from headrace.fronts.stream import Stream

pytestmark = pytest.mark.usefixtures("spark")

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def timed() -> Stream:
    """Records of four windows of ten seconds, which change with each of several micro-batches."""
    batches = [[("a", 1, 0), ("b", 2, 3)], [("a", 4, 5), ("a", 8, 12)], [("b", 16, 9), ("a", 32, 14)], [("b", 64, 29)]]
    rows = [[(key, value, NOON + timedelta(seconds=second)) for key, value, second in batch] for batch in batches]
    return hr.read.memory("k string, v int, at timestamp", *rows).event_time("at", "10 seconds")


def of_windows(records: Stream, **total: Column) -> Stream:
    return records.key_by("k").window(hr.tumbling("10 seconds")).agg(**total)


def sums() -> Stream:
    return of_windows(timed(), total=F.sum("v"))


BEHIND: dict[str, Callable[[Stream], Stream]] = {
    "windows of windows": lambda sums: sums.window(hr.tumbling("20 seconds")).agg(n=F.count("*"), total=F.sum("total")),
    "the best of each window": lambda sums: sums.key_by("end").top(1, by="total", rank=True, at="end"),
    "features": lambda sums: sums.key_by("k").with_features(before=hr.previous("total"), event_time="end"),
    "with a where between": lambda sums: sums.where("total > 2").key_by("k").with_features(n=hr.running(F.count("*")), event_time="end"),
}


@pytest.mark.parametrize("output_mode", [None, "append"])
@pytest.mark.parametrize("case", BEHIND)
def test_a_stream_gives_what_a_batch_gives(case: str, output_mode: Any) -> None:
    output = BEHIND[case](sums()).to.memory()
    job = hr.Job("behind", output, output_mode=output_mode)
    job.run("batch")
    batch = sorted(map(tuple, output.sink.rows), key=str)  # type: ignore[attr-defined]
    job.run(trigger=hr.finish)
    stream = sorted(map(tuple, output.sink.rows), key=str)  # type: ignore[attr-defined]
    assert batch
    if case == "windows of windows" and output_mode is None:  # the outer ones come with each change
        stream = sorted({row[0]: tuple(row) for row in output.sink.rows}.values(), key=str)  # type: ignore[attr-defined]
    assert stream == batch


MEETINGS: dict[str, Callable[[Stream, Stream], Stream]] = {
    "as_of": lambda own, other: own.as_of(other, on="k"),
    "join": lambda own, other: own.join(other, on="k", between=("-10 seconds", "10 seconds")),
}


@pytest.mark.parametrize("again", [False, True], ids=["other sums of the same records", "the same sums"])
@pytest.mark.parametrize("meeting", MEETINGS)
def test_windows_of_one_source_that_meet_are_not_late(meeting: str, again: bool) -> None:
    """Spark would compute the shuffle that both have once, and take the second use of it for a stream without a watermark."""
    records = timed()
    own = of_windows(records, total=F.sum("v"))
    other = (own if again else of_windows(records, total=F.max("v"))).select(
        "k", F.col("end").alias("other_end"), F.col("total").alias("other")
    )
    met = MEETINGS[meeting](own.select("k", "end", "total"), other)
    rows, late = met.to.memory("rows"), met.late.to.memory("late")
    job = hr.Job("meeting", rows, late)
    job.run("batch")
    batch = sorted(map(tuple, rows.sink.rows), key=str)  # type: ignore[attr-defined]
    job.run(trigger=hr.finish)
    assert late.sink.rows == []  # type: ignore[attr-defined]
    assert sorted(map(tuple, rows.sink.rows), key=str) == batch != []  # type: ignore[attr-defined]
