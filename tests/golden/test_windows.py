"""The two windows of the textbooks, the same in batch and in micro-batch, whichever records come together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.fronts.read import MemoryStream
from headrace.fronts.stream import Stream
from headrace.io.memory import MemorySink
from headrace.testing import assert_table, table


def _stream(spark: SparkSession, text: str, schema: str) -> MemoryStream:
    """A stream of a text table's rows, each a micro-batch of its own."""
    return hr.read.memory(schema, *[[tuple(row)] for row in table(spark, text, schema).collect()])


def _last(spark: SparkSession, stream: Stream, mode: Any, keys: list[str], checkpoint: Path) -> DataFrame:
    """What a job puts out; of the rows of one window and key, the last."""
    output = stream.to.memory()
    hr.Job("windows", output, trigger=hr.once, checkpoint=checkpoint).run(mode)
    assert isinstance(output.sink, MemorySink)
    rows = {tuple(row[key] for key in keys): row for row in output.sink.rows}
    return spark.createDataFrame(list(rows.values()), stream.schema)


@pytest.mark.parametrize("mode", ["batch", "micro-batch"])
def test_moving_average_over_the_last_hour_every_10_minutes(mode: Any, spark: SparkSession, tmp_path: Path) -> None:
    prices = _stream(
        spark,
        """
        at                  | price
        2026-01-01 12:05:00 | 10.0
        2026-01-01 12:25:00 | 20.0
        2026-01-01 13:00:00 | 60.0
        """,
        "at timestamp, price double",
    )
    averages = (
        prices.event_time("at", "1 hour")
        .window(hr.sliding("1 hour", "10 minutes"))
        .agg(F.avg("price").alias("average"))
        .select("end", "average")
    )
    assert_table(
        _last(spark, averages, mode, ["end"], tmp_path),
        """
        end                 | average
        2026-01-01 12:10:00 | 10.0
        2026-01-01 12:20:00 | 10.0
        2026-01-01 12:30:00 | 15.0
        2026-01-01 12:40:00 | 15.0
        2026-01-01 12:50:00 | 15.0
        2026-01-01 13:00:00 | 15.0
        2026-01-01 13:10:00 | 40.0
        2026-01-01 13:20:00 | 40.0
        2026-01-01 13:30:00 | 60.0
        2026-01-01 13:40:00 | 60.0
        2026-01-01 13:50:00 | 60.0
        2026-01-01 14:00:00 | 60.0
        """,
    )


@pytest.mark.parametrize("mode", ["batch", "micro-batch"])
def test_how_many_actions_of_each_type_happened_each_hour(mode: Any, spark: SparkSession, tmp_path: Path) -> None:
    events = _stream(
        spark,
        """
        id | time                | action
        1  | 2026-01-01 12:00:00 | open
        2  | 2026-01-01 12:30:00 | close
        1  | 2026-01-01 12:59:59 | open
        2  | 2026-01-01 13:00:00 | open
        1  | 2026-01-01 12:10:00 | close
        """,
        "id int, time timestamp, action string",
    )
    hourly = events.window(hr.tumbling("1 hour"), by=["action"], on="time").agg(F.count("*").alias("n")).select("action", "start", "n")
    assert_table(
        _last(spark, hourly, mode, ["action", "start"], tmp_path),
        """
        action | start               | n
        open   | 2026-01-01 12:00:00 | 2
        close  | 2026-01-01 12:00:00 | 2
        open   | 2026-01-01 13:00:00 | 1
        """,
    )
