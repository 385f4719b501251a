"""Kafka both ways, on a real broker."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.errors import JobError, ModeError
from headrace.io.kafka.connector import KafkaSource
from headrace.io.memory import MemorySink
from headrace.planning.recipe import Output
from headrace.run.reports.progress import Progress
from headrace.run.running import Running

pytestmark = pytest.mark.usefixtures("spark")
Topic = Callable[..., str]


def send(kafka: str, topic: str, values: Iterable[str], *, partition: int = 0) -> None:
    producer = Producer({"bootstrap.servers": kafka, "log_level": 0})
    for value in values:
        producer.produce(topic, value, partition=partition)
    producer.flush()


def received(kafka: str, topic: str, count: int) -> list[tuple[str | None, Any]]:
    """The first `count` records of a topic of one partition, as they come."""
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "test", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    records: list[tuple[str | None, Any]] = []
    while len(records) < count:
        message = consumer.poll(60)
        assert message is not None, f"only {records} came"
        assert message.error() is None
        records.append((message.key() and message.key().decode(), json.loads(message.value())))
    consumer.close()
    return records


def rows(output: Output) -> list[tuple[Any, ...]]:
    assert isinstance(output.sink, MemorySink)
    return [tuple(row) for row in output.sink.rows]


def told(running: Running, rows: int) -> list[Progress]:
    """Every batch until so many rows have been read; the first ones may have none."""
    batches: list[Progress] = []
    deadline = time.monotonic() + 180
    while sum(progress.rows_in for progress in batches) < rows:
        assert time.monotonic() < deadline, f"only {batches} came"
        running.wait(0.5)
        batches += running.news()
    return batches


def test_a_missing_topic_is_told_before_the_start(kafka: str, topic: Topic, tmp_path: Path) -> None:
    there = topic()
    for mode in ("batch", "micro-batch", "real-time"):
        with pytest.raises(JobError) as refused:
            hr.Job("j", hr.read.kafka(f"{there}x").to.kafka(there), checkpoint=tmp_path).run(mode)  # type: ignore[arg-type]
        assert refused.value.what == f"topic '{there}x' does not exist at {kafka}"
        assert f"{there}" in refused.value.fix
        assert refused.value.fix.endswith(f"or create it: headrace topics create {there}x")


def test_a_broker_that_does_not_answer_is_told_without_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.io.kafka.log._PATIENCE_MS", 500)
    monkeypatch.setenv("TEST_JAAS", "org.apache.kafka.common.security.plain.PlainLoginModule required username=u password=hunter3 ;")
    options = {"kafka.security.protocol": "SASL_PLAINTEXT", "kafka.sasl.mechanism": "PLAIN", "kafka.sasl.jaas.config": "env:TEST_JAAS"}
    away = hr.read.kafka("t", servers="127.0.0.1:1", options=options)
    with pytest.raises(JobError) as refused:
        hr.Job("j", away.to.memory(), checkpoint=tmp_path).start()
    assert "Kafka at 127.0.0.1:1 does not answer" in refused.value.what
    assert "HEADRACE_KAFKA" in refused.value.fix
    assert "hunter3" not in str(refused.value)


@pytest.fixture
def far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process whose clock on the wall is 14 hours before UTC's."""
    with monkeypatch.context() as zone:
        zone.setenv("TZ", "Etc/GMT-14")
        time.tzset()
        yield
    time.tzset()


def test_a_job_begins_where_it_is_told(kafka: str, topic: Topic, far_east: None) -> None:  # noqa: ARG001
    place = topic(partitions=2)
    send(kafka, place, ["a", "b", "c"], partition=0)
    send(kafka, place, ["d"], partition=1)
    starts: dict[str, tuple[Any, list[str]]] = {
        "earliest": ("earliest", ["a", "b", "c", "d"]),
        "offsets": ({place: {0: 1, 1: 1}}, ["b", "c"]),
        "a time before": (datetime(2020, 1, 1, tzinfo=UTC), ["a", "b", "c", "d"]),
        "a time to come": (datetime(2100, 1, 1, tzinfo=UTC), []),
        "a time without a zone, to come in UTC": (datetime.now(UTC).replace(tzinfo=None) + timedelta(hours=1), []),
        "latest": ("latest", []),
    }
    for name, (start, expected) in starts.items():
        output = hr.read.kafka(place, start=start).select(F.col("value").cast("string")).to.memory()
        hr.Job("start", output).run("batch")
        assert sorted(rows(output)) == [(value,) for value in expected], name


