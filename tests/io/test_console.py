"""Rows on the terminal, in every mode; and that a sink which shows some of them costs no others."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import headrace as hr

SHOWN = """\
+----+---+
|word|n  |
+----+---+
|a   |2  |
+----+---+
"""


@pytest.fixture
def counts(spark: SparkSession) -> hr.Stream:  # noqa: ARG001
    words = hr.read.memory("word string", [("a",), ("a",)])
    return words.key_by("word").agg(F.count("*").alias("n"))


def test_a_batch_is_shown(counts: hr.Stream, capsys: pytest.CaptureFixture[str]) -> None:
    hr.Job("shown", counts.to.console()).run("batch")
    assert SHOWN in capsys.readouterr().out


def test_a_micro_batch_is_shown_under_its_number(counts: hr.Stream, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = counts.to.console(name="all"), counts.where("n > 2").to.console(name="many")
    hr.Job("shown", *outputs, trigger=hr.once, checkpoint=tmp_path).run()
    shown = capsys.readouterr().out
    assert f"all, batch 0\n{SHOWN}" in shown
    assert shown.index("all, batch 0") < shown.index("many, batch 0")


def test_an_output_alone_is_shown_by_spark(counts: hr.Stream, tmp_path: Path) -> None:
    with hr.Job("alone", counts.to.console(), checkpoint=tmp_path).start() as running:
        running.process_all()
        (progress,) = running.progress()
    assert (progress.rows_in, progress.state_rows) == (2, 1)


def test_rows_that_are_not_shown_are_counted_all_the_same(tmp_path: Path, spark: SparkSession) -> None:  # noqa: ARG001
    words = hr.read.memory("word string")
    counts = words.key_by("word").agg(F.count("*").alias("n"))
    totals: list[int] = []

    def add_up(rows: DataFrame, _: int) -> None:
        totals.append(rows.agg(F.sum("n")).collect()[0][0])

    outputs = [counts.to.console(rows=1, name=name) for name in ("one", "two")]
    job = hr.Job("some", *outputs, trigger=hr.once, checkpoint=tmp_path)
    for _ in range(2):
        words.add([(str(number),) for number in range(50)])
        job.run()
    words.add([(str(number),) for number in range(50)])
    hr.Job("some", *outputs, counts.to.callback(add_up), trigger=hr.once, checkpoint=tmp_path).run()
    assert totals == [150]


def test_a_batch_is_computed_once_for_all_outputs(tmp_path: Path, spark: SparkSession) -> None:
    looked = spark.sparkContext.accumulator(0)

    def seen(word: str) -> str:
        looked.add(1)
        return word

    words = hr.read.memory("word string", [("a",), ("b",)]).select(F.udf(seen, "string", useArrow=False)("word").alias("word"))
    outputs = words.to.console(name="shown"), words.to.callback(lambda *_: None, name="called"), words.to.memory("kept")
    hr.Job("once", *outputs, trigger=hr.once, checkpoint=tmp_path).run()
    assert looked.value == 2
