"""A job gives the same rows in batch and in micro-batch, goes on where it was, and refuses what it cannot do before it starts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.errors import JobError, ModeError
from headrace.fronts.stream import Stream
from headrace.io.memory import MemorySink
from headrace.ops.features import Feature
from headrace.planning.recipe import Output
from headrace.planning.table import Mode


@pytest.fixture
def words(spark: SparkSession) -> Stream:  # noqa: ARG001
    return hr.read.memory("word string", [("a",), ("b",)], [("a",)])


def _rows(output: Output) -> list[tuple[object, ...]]:
    assert isinstance(output.sink, MemorySink)
    return [tuple(row) for row in output.sink.rows]


def test_a_job_goes_on_where_it_was(words: Stream, tmp_path: Path) -> None:
    counted = words.key_by("word").agg(F.count("*").alias("n")).to.memory()
    job = hr.Job("counts", counted, trigger=hr.once, checkpoint=tmp_path)
    job.run()
    assert sorted(_rows(counted)) == [("a", 1), ("a", 2), ("b", 1)]
    words.add([("b",)])  # type: ignore[attr-defined]
    job.run()
    assert _rows(counted)[-1] == ("b", 2)
    job.run("batch")
    assert sorted(_rows(counted)) == [("a", 2), ("b", 2)]


def test_outputs_of_one_query_all_get_every_row(words: Stream, tmp_path: Path, spark: SparkSession) -> None:
    calls: list[int] = []

    def seen(_: DataFrame, batch: int) -> None:  # looks at no row: the batch must be computed all the same
        calls.append(batch)

    kept, filed = words.to.memory(), words.where("word = 'a'").to.files(tmp_path / "files", format="json")
    job = hr.Job("three", kept, filed, words.to.callback(seen), trigger=hr.once, checkpoint=tmp_path / "checkpoint")
    job.run()
    assert _rows(kept) == [("a",), ("b",), ("a",)]
    assert spark.read.json(str(tmp_path / "files")).count() == 2
    assert calls == [0, 1]


def test_files_of_a_repeated_batch_are_not_written_again(words: Stream, tmp_path: Path, spark: SparkSession) -> None:
    filed = words.to.files(tmp_path / "files", format="json")
    frame = spark.createDataFrame([("a",)], "word string")
    for _ in range(2):
        filed.sink.open(hr.Run("files", filed.name, "micro-batch")).write(frame, 0)
    assert spark.read.json(str(tmp_path / "files")).count() == 1


def test_a_callback_that_fails_stops_the_job_with_its_words(words: Stream, tmp_path: Path) -> None:
    def broken(_: DataFrame, batch: int) -> None:
        raise ValueError(f"no room for batch {batch}")

    with pytest.raises(JobError) as failed:
        hr.Job("broken", words.to.callback(broken), trigger=hr.once, checkpoint=tmp_path).run()
    assert "job 'broken' stopped at callback-broken" in failed.value.what
    assert "ValueError: no room for batch 0" in failed.value.what
    assert isinstance(failed.value.__cause__, ValueError)


def test_a_callback_that_fails_with_many_words_stops_the_job_all_the_same(words: Stream, tmp_path: Path) -> None:
    def broken(*_: object) -> None:
        raise ValueError("far too long " * 10_000)

    with pytest.raises(JobError):
        hr.Job("long", words.to.callback(broken), trigger=hr.once, checkpoint=tmp_path).run()


def test_leaving_a_job_that_has_failed_tells_so(words: Stream, tmp_path: Path) -> None:
    failing = words.select(F.raise_error("broken").alias("x")).to.memory()
    running = hr.Job("left", failing, checkpoint=tmp_path).start()
    while running.active:
        pass
    with pytest.raises(JobError) as failed, running:
        pass
    assert "broken" in failed.value.what


def test_a_failure_while_running_is_told_in_one_line(spark: SparkSession, tmp_path: Path) -> None:  # noqa: ARG001
    numbers = hr.read.memory("n int", [(0,)]).select((1 / F.col("n")).alias("inverse")).to.memory()
    for mode in ("batch", "micro-batch"):
        with pytest.raises(JobError) as failed:
            hr.Job("inverse", numbers, trigger=hr.once, checkpoint=tmp_path).run(mode)  # type: ignore[arg-type]
        assert "Division by zero" in failed.value.what
        assert "\n" not in failed.value.what
        assert failed.value.where is not None
        assert failed.value.where.startswith(__file__)


def test_a_job_that_runs_can_be_watched_and_stopped(words: Stream, tmp_path: Path) -> None:
    counted = words.key_by("word").agg(F.count("*").alias("n")).to.memory("totals")
    with hr.Job("watched", counted, checkpoint=tmp_path).start() as running:
        running.process_all()
        (progress,) = running.progress()
        assert not running.wait(0.2)
    assert not running.active
    assert running.wait()
    assert (progress.job, progress.query, progress.rows_in, progress.state_rows) == ("watched", "totals", 1, 2)
    assert '"query": "totals"' in progress.json()


def test_every_batch_is_told_once(words: Stream, tmp_path: Path) -> None:
    with hr.Job("told", words.to.memory(), trigger=hr.once, checkpoint=tmp_path).start() as running:
        running.wait()
        assert [progress.batch for progress in running.news()] == [0, 1]
        assert running.news() == []


def test_a_batch_cannot_be_left_running(words: Stream) -> None:
    with pytest.raises(ModeError) as refused:
        hr.Job("j", words.to.memory()).start("batch")
    assert refused.value.fix == 'job.run("batch")'


def test_a_table_that_is_gone_when_the_job_starts_is_told_in_words(words: Stream, spark: SparkSession, tmp_path: Path) -> None:
    spark.createDataFrame([("a", 1)], "word string, n int").createOrReplaceTempView("gone")
    joined = words.join("gone", "word").to.memory()
    spark.catalog.dropTempView("gone")
    with pytest.raises(JobError) as refused:
        hr.Job("joined", joined, checkpoint=tmp_path).start()
    assert "job 'joined' stopped at memory: The table or view `gone` cannot be found" in refused.value.what


def test_an_interval_may_be_in_any_unit(words: Stream, tmp_path: Path) -> None:
    kept = words.to.memory()
    with hr.Job("often", kept, trigger=hr.every("0.01 minutes"), checkpoint=tmp_path).start() as running:
        running.process_all()
    assert len(_rows(kept)) == 3


class TestCheckpoint:
    def test_of_another_job_is_refused(self, words: Stream, tmp_path: Path) -> None:
        hr.Job("mine", words.to.memory(), trigger=hr.once, checkpoint=tmp_path).run()
        with pytest.raises(JobError) as refused:
            hr.Job("yours", words.to.memory(), checkpoint=tmp_path).start()
        assert refused.value.what.endswith("is that of the job 'mine', and not of 'yours'")
        assert "another name" in refused.value.fix

    def test_of_another_source_is_refused(self, words: Stream, tmp_path: Path) -> None:
        hr.Job("mine", words.to.memory(), trigger=hr.once, checkpoint=tmp_path).run()
        with pytest.raises(JobError) as refused:
            hr.Job("mine", hr.read.memory("word string").to.memory(), checkpoint=tmp_path).start()
        assert "it reads the memory source whose directory is " in refused.value.what

    def test_with_another_key_is_refused(self, spark: SparkSession, tmp_path: Path) -> None:  # noqa: ARG002
        pairs = hr.read.memory("a string, b string")
        for key in ("a", "b"):
            job = hr.Job("keyed", pairs.key_by(key).agg(F.count("*").alias("n")).to.memory(), trigger=hr.once, checkpoint=tmp_path)
            if key == "a":
                job.run()
        with pytest.raises(JobError) as refused:
            job.run()
        assert "agg is keyed by b string, and was by a string" in refused.value.what

    def test_goes_on_when_only_names_of_results_change(self, words: Stream, tmp_path: Path) -> None:
        for name in ("n", "total"):
            counted = words.key_by("word").agg(F.count("*").alias(name)).to.memory()
            hr.Job("named", counted, trigger=hr.once, checkpoint=tmp_path).run()
        assert _rows(counted) == []

    def test_with_other_features_is_refused_and_one_that_means_something_else_is_another_by_its_name(
        self, spark: SparkSession, tmp_path: Path  # noqa: ARG002
    ) -> None:  # fmt: skip
        payments = hr.read.memory("who string, amount int", [("ann", 1)])

        def job(**features: Feature) -> hr.Job:
            return hr.Job("features", payments.key_by("who").with_features(**features).to.memory(), trigger=hr.once, checkpoint=tmp_path)

        job(largest=hr.running(F.max("amount"))).run()
        changed = {"is gone": {"smallest": hr.running(F.min("amount"))}, "keeps ": {"largest": hr.running(F.avg("amount"))}}
        for how, others in changed.items():
            with pytest.raises(JobError) as refused:
                job(**others).run()
            assert f"with_features: the feature 'largest' {how}" in refused.value.what
        job(largest=hr.running(F.max(F.col("amount") * 1))).run()  # the same fields and types: what is in them is the program's to know

    def test_is_not_left_by_an_output_that_goes_on_alone(self, words: Stream, tmp_path: Path) -> None:
        one, two = words.to.memory("one"), words.to.memory("two")
        hr.Job("shared", one, two, trigger=hr.once, checkpoint=tmp_path).run()
        with pytest.raises(JobError) as refused:
            hr.Job("shared", two, checkpoint=tmp_path).start()
        assert refused.value.what == "output two shared the query of one, and now has one of its own: it would skip or repeat records"

    def test_is_not_joined_by_an_output_that_went_alone(self, words: Stream, tmp_path: Path) -> None:
        one, two = words.to.memory("one"), words.to.memory("two")
        hr.Job("alone", two, trigger=hr.once, checkpoint=tmp_path).run()
        with pytest.raises(JobError) as refused:
            hr.Job("alone", one, two, checkpoint=tmp_path).start()
        assert "output two had a query of its own, and now shares that of one" in refused.value.what

    def test_takes_an_output_that_is_new(self, words: Stream, tmp_path: Path) -> None:
        one, two = words.to.memory("one"), words.to.memory("two")
        hr.Job("grown", one, trigger=hr.once, checkpoint=tmp_path).run()
        words.add([("c",)])  # type: ignore[attr-defined]
        hr.Job("grown", one, two, trigger=hr.once, checkpoint=tmp_path).run()
        assert (len(_rows(one)), _rows(two)) == (4, [("c",)])

    def test_whose_note_is_damaged_is_refused_with_the_file_and_the_way_on(self, words: Stream, tmp_path: Path) -> None:
        job, note = hr.Job("mine", words.to.memory(), trigger=hr.once, checkpoint=tmp_path), tmp_path / "memory" / "job.json"
        job.run()
        whole = note.read_text()
        for text in ("", '{"job": "mi', "[]", "\udcff", whole.replace('"mine"', '"nine"'), None):
            note.unlink() if text is None else note.write_text(text, errors="surrogateescape")
            with pytest.raises(JobError) as refused:
                job.start()
            assert refused.value.what.startswith(f"{note} is {'gone' if text is None else 'damaged'}")
            assert "write {} into it to go on" in refused.value.fix
        note.write_text("{}")
        job.run()
        assert json.loads(note.read_text())["job"] == "mine"

    def test_that_was_not_used_yet_may_have_a_damaged_note(self, words: Stream, tmp_path: Path) -> None:
        note = tmp_path / "memory" / "job.json"
        note.parent.mkdir()
        note.write_text("")
        hr.Job("mine", words.to.memory(), trigger=hr.once, checkpoint=tmp_path).run()
        assert json.loads(note.read_text())["job"] == "mine"

    def test_has_a_note_that_is_replaced_as_a_whole(self, words: Stream, tmp_path: Path) -> None:
        one, two, note = words.to.memory("one"), words.to.memory("two"), tmp_path / "one" / "job.json"
        hr.Job("grown", one, trigger=hr.once, checkpoint=tmp_path).run()
        before = tmp_path / "before.json"
        before.hardlink_to(note)  # what is written into the file itself is seen here, too
        hr.Job("grown", one, two, trigger=hr.once, checkpoint=tmp_path).run()
        hr.Job("grown", one, two, trigger=hr.once, checkpoint=tmp_path).run()
        assert [json.loads(found.read_text())["outputs"] for found in (before, note)] == [["one"], ["one", "two"]]

    @pytest.mark.parametrize("place", ["/proc/none", "a:b:c", "unknown://host/directory"])
    def test_in_a_place_that_there_is_not_is_refused(self, place: str, words: Stream) -> None:
        with pytest.raises(JobError) as refused:
            hr.Job("j", words.to.memory(), checkpoint=place).start()
        assert refused.value.what.startswith(f"the checkpoint directory {place} cannot be used: ")
        assert "checkpoint=" in refused.value.fix

    def test_in_a_place_that_cannot_be_written_is_refused(self, words: Stream, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(JobError) as refused:
            hr.Job("j", words.to.memory(), checkpoint=tmp_path / "file").start()
        assert f"{tmp_path}/file cannot be used" in refused.value.what
        assert "checkpoint=" in refused.value.fix


def _decoded(s: Stream) -> Stream:
    return s.decode("word", schema="n int not null")


# what becomes of the decoded records -> whether bad ones are gone
DECODED: dict[str, tuple[Callable[[Stream], list[Output]], bool]] = {
    "no output takes them": (lambda s: [_decoded(s).to.memory()], True),
    "nor after more steps": (lambda s: [_decoded(s).where("n > 0").key_by("n").agg(F.count("*")).to.memory()], True),
    "those of another stream are taken": (lambda s: [_decoded(s).to.memory(), _decoded(s).dead_letters.to.memory("bad")], True),
    "an output takes them": (lambda s: [(d := _decoded(s)).to.memory(), d.dead_letters.where("true").to.memory("bad")], False),
    "they are united with the others": (
        lambda s: [(d := _decoded(s)).select("n").union(d.dead_letters.select(F.lit(0).alias("n"))).to.memory()],
        False,
    ),
    "there are none": (lambda s: [s.decode("word", format="raw").to.memory()], False),
}


@pytest.mark.parametrize("mode", ["batch", "micro-batch"])
@pytest.mark.parametrize("case", DECODED)
def test_bad_records_are_not_dropped_without_a_word(
    case: str, mode: Mode, words: Stream, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    build, dropped = DECODED[case]
    hr.Job("decoded", *build(words), trigger=hr.once, checkpoint=tmp_path).run(mode)
    said = [message for message in caplog.messages if message.startswith("job 'decoded' drops the records that cannot be decoded of")]
    assert len(said) == dropped
    assert all(__file__ in message and ".dead_letters" in message for message in said)


class TestFiles:
    def test_of_a_batch_are_not_written_over(self, words: Stream, tmp_path: Path, spark: SparkSession) -> None:
        job = hr.Job("files", words.to.files(tmp_path / "out"))
        job.run("batch")
        with pytest.raises(JobError) as refused:
            job.run("batch")
        assert "is not empty" in refused.value.what
        hr.Job("files", words.to.files(tmp_path / "out", replace=True)).run("batch")
        assert spark.read.parquet(str(tmp_path / "out")).count() == 3

    def test_of_another_checkpoint_are_not_mixed(self, words: Stream, tmp_path: Path) -> None:
        filed = words.to.files(tmp_path / "out")
        hr.Job("one", filed, trigger=hr.once, checkpoint=tmp_path / "one").run()
        with pytest.raises(JobError) as refused:
            hr.Job("two", filed, checkpoint=tmp_path / "two").start()
        assert "another checkpoint" in refused.value.what

    def test_of_no_job_are_not_hidden(self, words: Stream, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "note.txt").write_text("mine")
        with pytest.raises(JobError) as refused:
            hr.Job("j", words.to.files(tmp_path / "out"), checkpoint=tmp_path / "c").start()
        assert "no streaming job wrote" in refused.value.what

    @pytest.mark.parametrize("mode", ["batch", "micro-batch"])
    @pytest.mark.parametrize(
        ("place", "named"),
        [("/proc/out", "/proc/out"), ("{tmp}/file/out", "{tmp}/file")],
        ids=["not writable, not even for root", "below a file"],
    )
    def test_that_cannot_be_written_stop_the_job_with_the_place(
        self, place: str, named: str, mode: Mode, words: Stream, tmp_path: Path
    ) -> None:
        (tmp_path / "file").touch()
        filed = words.to.files(place.format(tmp=tmp_path))
        with pytest.raises(JobError) as failed:
            hr.Job("files", filed, trigger=hr.once, checkpoint=tmp_path / "checkpoint").run(mode)
        assert f"job 'files' stopped at {filed.name}: " in failed.value.what
        assert named.format(tmp=tmp_path) in failed.value.what
        assert failed.value.fix.startswith("make the directory that is named writable")

    def test_that_are_missing_are_an_error_before_the_start(self, spark: SparkSession, tmp_path: Path) -> None:  # noqa: ARG002
        lines = hr.read.files(tmp_path / "none", format="json", schema="n int")
        with pytest.raises(JobError) as refused:
            hr.Job("j", lines.to.memory(), checkpoint=tmp_path).start()
        assert str(tmp_path / "none") in refused.value.what


def test_once_ends_although_alarms_go_by_the_clock(tmp_path: Path) -> None:
    words = hr.read.memory("word string", [("a",), ("a",)])
    counted = words.key_by("word").scan(
        state={"n": F.lit(0)}, update={"n": F.col("state.n") + 1}, output=["word", (F.col("state.n") + 1).alias("n")], idle="1 hour"
    )
    result = counted.to.memory()
    hr.Job("counts", result, trigger=hr.once, checkpoint=tmp_path).run()
    assert _rows(result) == [("a", 1), ("a", 2)]
