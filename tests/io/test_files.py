"""Lines of files become records or dead letters, the same in batch and in micro-batch."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyarrow import Table, parquet
from pyspark.sql import SparkSession

import headrace as hr
from headrace.errors import JobError
from headrace.io.memory import MemorySink
from headrace.planning.recipe import Output

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


EXACT = "at timestamp, local timestamp_ntz, blanks string, quotes string, empty string, none string, bytes binary"
AT = datetime(2026, 2, 3, 4, 5, 6, 123456)


@pytest.mark.parametrize("mode", ["batch", "micro-batch", "micro-batch with another output"])
@pytest.mark.parametrize("format", ["json", "csv"])
def test_what_is_written_is_read_as_it_was(format: Any, mode: str, tmp_path: Path, spark: SparkSession) -> None:  # noqa: ARG001
    row = (AT.replace(tzinfo=UTC), AT, " a ", 'say "\\hej\\", å', "", None, bytearray(b"\x00\xff"))
    given = hr.read.memory(EXACT, [row])
    outputs = [given.to.files(tmp_path / "out", format=format), *([given.to.memory("also")] if "another" in mode else [])]
    hr.Job("write", *outputs, trigger=hr.once, checkpoint=tmp_path / "checkpoint").run("batch" if mode == "batch" else "micro-batch")
    read = hr.read.files(tmp_path / "out", format=format, schema=EXACT).to.memory()
    hr.Job("read", read).run("batch")
    assert _rows(read) == [(AT, *row[1:])]  # PySpark hands out instants in the zone of the process, which is UTC here


def test_a_format_of_the_users_own_is_kept(tmp_path: Path, spark: SparkSession) -> None:  # noqa: ARG001
    given = hr.read.memory("at timestamp_ntz, note string", [(AT, " x ")])
    own = {"timestampntzformat": "yyyy", "ignoreLeadingWhiteSpace": "true", "sep": ";"}
    hr.Job("write", given.to.files(tmp_path / "out", format="csv", options=own)).run("batch")
    assert [part.read_text() for part in (tmp_path / "out").glob("part-*")] == ["2026;x \n"]


def test_a_row_that_csv_has_no_line_for_stops_the_job(tmp_path: Path, spark: SparkSession) -> None:  # noqa: ARG001
    words = hr.read.memory("word string", [("a",), (None,)])
    with pytest.raises(JobError) as failed:
        hr.Job("null", words.to.files(tmp_path / "out", format="csv")).run("batch")
    assert "word is null, and CSV has no line for a row of one null" in failed.value.what
    hr.Job("marked", words.to.files(tmp_path / "marked", format="csv", options={"nullValue": "-"})).run("batch")
    assert sorted(line for part in (tmp_path / "marked").glob("part-*") for line in part.read_text().split()) == ["-", "a"]


# schema, the lines of a file, the records, and the lines that are none
HEADERS: dict[str, tuple[str, str, list[tuple[str, ...]], list[str]]] = {
    "is skipped": ("word string", "word\nhello\n", [("hello",)], []),
    "is skipped in quotes": ("a string, b string", '"a",b\n1,2\n', [("1", "2")], []),
    "is skipped before a carriage return": ("a string, b string", "a,b\r\n1,2\r\n", [("1", "2")], []),
    "is no line but the first": ("word string", "word\nhello\nword\n", [("hello",), ("word",)], []),
    "is no line after an empty one": ("word string", "\nword\n", [("word",)], [""]),
    "is not one cell of all names": ("a string, b string", '"a,b"\n1,2\n', [("1", "2")], ['"a,b"']),
    "has the names in their order": ("a string, b string", "b,a\n", [("b", "a")], []),
}


@pytest.mark.parametrize("mode", ["batch", "micro-batch"])
@pytest.mark.parametrize("case", HEADERS)
def test_a_header(case: str, mode: Any, tmp_path: Path, spark: SparkSession) -> None:  # noqa: ARG001
    schema, text, records, bad = HEADERS[case]
    (tmp_path / "in").mkdir()
    for name in ("one", "two"):  # both are read by one task
        (tmp_path / "in" / name).write_text(text, newline="")
    read = hr.read.files(tmp_path / "in", format="csv", schema=schema)
    good, dead = read.to.memory("good"), read.dead_letters.select("raw").to.memory("dead")
    hr.Job("header", good, dead, trigger=hr.once, checkpoint=tmp_path / "checkpoint").run(mode)
    assert _rows(good) == records * 2
    assert _rows(dead) == [(line.encode(),) for line in bad] * 2


def test_a_header_is_known_where_a_file_is_read_in_parts(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "in").write_text("word\n" * 1000)
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "999")
    try:
        read = hr.read.files(tmp_path / "in", format="csv", schema="word string").to.memory()
        hr.Job("parts", read).run("batch")
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", before or "128MB")
    assert _rows(read) == [("word",)] * 999


def test_a_file_that_is_older_than_those_read_before_is_read(tmp_path: Path, spark: SparkSession) -> None:  # noqa: ARG001
    read = hr.read.files(tmp_path / "in", format="text").to.memory()
    job = hr.Job("old", read, trigger=hr.once, checkpoint=tmp_path / "checkpoint")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "new").write_text("new\n")
    job.run()
    (tmp_path / "in" / "old").write_text("old\n")
    os.utime(tmp_path / "in" / "old", (1, 1))
    job.run()
    assert _rows(read) == [("new",), ("old",)]


# files by their age: the name, the numbers in it, and what makes it large
AGES = [("c", [1, 2], ""), ("b", [3], "x" * 1000), ("a", [4, 5], "x" * 100), ("d", [6], "")]


@pytest.mark.parametrize("mode", ["batch", "micro-batch"])
@pytest.mark.parametrize("format", ["json", "parquet"])
def test_the_records_of_a_key_come_from_the_oldest_file_first(format: Any, mode: Any, tmp_path: Path, spark: SparkSession) -> None:  # noqa: ARG001
    (tmp_path / "in").mkdir()
    for age, (name, numbers, pad) in enumerate(AGES):
        rows = [{"k": "a", "n": n, "pad": pad} for n in numbers]
        file = tmp_path / "in" / name
        if format == "parquet":
            parquet.write_table(Table.from_pylist(rows), file, compression="none")
        else:
            file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(file, (100 + age // 3, 100 + age // 3))  # the first three are of one time, so that their names count
    read = hr.read.files(tmp_path / "in", format=format, schema="k string, n bigint, pad string")
    before = read.key_by("k").with_features(before=hr.previous("n")).select("n", "before").to.memory()
    hr.Job("aged", before, trigger=hr.once, checkpoint=tmp_path / "checkpoint").run(mode)
    order = [4, 5, 3, 1, 2, 6]
    assert sorted(_rows(before)) == sorted(zip(order, [None, *order], strict=False))


SPELT: dict[str, Callable[[Path], str]] = {"a path": str, "a URI": Path.as_uri, "a short URI": "file:{}".format}


@pytest.mark.parametrize("spelt", SPELT)
class TestADirectoryToWriteTo:
    def test_that_has_files_is_not_added_to(self, spelt: str, tmp_path: Path, spark: SparkSession) -> None:  # noqa: ARG002
        job = hr.Job("twice", hr.read.memory("n int", [(1,)]).to.files(SPELT[spelt](tmp_path / "out")))
        job.run("batch")
        with pytest.raises(JobError) as refused:
            job.run("batch")
        assert "is not empty" in refused.value.what

    def test_of_another_checkpoint_is_refused(self, spelt: str, tmp_path: Path, spark: SparkSession) -> None:  # noqa: ARG002
        filed = hr.read.memory("n int", [(1,)]).to.files(SPELT[spelt](tmp_path / "out"))
        hr.Job("one", filed, trigger=hr.once, checkpoint=tmp_path / "one").run()
        with pytest.raises(JobError) as refused:
            hr.Job("two", filed, checkpoint=tmp_path / "two").start()
        assert "another checkpoint" in refused.value.what

    def test_is_no_file(self, spelt: str, tmp_path: Path, spark: SparkSession) -> None:  # noqa: ARG002
        (tmp_path / "out").write_text("")
        job = hr.Job("file", hr.read.memory("n int").to.files(SPELT[spelt](tmp_path / "out")), checkpoint=tmp_path / "checkpoint")
        for start in (lambda: job.run("batch"), job.start):
            with pytest.raises(JobError) as refused:
                start()
            assert "is a file, and a directory is needed" in refused.value.what

    def test_is_taken_again_by_a_job_that_stopped_before_its_first_batch(self, spelt: str, tmp_path: Path, spark: SparkSession) -> None:
        numbers = hr.read.memory("n int")
        filed = numbers.to.files(SPELT[spelt](tmp_path / "out"))
        job = hr.Job("early", filed, trigger=hr.once, checkpoint=tmp_path / "checkpoint")
        job.run()
        numbers.add([(1,)])
        job.run()
        assert spark.read.parquet(str(tmp_path / "out")).count() == 1


def test_a_place_that_cannot_be_looked_at_is_told(tmp_path: Path, spark: SparkSession) -> None:  # noqa: ARG001
    words = hr.read.memory("word string", [("a",)])
    with pytest.raises(JobError) as refused:
        hr.Job("nowhere", words.to.files("nosuch://place/out"), checkpoint=tmp_path).start()
    assert refused.value.what.startswith("nosuch://place/out cannot be looked at: No FileSystem for scheme")


@pytest.mark.parametrize("mode", ["batch", "micro-batch"])
def test_one_file_may_be_read(mode: Any, tmp_path: Path, spark: SparkSession) -> None:  # noqa: ARG001
    (tmp_path / "a.txt").write_text("a\n")
    (tmp_path / "b.txt").write_text("b\n")
    read = hr.read.files(tmp_path / "a.txt", format="text").to.memory()
    hr.Job("one", read, trigger=hr.once).run(mode)
    assert _rows(read) == [("a",)]


def test_files_to_read_may_be_named_by_a_pattern(tmp_path: Path, spark: SparkSession) -> None:  # noqa: ARG001
    (tmp_path / "a.txt").write_text("a\n")
    (tmp_path / "b.log").write_text("b\n")
    read = hr.read.files(tmp_path / "*.txt", format="text").to.memory()
    hr.Job("pattern", read).run("batch")
    assert _rows(read) == [("a",)]
    with pytest.raises(JobError) as refused:
        hr.Job("none", hr.read.files(tmp_path / "*.md", format="text").to.memory()).run("batch")
    assert refused.value.what == f"there is no {tmp_path}/*.md"
