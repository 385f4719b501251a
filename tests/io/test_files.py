"""Lines of files become records or dead letters, the same in batch and in micro-batch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.io.memory import MemorySink
from headrace.run.recipe import Output

# the lines of a file, the reason why one of them is bad, and that one
LINES = {
    "json": ('{"city": "Lund", "celsius": 3.5}\n{"city": "Malmö"}\nnot a record\n', "not_json", "not a record"),
    "csv": ('"city","celsius"\nLund,3.5\nMalmö,\nYstad;1\n', "not_csv", "Ystad;1"),
}


@dataclass
class Reading:
    city: str
    celsius: float | None


def _rows(output: Output) -> list[tuple[Any, ...]]:
    assert isinstance(output.sink, MemorySink)
    return [tuple(row) for row in output.sink.rows]


@pytest.mark.parametrize("mode", ["batch", "micro-batch"])
@pytest.mark.parametrize("format", LINES)
def test_lines_are_records_or_dead_letters(format: Any, mode: Any, tmp_path: Path, spark: SparkSession) -> None:  # noqa: ARG001
    text, reason, bad = LINES[format]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "readings").write_text(text)
    readings = hr.read.files(tmp_path / "in", format=format, schema=Reading)
    good, dead = readings.to.memory("good"), readings.dead_letters.select("reason", "raw", "topic").to.memory("dead")
    hr.Job("readings", good, dead, trigger=hr.once, checkpoint=tmp_path / "checkpoint").run(mode)
    assert _rows(good) == [("Lund", 3.5), ("Malmö", None)]
    assert _rows(dead) == [(reason, bad.encode(), f"file:{tmp_path}/in/readings")]


@pytest.mark.parametrize("mode", ["batch", "micro-batch"])
def test_parquet_knows_its_columns(mode: Any, tmp_path: Path, spark: SparkSession) -> None:
    spark.range(3).write.parquet(str(tmp_path / "in"))
    output = hr.read.files(tmp_path / "in").to.memory()
    hr.Job("numbers", output, trigger=hr.once, checkpoint=tmp_path / "checkpoint").run(mode)
    assert sorted(_rows(output)) == [(0,), (1,), (2,)]


@pytest.mark.parametrize("format", ["json", "csv", "parquet"])
def test_what_is_written_can_be_read(format: Any, tmp_path: Path, spark: SparkSession) -> None:  # noqa: ARG001
    rows = [("a", 1), ("b", 2)]
    written = hr.read.memory("k string, v int", rows).to.files(tmp_path / "out", format=format, partition_by="k")
    hr.Job("write", written, trigger=hr.once, checkpoint=tmp_path / "checkpoint").run()
    read = hr.read.files(tmp_path / "out" / "k=a", format=format, schema="v int").to.memory()
    hr.Job("read", read).run("batch")
    assert _rows(read) == [(1,)]
