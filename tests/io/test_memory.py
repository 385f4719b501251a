"""Rows of the program's own: they fit their schema, and nothing of them outlives what they were given to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.embedded import places
from headrace.errors import DefinitionError
from headrace.io.memory import MemorySink
from headrace.planning.recipe import Output
from headrace.planning.table import Mode

# a row that is none of (who string, amount double), and what is said of it
UNFIT: dict[str, tuple[Any, str]] = {
    "a misspelt name": ({"who": "ann", "amuont": 1.0}, "a row has 'amuont'"),
    "a value too few": (("ann",), "a row is ('ann',)"),
    "no row": ("ann", "a row is 'ann'"),
    "another type": (("ann", "much"), "Could not convert 'much'"),
}


@pytest.mark.parametrize("case", UNFIT)
def test_a_row_that_does_not_fit_is_refused_where_it_is_given(case: str, spark: SparkSession) -> None:  # noqa: ARG001
    row, what = UNFIT[case]
    with pytest.raises(DefinitionError) as refused:
        hr.read.memory("who string, amount double", [("bob", 2.0), row])
    assert what in refused.value.what
    assert refused.value.what.endswith("the columns are who:string,amount:double")
    assert (refused.value.where or "").startswith(__file__)


BATCHES: dict[str, list[list[tuple[int]]]] = {
    "between others": [[(1,), (2,)], [], [(3,), (4,)]],
    "first": [[], [(1,)], [], [], [(2,)]],
    "last": [[(1,)], []],
    "alone": [[]],
}


@pytest.mark.parametrize("mode", ["batch", "micro-batch"])
@pytest.mark.parametrize("case", BATCHES)
def test_a_batch_without_rows_does_not_end_the_rest(case: str, mode: Mode, spark: SparkSession) -> None:  # noqa: ARG001
    rows = [row for batch in BATCHES[case] for row in batch]
    given, added = hr.read.memory("n int", *BATCHES[case]), hr.read.memory("n int")
    for batch in BATCHES[case]:
        added.add(batch)
    for numbers in (given, added):
        kept = numbers.to.memory()
        hr.Job("empty", kept, trigger=hr.once).run(mode)
        assert _rows(kept) == rows


# the modes in which a job is run, a row being added before each run, and what its output holds at last
RUNS: dict[str, tuple[list[Mode], list[int]]] = {
    "a batch between micro-batches": (["micro-batch", "batch", "micro-batch"], [1, 2, 3]),
    "a batch before them": (["batch", "micro-batch", "micro-batch"], [1, 2, 3]),
    "a batch after them": (["micro-batch", "micro-batch", "batch"], [1, 2, 3]),
    "batches only": (["batch", "batch"], [1, 2]),
}


@pytest.mark.parametrize("case", RUNS)
def test_an_output_holds_every_row_once_whatever_modes_wrote_it(case: str, spark: SparkSession) -> None:  # noqa: ARG001
    modes, rows = RUNS[case]
    numbers = hr.read.memory("n int")
    kept = numbers.to.memory()
    for number, mode in enumerate(modes, start=1):
        numbers.add([(number,)])
        hr.Job("mixed", kept, trigger=hr.once).run(mode)
    assert [row for (row,) in _rows(kept)] == rows


def test_a_batch_run_leaves_no_row_that_only_a_micro_batch_gave(spark: SparkSession) -> None:  # noqa: ARG001
    numbers = hr.read.memory("n int", [(1,)], [(2,)])
    totals = numbers.then(lambda df: df.groupBy().sum("n")).to.memory()
    job = hr.Job("totals", totals, trigger=hr.once)
    job.run("micro-batch")
    assert _rows(totals) == [(1,), (3,)]
    job.run("batch")
    assert _rows(totals) == [(3,)]
    job.run("micro-batch")  # nothing is new, but what is held is the micro-batches' again
    assert _rows(totals) == [(1,), (3,)]


def test_an_output_that_another_job_writes_to_begins_anew(spark: SparkSession) -> None:  # noqa: ARG001
    numbers = hr.read.memory("n int", [(1,)], [(2,)])
    kept = numbers.to.memory()
    for name in ("one", "other"):
        hr.Job(name, kept, trigger=hr.once).run()
        assert _rows(kept) == [(1,), (2,)]


def test_a_name_that_a_row_leaves_out_is_null(spark: SparkSession) -> None:  # noqa: ARG001
    kept = hr.read.memory("who string, amount double", [{"who": "ann"}]).to.memory()
    hr.Job("null", kept).run("batch")
    assert _rows(kept) == [("ann", None)]


def _rows(output: Output) -> list[tuple[Any, ...]]:
    assert isinstance(output.sink, MemorySink)
    return [tuple(row) for row in output.sink.rows]


def _from_memory(folder: Path) -> tuple[Output, ...]:  # noqa: ARG001
    numbers = hr.read.memory("value string", [("a",)])
    return numbers.to.memory(), numbers.to.callback(lambda rows, batch: None)  # noqa: ARG005


def _to_memory(folder: Path) -> tuple[Output, ...]:
    return (hr.read.files(folder, format="text").to.memory(),)


@pytest.mark.parametrize("define", [_from_memory, _to_memory])
def test_a_program_that_is_run_again_starts_anew_and_leaves_no_checkpoint(
    define: Callable[[Path], tuple[Output, ...]], tmp_path: Path, spark: SparkSession
) -> None:
    del spark
    (tmp_path / "lines").write_text("a\n")
    for _ in range(2):
        outputs = define(tmp_path)
        job = hr.Job("again", *outputs, trigger=hr.once)
        job.run()
        assert _rows(outputs[0]) == [("a",)]
        job.run()  # the same job goes on where it was
        assert _rows(outputs[0]) == [("a",)]
    assert not (places.data() / "jobs" / "again").exists()


def test_what_is_written_elsewhere_too_keeps_its_checkpoint(tmp_path: Path, spark: SparkSession) -> None:  # noqa: ARG001
    (tmp_path / "lines").write_text("a\n")
    read = hr.read.files(tmp_path / "lines", format="text")
    hr.Job("lasting", read.to.memory(), read.to.files(tmp_path / "out"), trigger=hr.once).run()
    assert (places.data() / "jobs" / "lasting").exists()
