"""A look at a stream: rows of a batch, or of a short run where there is no batch; and nothing remains of it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.window import Window

import headrace as hr
from headrace.embedded import places
from headrace.errors import DefinitionError, JobError, ModeError
from headrace.fronts.stream import Stream
from headrace.io.receiver import Receiver

AT = datetime(2026, 1, 1, 10, tzinfo=UTC)


def _remains(spark: SparkSession) -> tuple[list[str], list[Path], list[Path]]:
    """Queries, directories of a look, and checkpoints of jobs."""
    jobs = places.data() / "jobs"
    return (
        [str(query.name) for query in spark.streams.active],
        list(Path(tempfile.gettempdir()).glob("headrace-look-*")),
        sorted(jobs.iterdir()) if jobs.exists() else [],
    )


@pytest.fixture(autouse=True)
def _nothing_remains(spark: SparkSession) -> Iterator[None]:
    before = _remains(spark)
    yield
    assert _remains(spark) == before


@pytest.fixture
def payments() -> Stream:
    return hr.read.memory("customer string, amount double", [("ann", 1.5), ("bob", 2.0)], [("ann", None)])


class Squares(Receiver):
    schema = "n int, square int"

    def end(self) -> int:
        return 1_000

    def read(self, start: int, end: int) -> Iterable[tuple[int, int]]:
        return ((n, n * n) for n in range(start, end))


def _latest_totals(stream: Stream) -> Stream:
    return stream.key_by("customer").agg(F.count("*").alias("n"))


def _distinct(frame: DataFrame) -> DataFrame:
    return frame.withColumn("at", F.lit(AT)).withWatermark("at", "1 hour").dropDuplicatesWithinWatermark(["customer"])


class TestHead:
    def test_gives_the_first_rows_of_a_batch(self, payments: Stream) -> None:
        assert payments.head(2) == [Row(customer="ann", amount=1.5), Row(customer="bob", amount=2.0)]

    def test_gives_all_if_there_are_fewer(self, payments: Stream) -> None:
        assert len(payments.head(20)) == 3

    def test_gives_no_row_of_a_stream_without_any(self) -> None:
        assert hr.read.memory("n int").head() == []

    def test_sees_what_has_come_since_the_last_look(self) -> None:
        numbers = hr.read.memory("n int", [(1,)])
        numbers.head()
        numbers.add([(2,)])
        assert [row.n for row in numbers.head()] == [1, 2]

    def test_of_a_stream_with_state_is_what_a_batch_gives(self, payments: Stream) -> None:
        assert sorted(_latest_totals(payments).head()) == [Row(customer="ann", n=2), Row(customer="bob", n=1)]

    def test_of_a_receiver_ends(self) -> None:
        assert [row.square for row in hr.read.receiver(Squares()).head(3)] == [0, 1, 4]

    def test_of_a_topic_reads_what_it_has(self, kafka: str, topic: Callable[..., str]) -> None:
        name = topic(partitions=2)
        producer = Producer({"bootstrap.servers": kafka})
        for n in range(4):
            producer.produce(name, f'{{"n": {n}}}', partition=n % 2)
        producer.flush()
        numbers = hr.read.kafka(name, schema="n int not null")
        assert sorted(row.n for row in numbers.head(10)) == [0, 1, 2, 3]
        assert len(numbers.head(1)) == 1
        assert hr.read.kafka(name, start="latest").head() == []

    def test_of_a_source_without_an_end_waits_until_there_are_enough(self) -> None:
        assert len({row.value for row in hr.read.rate(100).head(3, seconds=120)}) == 3

    def test_of_a_source_without_an_end_waits_no_longer_than_asked(self) -> None:
        assert hr.read.rate().where("value < 0").head(1, seconds=0.1) == []

    def test_of_what_only_streams_have_runs_to_its_end(self, payments: Stream) -> None:
        assert sorted(row.customer for row in payments.then(_distinct).head(seconds=0.1)) == ["ann", "bob"]


class TestPandas:
    def test_has_times_in_utc_and_nulls(self) -> None:
        frame = hr.read.memory("n int, at timestamp", [(1, AT), (2, None)]).to_pandas()
        assert list(frame.n) == [1, 2]
        assert frame["at"][0].isoformat() == "2026-01-01T10:00:00"
        assert frame["at"].isna().tolist() == [False, True]

    def test_has_no_more_rows_than_asked_for(self, payments: Stream) -> None:
        assert payments.to_pandas(2).shape == (2, 2)


class TestShow:
    def test_prints_a_table(self, payments: Stream, capsys: pytest.CaptureFixture[str]) -> None:
        payments.show()
        lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
        assert lines == [
            "customer   amount",
            "─────────────────",
            "ann           1.5",
            "bob           2.0",
            "ann          null",
            "3 rows",
        ]

    def test_says_that_there_may_be_more(self, payments: Stream, capsys: pytest.CaptureFixture[str]) -> None:
        payments.show(1)
        assert "the first 1 row; there may be more" in capsys.readouterr().out

    def test_prints_text_as_text_and_other_bytes_in_hex(self, capsys: pytest.CaptureFixture[str]) -> None:
        hr.read.memory("value binary, at timestamp", [(b"one\ntwo", AT), (b"\xff\x00", None)]).show()
        out = capsys.readouterr().out
        assert "one\\ntwo   2026-01-01 10:00:00" in out
        assert "0xFF00" in out

    def test_prints_nothing_that_would_do_something_to_a_terminal(self, capsys: pytest.CaptureFixture[str]) -> None:
        hr.read.memory("text string", [("\x1b[2Jgrüezi",)]).show()
        assert "\\x1b[2Jgrüezi" in capsys.readouterr().out

    def test_cuts_no_column_where_nobody_has_a_terminal(self, capsys: pytest.CaptureFixture[str]) -> None:
        names = [f"column_{n:02}" for n in range(20)]
        hr.read.memory(", ".join(f"{name} int" for name in names), [(123456789,) * 20]).show()
        out = capsys.readouterr().out
        assert all(name in out for name in names)
        assert out.count("123456789") == 20

    def test_of_records_that_are_all_bad_says_where_they_are(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "bad.json").write_text("nonsense\n")
        hr.read.files(tmp_path, format="json", schema="n int not null").show()
        assert "no rows; what could not be decoded is in .dead_letters" in capsys.readouterr().out


class TestRefused:
    def test_a_number_of_rows_that_is_none(self, payments: Stream) -> None:
        with pytest.raises(DefinitionError) as refused:
            payments.head(0)
        assert (refused.value.what, refused.value.fix) == ("n=0 is no whole number from 1 on", "give n=1 or more")
        assert str(refused.value.where).startswith(__file__)

    def test_a_time_that_is_none(self, payments: Stream) -> None:
        with pytest.raises(DefinitionError) as refused:
            payments.head(seconds=0)
        assert refused.value.what == "seconds=0 is no time"

    def test_a_topic_that_is_not_there(self, topic: Callable[..., str]) -> None:
        name = topic()
        with pytest.raises(JobError) as refused:
            hr.read.kafka(f"{name}x").head()
        assert f"topic '{name}x' does not exist" in refused.value.what
        assert name in refused.value.fix

    def test_a_value_that_cannot_be_computed(self, payments: Stream) -> None:
        with pytest.raises(JobError) as refused:
            payments.with_columns(inverse=1 / F.col("amount") * 0 / 0).head()
        assert refused.value.what.startswith("there are no rows to show: Division by zero")
        assert "Spark's log" in refused.value.fix
        assert str(refused.value.where).startswith(__file__)

    def test_what_neither_a_batch_nor_a_stream_has(self) -> None:
        def numbered(frame: DataFrame) -> DataFrame:
            return frame.withColumn("n", F.row_number().over(Window.orderBy("value")))

        with pytest.raises(ModeError) as refused:
            hr.read.rate().then(numbered).head()
        assert "not in micro-batch mode" in refused.value.what
