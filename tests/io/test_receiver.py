"""A receiver's records are asked for by position: none twice, none left out, never more than fit, and the same again after a crash."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import headrace as hr
from headrace.errors import DefinitionError, JobError
from headrace.io.memory import MemorySink
from headrace.io.receiver import Receiver, _split


class Lines(Receiver):
    """The lines of a file: it can grow while a job runs."""

    schema = "number int, line string"

    def __init__(self, path: Path) -> None:
        self.path = path

    def name(self) -> str:
        return str(self.path)

    def end(self) -> int:
        return len(self.path.read_text().splitlines())

    def read(self, start: int, end: int) -> Iterable[tuple[Any, ...]]:
        return enumerate(self.path.read_text().splitlines()[start:end], start)


@pytest.mark.parametrize(
    ("start", "end", "tasks", "parts"),
    [
        (0, 0, 2, []),
        (0, 1, 2, [(0, 1)]),
        (0, 4, 2, [(0, 2), (2, 4)]),
        (3, 8, 2, [(3, 6), (6, 8)]),
        (0, 3, 8, [(0, 1), (1, 2), (2, 3)]),
    ],
)
def test_positions_are_split_in_order(start: int, end: int, tasks: int, parts: list[tuple[int, int]]) -> None:
    assert [(part.start, part.end) for part in _split(start, end, tasks)] == parts


def test_every_record_once_in_every_mode_and_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:  # noqa: ARG001
    file = tmp_path / "lines"
    file.write_text("a\nb\nc\nd\ne\n")
    output = hr.read.receiver(Lines(file), cap=2, tasks=2).to.memory()
    assert isinstance(output.sink, MemorySink)
    job = hr.Job("lines", output, trigger=hr.once, checkpoint=tmp_path / "checkpoint")
    job.run()
    assert [len(rows) for rows in output.sink.batches.values()] == [2, 2, 1]  # back-pressure
    with file.open("a") as more:
        more.write("f\n")
    job.run()
    streamed = output.sink.rows
    assert streamed == list(enumerate("abcdef"))
    job.run("batch")
    assert output.sink.rows == streamed


def test_a_batch_that_failed_is_read_again(spark: SparkSession, tmp_path: Path) -> None:  # noqa: ARG001
    file = tmp_path / "lines"
    file.write_text("a\nb\nc\n")
    seen: list[tuple[int, str]] = []

    def lines(rows: DataFrame, batch: int) -> None:
        seen.extend((batch, row.line) for row in rows.collect())
        if len(seen) == 3:
            raise ConnectionError("the database went away")

    output = hr.read.receiver(Lines(file), cap=2).to.callback(lines)
    job = hr.Job("lines", output, trigger=hr.once, checkpoint=tmp_path / "checkpoint")
    with pytest.raises(JobError):
        job.run()
    job.run()
    assert seen == [(0, "a"), (0, "b"), (1, "c"), (1, "c")]


def test_a_position_is_not_gone_on_from_in_another_log(spark: SparkSession, tmp_path: Path) -> None:  # noqa: ARG001
    for name, text in {"a": "1\n2\n", "b": "3\n4\n5\n"}.items():
        (tmp_path / name).write_text(text)

    def job(name: str) -> hr.Job:
        kept = hr.read.receiver(Lines(tmp_path / name)).to.memory()
        return hr.Job("lines", kept, trigger=hr.once, checkpoint=tmp_path / "checkpoint")

    job("a").run()
    with pytest.raises(JobError) as refused:
        job("b").run()
    assert f"it reads the receiver source whose name is {Lines(tmp_path / 'b').name()}, and read that of " in refused.value.what


def test_a_receiver_that_is_told_what_to_read_says_which_log_it_is(spark: SparkSession) -> None:  # noqa: ARG001
    class Numbers(Receiver):
        schema = "n int"

        def __init__(self, url: str) -> None:
            self.url = url

        def end(self) -> int:
            return 0

        def read(self, start: int, end: int) -> Iterable[tuple[Any, ...]]:
            return ((n,) for n in range(start, end))

    with pytest.raises(DefinitionError) as refused:
        hr.read.receiver(Numbers("http://localhost"))
    assert "Numbers has url, and a checkpoint would not know one such log from another" in refused.value.what
    assert "def name" in refused.value.fix


def test_an_error_of_the_receiver_is_told(spark: SparkSession, tmp_path: Path) -> None:  # noqa: ARG001
    lines = hr.read.receiver(Lines(tmp_path / "none"))
    with pytest.raises(JobError) as failed:
        hr.Job("lines", lines.to.memory(), trigger=hr.once, checkpoint=tmp_path / "checkpoint").run()
    assert "FileNotFoundError: [Errno 2] No such file or directory" in failed.value.what
