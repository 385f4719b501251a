"""A sink of one's own: what it is told when it is opened, which batches it gets, and what it may promise."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest
from pyspark.sql import DataFrame, SparkSession

import headrace as hr
from headrace.errors import DefinitionError, JobError, ModeError

pytestmark = pytest.mark.usefixtures("spark")

EXACTLY, AT_LEAST = hr.Guarantee.EXACTLY_ONCE, hr.Guarantee.AT_LEAST_ONCE


class Ledger(hr.Sink):
    """Rows by batch, in a list that outlives the run; it remembers which batch was the last."""

    kind = "ledger"
    modes: ClassVar = {"batch": AT_LEAST, "micro-batch": EXACTLY}

    def __init__(self, name: str = "ledger") -> None:
        self.name = name
        self.written: list[tuple[int, list[int]]] = []
        self.runs: list[hr.Run] = []
        self.closed = 0
        self.committed: int | None = -1
        self.failures = 0

    def open(self, run: hr.Run) -> hr.Writer:
        self.runs.append(run)
        return Page(self)


class Page(hr.Writer):
    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self.committed = ledger, ledger.committed

    def write(self, frame: DataFrame, batch: int) -> None:
        self._ledger.written.append((batch, sorted(row.n for row in frame.collect())))
        self._ledger.committed = self.committed = batch
        if self._ledger.failures:
            self._ledger.failures -= 1
            raise OSError("the power failed")

    def close(self) -> None:
        self._ledger.closed += 1


def numbers(*batches: list[tuple[int]]) -> hr.Stream:
    return hr.read.memory("n int", *batches)


def test_a_sink_is_opened_for_a_run_and_closed_after_it(tmp_path: Path) -> None:
    ledger = Ledger()
    job = hr.Job("kept", numbers([(1,), (2,)], [(3,)]).to.sink(ledger), trigger=hr.once, checkpoint=tmp_path)
    job.run()
    job.run()
    assert ledger.written == [(0, [1, 2]), (1, [3])]
    first, second = ledger.runs
    assert (first.job, first.output, first.mode, first.output_mode, first.guarantee) == ("kept", "ledger", "micro-batch", "append", EXACTLY)
    assert first.checkpoint == second.checkpoint != ""
    assert second.epoch > first.epoch
    assert (list(first.ends or ()), list(second.ends or ())) == ([-1], [1])
    assert first.over.is_set()
    assert ledger.closed == 2


def test_a_batch_run_is_one_batch() -> None:
    ledger = Ledger()
    hr.Job("all", numbers([(1,)], [(2,)]).to.sink(ledger)).run("batch")
    assert ledger.written == [(0, [1, 2])]
    assert (ledger.runs[0].mode, ledger.runs[0].ends, ledger.closed) == ("batch", None, 1)


def test_a_batch_that_the_sink_has_is_computed_and_not_written_again(tmp_path: Path) -> None:
    """It failed after it had written, and before Spark took note. The state must go on all the same: sums count every number once."""
    from pyspark.sql import functions as F

    ledger = Ledger()
    ledger.failures = 1
    totals = numbers([(1,), (2,)], [(4,)]).with_columns(k=F.lit("all")).key_by("k").agg(F.sum("n").cast("int").alias("n"))
    job = hr.Job("again", totals.to.sink(ledger), trigger=hr.once, checkpoint=tmp_path)
    with pytest.raises(JobError) as stopped:
        job.run()
    assert "the power failed" in stopped.value.what
    job.run()
    assert ledger.written == [(0, [3]), (1, [7])]


@pytest.mark.parametrize(("has", "words"), [(7, "skipped, or there twice"), (0, "missing there")])
def test_a_sink_that_has_come_to_another_batch_stops_the_job(has: int, words: str, tmp_path: Path) -> None:
    ledger, stream = Ledger(), numbers([(1,)], [(2,)], [(3,)])
    job = hr.Job("apart", stream.to.sink(ledger), trigger=hr.once, checkpoint=tmp_path)
    job.run()
    ledger.committed = has  # a backup was put back, of the one or of the other
    with pytest.raises(JobError) as refused:
        job.run()
    assert refused.value.what.startswith(f"ledger holds the batches up to {has}, and the job's checkpoint has come to 2")
    assert refused.value.what.endswith(words)
    assert str(refused.value.where).startswith(__file__)


def test_at_most_once_never_writes_a_batch_again(tmp_path: Path) -> None:
    ledger = Ledger()
    ledger.failures, ledger.committed = 1, None  # it does not know what it has

    def job() -> hr.Job:
        return hr.Job("lossy", stream.to.sink(ledger), trigger=hr.once, checkpoint=tmp_path, guarantee="at-most-once")

    stream = numbers([(1,)], [(2,)])
    with pytest.raises(JobError):
        job().run()
    ledger.committed = None
    job().run()
    assert ledger.written == [(0, [1]), (1, [2])]


def test_a_mode_that_a_sink_does_not_name_it_does_not_have(kafka: str, topic: object) -> None:
    with pytest.raises(ModeError) as refused:
        hr.Job("live", hr.read.kafka(topic()).select("partition").to.sink(Ledger())).start("real-time")  # type: ignore[operator]
    assert refused.value.what == "to.ledger: not in real-time mode, because it takes whole batches, not single rows"
    assert kafka


@pytest.mark.parametrize("wrong", [None, "ledger", Ledger, object()])
def test_what_is_no_sink_is_told(wrong: object) -> None:
    with pytest.raises(DefinitionError) as refused:
        numbers([(1,)]).to.sink(wrong)  # type: ignore[arg-type]
    assert "is no sink" in refused.value.what
    assert "class" in refused.value.fix


def test_another_start_has_another_checkpoint_if_the_old_one_is_gone(tmp_path: Path, spark: SparkSession) -> None:  # noqa: ARG001
    ledger = Ledger()
    for place in ("one", "two"):
        ledger.committed = -1
        hr.Job("anew", numbers([(1,)]).to.sink(ledger), trigger=hr.once, checkpoint=tmp_path / place).run()
    first, second = ledger.runs
    assert first.checkpoint != second.checkpoint