def test_a_job_that_begins_at_the_latest_reads_what_comes_then(kafka: str, topic: Topic, tmp_path: Path) -> None:
    place = topic()
    send(kafka, place, ["a"])
    output = hr.read.kafka(place, start="latest").select(F.col("value").cast("string")).to.memory()
    job = hr.Job("latest", output, trigger=hr.every("100 milliseconds"), checkpoint=tmp_path)
    with job.start() as running:
        running.process_all()
        send(kafka, place, ["b"])
        running.process_all()
    send(kafka, place, ["c"])
    job.run(trigger=hr.once)
    assert rows(output) == [("b",), ("c",)]


def test_a_pattern_reads_all_topics_that_match(kafka: str, topic: Topic) -> None:
    first, second = topic(), topic()
    for name in (first, second):
        send(kafka, name, [name])
    output = hr.read.kafka(pattern=f"{first}|{second}").select("topic").to.memory()
    hr.Job("pattern", output).run("batch")
    assert sorted(rows(output)) == sorted([(first,), (second,)])


def test_a_pattern_is_javas(kafka: str, topic: Topic, tmp_path: Path) -> None:
    place = topic()
    send(kafka, place, [place])
    output = hr.read.kafka(pattern=rf"\p{{Alpha}}+\Q{place.removeprefix('test')}\E").select("topic").to.memory()
    job = hr.Job("pattern", output, trigger=hr.once, checkpoint=tmp_path)
    for mode in ("batch", "micro-batch"):
        job.run(mode)  # type: ignore[arg-type]
        assert rows(output) == [(place,)]


def test_a_pattern_without_a_topic_is_told_in_a_batch(kafka: str) -> None:
    with pytest.raises(JobError) as refused:
        hr.Job("none", hr.read.kafka(pattern="no-such-.*").to.memory()).run("batch")
    assert refused.value.what == f"no topic at {kafka} matches 'no-such-.*'"


def test_a_batch_ends_where_the_log_ended_when_it_began(kafka: str, topic: Topic) -> None:
    place = topic()
    send(kafka, place, ["a"])
    frame = KafkaSource((place,)).table()
    send(kafka, place, ["b"])
    assert frame.count() == 1


def test_a_batch_does_not_wait_for_records_behind_the_end_of_the_log(kafka: str, topic: Topic) -> None:
    place = topic()
    send(kafka, place, ["a"])

    def seconds(options: dict[str, str]) -> float:
        frame, begin = hr.read.kafka(place, options=options).select("value").to.memory(), time.monotonic()
        hr.Job("end", frame).run("batch")
        assert len(rows(frame)) == 1
        return time.monotonic() - begin

    assert any(seconds({}) < 5 for _ in range(5))  # Spark's first is slower, and so is a busy machine
    assert seconds({"kafka.fetch.max.wait.ms": "5000"}) >= 5  # as long as the broker may let such a request wait


def test_a_micro_batch_takes_no_more_than_the_cap(kafka: str, topic: Topic, tmp_path: Path) -> None:
    place = topic()
    send(kafka, place, map(str, range(10)))
    output = hr.read.kafka(place, cap=4).select("offset").to.memory()
    hr.Job("cap", output, trigger=hr.once, checkpoint=tmp_path).run()
    assert isinstance(output.sink, MemorySink)
    assert [len(batch) for batch in output.sink.batches.values()] == [4, 4, 2]


def test_records_that_do_not_fit_the_schema_are_dead_letters(kafka: str, topic: Topic, tmp_path: Path) -> None:
    place, good, bad = topic(), topic(), topic()
    send(kafka, place, ['{"id": 1, "city": "Lund"}', "nonsense", '{"city": "Malmö"}'])
    records = hr.read.kafka(place, schema="id int not null, city string", keep=["offset"])
    outputs = records.to.kafka(good, key="id"), records.dead_letters.select("reason", "offset").to.kafka(bad)
    hr.Job("decoded", *outputs, trigger=hr.once, checkpoint=tmp_path).run()
    assert received(kafka, good, 1) == [("1", {"id": 1, "city": "Lund", "offset": 0})]
    assert received(kafka, bad, 2) == [(None, {"reason": "not_json", "offset": 1}), (None, {"reason": "missing:id", "offset": 2})]


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        (None, None, (None, {"a": 1, "b": None})),
        ("a", ["b", "a"], ("1", {"b": None, "a": 1})),
        ("b", "a", (None, 1)),
    ],
)
def test_a_row_is_written_as_asked(key: Any, value: Any, expected: Any, kafka: str, topic: Topic) -> None:
    place = topic()
    hr.Job("write", hr.read.memory("a int, b string", [(1, None)]).to.kafka(place, key=key, value=value)).run("batch")
    assert received(kafka, place, 1) == [expected]


