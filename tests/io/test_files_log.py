"""A directory that a job writes files to has a log of its batches: what is in it, and no more, is what readers see."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.errors import JobError
from headrace.io.memory import MemorySink


def _read(spark: SparkSession, place: Path) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in spark.read.schema("k string, n int").json(str(place)).collect())


def _take_back_the_last_commit(checkpoint: Path) -> None:
    """As if the job had been killed after it wrote the batch, and before Spark took note of it."""
    (commits,) = checkpoint.glob("*/checkpoint/commits")
    last = max(int(file.name) for file in commits.iterdir() if file.name.isdigit())
    for file in (commits / str(last), commits / f".{last}.crc"):
        file.unlink(missing_ok=True)


@pytest.mark.parametrize("places", [["out"], ["out", "copy"]], ids=["one output", "two outputs"])
def test_a_keyed_batch_that_was_written_but_not_committed_is_not_written_again(
    places: list[str], tmp_path: Path, spark: SparkSession
) -> None:
    words = hr.read.memory("k string", [("a",)], [("a",), ("b",)])
    counted = words.key_by("k").with_features(n=hr.running(F.count("*"), inclusive=True))
    outputs = [counted.to.files(tmp_path / place, format="json") for place in places]
    job = hr.Job("counted", *outputs, trigger=hr.once, checkpoint=tmp_path / "checkpoint")
    job.run()
    _take_back_the_last_commit(tmp_path / "checkpoint")
    words.add([("a",)])
    job.run()
    for place in places:
        assert _read(spark, tmp_path / place) == [("a", 1), ("a", 2), ("a", 3), ("b", 1)]


def test_an_output_that_is_added_later_holds_the_rows_since_then(tmp_path: Path, spark: SparkSession) -> None:
    numbers = hr.read.memory("k string, n int")
    outputs = [numbers.to.memory()]
    for begin, end, place in [(0, 3, "early"), (3, 12, "late"), (12, 22, None)]:  # Spark's log is made short with every tenth batch
        for n in range(begin, end):
            numbers.add([("a", n)])
        hr.Job("grows", *outputs, trigger=hr.once, checkpoint=tmp_path / "checkpoint").run()
        if place is not None:
            outputs.append(numbers.to.files(tmp_path / place, format="json"))
    assert _read(spark, tmp_path / "early") == [("a", n) for n in range(3, 22)]
    assert _read(spark, tmp_path / "late") == [("a", n) for n in range(12, 22)]


def test_an_output_that_was_left_out_for_some_batches_is_refused(tmp_path: Path, spark: SparkSession) -> None:  # noqa: ARG001
    numbers = hr.read.memory("n int", [(1,)])
    kept, filed = numbers.to.memory(), numbers.to.files(tmp_path / "out")
    for outputs in [(kept, filed), (kept,)]:
        hr.Job("gap", *outputs, trigger=hr.once, checkpoint=tmp_path / "checkpoint").run()
        numbers.add([(2,)])
    with pytest.raises(JobError) as refused:
        hr.Job("gap", kept, filed, checkpoint=tmp_path / "checkpoint").start()
    assert refused.value.what == f"{tmp_path}/out holds the batches up to 0, and this job has come to 1: rows would be missing there"


def test_an_output_that_was_refused_is_not_taken_for_one_that_was_written(tmp_path: Path, spark: SparkSession) -> None:
    numbers = hr.read.memory("k string, n int", [("a", 1)])
    kept, filed = numbers.to.memory(), numbers.to.files(tmp_path / "out", format="json")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "other").write_text("")
    with pytest.raises(JobError):
        hr.Job("refused", kept, filed, checkpoint=tmp_path / "checkpoint").start()
    (tmp_path / "out" / "other").unlink()
    hr.Job("refused", filed, trigger=hr.once, checkpoint=tmp_path / "checkpoint").run()
    assert _read(spark, tmp_path / "out") == [("a", 1)]


def test_an_output_that_is_ahead_of_its_checkpoint_is_refused(tmp_path: Path, spark: SparkSession) -> None:  # noqa: ARG001
    numbers = hr.read.memory("n int", [(1,)], [(2,)], [(3,)])
    job = hr.Job("ahead", numbers.to.files(tmp_path / "out"), trigger=hr.once, checkpoint=tmp_path / "checkpoint")
    job.run()
    (place,) = (tmp_path / "checkpoint").glob("*/checkpoint")
    for file in [*place.glob("*/[12]"), *place.glob("*/.[12].crc")]:  # as an older copy of the checkpoint has it
        file.unlink()
    with pytest.raises(JobError) as refused:
        job.run()
    assert refused.value.what == f"{tmp_path}/out holds the batches up to 2, and this job has come to 0: rows would be missing there"


def test_a_relative_path_is_as_good_with_two_outputs_as_with_one(tmp_path: Path, spark: SparkSession) -> None:
    words = hr.read.memory("k string, n int", [("a", 1)])
    place = os.path.relpath(tmp_path / "out")
    hr.Job("relative", words.to.files(place, format="json"), words.to.memory(), trigger=hr.once, checkpoint=tmp_path / "checkpoint").run()
    assert _read(spark, tmp_path / "out") == [("a", 1)]


def test_an_option_may_be_a_number_or_a_truth_value(tmp_path: Path, spark: SparkSession) -> None:
    words = hr.read.memory("k string, n int", [("a", 1)])
    filed = words.to.files(tmp_path / "out", format="csv", options={"header": True, "maxRecordsPerFile": 1})
    hr.Job("options", filed, words.to.memory(), trigger=hr.once, checkpoint=tmp_path / "checkpoint").run()
    assert [row[0] for row in spark.read.text(str(tmp_path / "out")).collect()] == ["k,n", "a,1"]


def test_an_output_that_lacks_its_last_entry_is_refused_with_the_name_that_the_entry_has(tmp_path: Path) -> None:
    numbers = hr.read.memory("n int")
    job = hr.Job("behind", numbers.to.files(tmp_path / "out"), trigger=hr.once, checkpoint=tmp_path / "checkpoint")
    for n in range(10):
        numbers.add([(n,)])
    job.run()
    for name in ("9.compact", ".9.compact.crc"):
        (tmp_path / "out" / "_spark_metadata" / name).unlink()
    with pytest.raises(JobError) as refused:
        job.run()
    assert "if " + str(tmp_path / "out" / "_spark_metadata" / "9.compact") in refused.value.fix
    assert "the rows of batch 9 and of all before it" in refused.value.fix


def test_what_no_batch_has_committed_is_not_read_and_a_batch_makes_as_many_files_as_it_may(tmp_path: Path, spark: SparkSession) -> None:
    numbers, place = hr.read.memory("k string, n int", [(k, n) for k in "ab" for n in range(20)]), tmp_path / "out"
    spread = numbers.then(DataFrame.repartition, 4)
    output = spread.to.files(place, format="json", partition_by="k", files=1)
    hr.Job("few", output, trigger=hr.once, checkpoint=tmp_path / "checkpoint").run()
    assert [len(list((place / f"k={k}").glob("*.json"))) for k in "ab"] == [1, 1]
    (place / "k=a" / "part-of-a-batch-that-failed.json").write_text('{"n": 99}\n')
    assert _read(spark, place) == [(k, n) for k in "ab" for n in range(20)]


@pytest.mark.parametrize("mode", ["batch", "micro-batch"])
def test_a_job_that_reads_the_directory_of_another_sees_what_is_committed_and_no_more(mode: Any, tmp_path: Path) -> None:
    numbers, place = hr.read.memory("k string, n int", [("a", 1)]), tmp_path / "out"
    write = hr.Job("write", numbers.to.files(place, format="json"), trigger=hr.once, checkpoint=tmp_path / "written")
    read = hr.read.files(place, format="json", schema="k string, n int").to.memory()
    reader = hr.Job("read", read, trigger=hr.once, checkpoint=tmp_path / "read")
    for n in (2, 3):
        write.run()
        (place / f"part-of-a-batch-that-failed-{n}.json").write_text('{"k": "a", "n": 99}\n')
        reader.run(mode)
        numbers.add([("a", n)])
    assert isinstance(read.sink, MemorySink)
    assert sorted(tuple(row) for row in read.sink.rows) == [("a", 1), ("a", 2)]


def test_a_directory_that_is_left_can_be_merged_into_another_and_each_row_is_in_one(tmp_path: Path, spark: SparkSession) -> None:
    numbers = hr.read.memory("k string, n int")
    for n, place in enumerate(["old", "old", "old", "new", "new"]):
        numbers.add([("a", n)])
        hr.Job("moves", numbers.to.files(tmp_path / place, format="json", name="out"), trigger=hr.once, checkpoint=tmp_path / "job").run()
    old = hr.read.files(tmp_path / "old", format="json", schema="k string, n int")
    hr.Job("merge", old.to.files(tmp_path / "merged", format="json", files=1)).run("batch")
    assert len(list((tmp_path / "merged").glob("part-*"))) == 1
    assert _read(spark, tmp_path / "merged") == _read(spark, tmp_path / "old") == [("a", 0), ("a", 1), ("a", 2)]
    assert _read(spark, tmp_path / "new") == [("a", 3), ("a", 4)]
