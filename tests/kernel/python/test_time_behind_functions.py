"""Event time and Python functions: columns that pass a function by, and the watermark that a scan's function may know."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.kernel.event_time import time_columns, timed
from headrace.kernel.python.mapping import map_python
from headrace.kernel.python.scanning import scan_python
from headrace.testing.microbatches import MicroBatches

pytestmark = pytest.mark.usefixtures("spark")


def doubled(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"v": record["v"]}] * 2


def with_watermark(_: dict[str, Any], record: dict[str, Any]) -> tuple[None, list[dict[str, Any]]]:
    return None, [{"v": record["v"], "reached": str(record["reached"])[:19]}]


def operator(df: DataFrame) -> DataFrame:
    marked = timed(df.withColumn("at", F.timestamp_seconds("v")), "at", "0 seconds")
    made = map_python(marked, kind="flat_map", function=doubled, output="v int", keep=["at"])
    assert time_columns(made) == ["at"]
    scanned = scan_python(
        made.withColumn("k", F.lit(1)), keys="k", state="n int", function=with_watermark, output="v int, reached string",
        event_time="at", wait=False, watermark="reached",
    )  # fmt: skip
    return scanned.select(F.coalesce("main.v", "late.v").alias("v"), F.coalesce("main.reached", F.lit("late")).alias("reached"))


def test_an_event_time_that_is_kept_goes_on_behind_a_function_which_may_know_the_watermark() -> None:
    with MicroBatches(operator, "v int") as stream:
        first = stream.feed([(10,)])
        second = stream.feed([(20,), (5,)])
    assert [row.v for row in first.rows] == [10, 10]
    assert sorted((row.v, row.reached) for row in second.rows) == [
        (5, "late"), (5, "late"), (20, "1970-01-01 00:00:10"), (20, "1970-01-01 00:00:10"),
    ]  # fmt: skip