def test_real_time_gives_what_batch_gives_and_tells_how_far_it_is(kafka: str, topic: Topic, tmp_path: Path) -> None:
    place, out = topic(), topic()
    send(kafka, place, ["a", "b", "a"])
    words = hr.read.kafka(place).select(F.col("value").cast("string").alias("word"))
    totals = words.key_by("word").agg(F.count("*").alias("n")).to.kafka(out, key="word")
    with hr.Job("live", totals, trigger=hr.every("5 seconds"), checkpoint=tmp_path).start("real-time") as running:
        assert sorted((key, value["n"]) for key, value in received(kafka, out, 3)) == [("a", 1), ("a", 2), ("b", 1)]
        send(kafka, place, ["b"])
        assert received(kafka, out, 4)[3] == ("b", {"word": "b", "n": 2})
        batches = told(running, 4)
    first, last = next(progress for progress in batches if progress.rows_in), batches[-1]
    assert sum(progress.rows_out or 0 for progress in batches) == 4
    assert (last.state_rows, last.lag) == (2, 0)
    assert first.latency_ms is not None
    assert first.latency_p99_ms is not None
    assert 0 <= first.latency_ms <= first.latency_p99_ms


def test_micro_batch_goes_on_where_real_time_was(kafka: str, topic: Topic, tmp_path: Path) -> None:
    place, out = topic(), topic()
    words = hr.read.kafka(place).select(F.col("value").cast("string").alias("word"))
    job = hr.Job("both", words.key_by("word").agg(F.count("*").alias("n")).to.kafka(out, key="word"), checkpoint=tmp_path)
    send(kafka, place, ["a"])
    with job.start("real-time", trigger=hr.every("5 seconds")) as running:
        told(running, 1)
    send(kafka, place, ["a"])
    job.run("micro-batch", trigger=hr.once)
    assert [value["n"] for _, value in received(kafka, out, 2)] == [1, 2]


def test_real_time_without_a_slot_for_every_partition_is_refused(kafka: str, topic: Topic, spark: SparkSession, tmp_path: Path) -> None:  # noqa: ARG001
    place, out = topic(partitions=20), topic()
    words = hr.read.kafka(place).select(F.col("value").cast("string").alias("word"))
    with pytest.raises(ModeError) as refused:
        hr.Job("wide", words.key_by("word").agg(F.count("*")).to.kafka(out), checkpoint=tmp_path).start("real-time")
    assert "needs 22 task slots" in refused.value.what  # 20 of the source, 2 of the state
    assert "local[22]" in refused.value.fix


def test_two_states_in_one_real_time_query_are_refused(kafka: str, topic: Topic, tmp_path: Path) -> None:  # noqa: ARG001
    records = hr.read.kafka(topic()).then(lambda df: df.dropDuplicates(["key"])).key_by("topic").agg(F.count("*"))
    with pytest.raises(ModeError) as refused:
        hr.Job("two", records.to.kafka(topic()), checkpoint=tmp_path).start("real-time")
    assert "then(<lambda>) and agg: not both" in refused.value.what


def test_real_time_does_not_end_once(kafka: str, topic: Topic, tmp_path: Path) -> None:  # noqa: ARG001
    with pytest.raises(ModeError) as refused:
        hr.Job("once", hr.read.kafka(topic()).to.kafka(topic(), value="value"), trigger=hr.once, checkpoint=tmp_path).start("real-time")
    assert "`once`" in refused.value.what


def test_real_time_does_not_save_every_second(kafka: str, topic: Topic, tmp_path: Path) -> None:  # noqa: ARG001
    job = hr.Job("often", hr.read.kafka(topic()).to.kafka(topic(), value="value"), trigger=hr.every("1 second"), checkpoint=tmp_path)
    with pytest.raises(ModeError) as refused:
        job.start("real-time")
    assert "5 seconds or more" in refused.value.fix


def test_records_that_are_gone_before_they_were_read_stop_the_job(kafka: str, topic: Topic, tmp_path: Path) -> None:
    place = topic()
    job = hr.Job("gone", hr.read.kafka(place).select("offset").to.memory(), trigger=hr.once, checkpoint=tmp_path)
    send(kafka, place, ["a"])
    job.run()
    send(kafka, place, ["b", "c", "d"])
    admin = AdminClient({"bootstrap.servers": kafka})
    for deleted in admin.delete_records([TopicPartition(place, 0, 3)]).values():
        deleted.result()
    with pytest.raises(JobError) as failed:
        job.run()
    assert "data may have been lost" in failed.value.what
    assert "keep the topic longer" in failed.value.fix
