"""`hr.topics`: topics and records from Python, on a real broker."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

import headrace as hr
from headrace.errors import DefinitionError, JobError

Make = Callable[..., str]


def test_a_value_is_text_bytes_json_or_nothing_and_a_record_has_all_of_its_own(topic: Make) -> None:
    name, at = topic(partitions=2), datetime(2026, 1, 31, 9, tzinfo=UTC)
    own = hr.topics.Record(b"own", b"bob", (("id", b"9"), ("id", None)), partition=0, timestamp=at)
    values = ["å", b"\xff", {"to": "ann", "n": 1}, None, own]
    assert hr.topics.send(name, values, key="ann", headers={"id": "7"}, partition=1) == 5
    records = sorted(hr.topics.read(name), key=lambda record: (-(record.partition or 0), record.offset))
    assert [(record.partition, record.offset, record.key, record.value, record.headers) for record in records] == [
        (1, 0, b"ann", "å".encode(), (("id", b"7"),)),
        (1, 1, b"ann", b"\xff", (("id", b"7"),)),
        (1, 2, b"ann", b'{"to": "ann", "n": 1}', (("id", b"7"),)),
        (1, 3, b"ann", None, (("id", b"7"),)),
        (0, 0, b"bob", b"own", (("id", b"9"), ("id", None))),
    ]
    assert records[-1].timestamp == at
    assert abs(datetime.now(UTC) - (records[0].timestamp or at)) < timedelta(minutes=5)


def test_a_key_goes_to_the_partition_that_spark_gives_it(topic: Make, spark: SparkSession) -> None:  # noqa: ARG001
    ours, theirs, keys = topic(partitions=4), topic(partitions=4), [f"customer-{n}" for n in range(20)]
    hr.topics.send(ours, [hr.topics.Record(b"", key.encode()) for key in keys])
    hr.Job("keys", hr.read.memory("k string", [(key,) for key in keys]).to.kafka(theirs, key="k")).run("batch")
    places = [{record.key: record.partition for record in hr.topics.read(name)} for name in (ours, theirs)]
    assert places[0] == places[1]
    assert set(places[0].values()) == {0, 1, 2, 3}


@pytest.mark.parametrize("last", ["committed", "aborted", "open"])
def test_only_committed_records_are_read_and_marks_of_transactions_end_nothing(last: str, kafka: str, topic: Make) -> None:
    name = topic()
    producer = Producer({"bootstrap.servers": kafka, "transactional.id": name, "log_level": 0})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(name, "first")
    producer.commit_transaction()
    producer.begin_transaction()
    producer.produce(name, "second")
    producer.flush()
    if last != "open":
        {"committed": producer.commit_transaction, "aborted": producer.abort_transaction}[last]()
    assert [record.value for record in hr.topics.read(name)] == ([b"first", b"second"] if last == "committed" else [b"first"])
    if last == "open":
        producer.abort_transaction()


def test_what_is_there_is_read_to_its_end_and_not_further(topic: Make) -> None:
    name = topic()
    hr.topics.send(name, ["a", "b"])
    records = hr.topics.read(name)
    hr.topics.send(name, ["c"])
    assert [record.value for record in records] == [b"a", b"b"]
    assert [record.value for record in hr.topics.read(name, limit=2, follow=True)] == [b"a", b"b"]
    assert [record.value for record in hr.topics.read(topic())] == []


def test_the_cluster_that_is_used_where_none_is_named(kafka: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hr.topics.servers() == kafka
    monkeypatch.setenv("HEADRACE_KAFKA", "broker.example:9092")
    assert hr.topics.servers() == "broker.example:9092"


def test_kafkas_own_topics_are_not_listed(topic: Make) -> None:
    name = topic(partitions=3)
    listed = {each.name: each for each in hr.topics.list()}
    assert (len(listed[name].partitions), listed[name].records) == (3, 0)
    assert not [each for each in listed if each.startswith("__")]


MISTAKES: dict[str, tuple[Callable[[], Any], str, str]] = {
    "one value for many": (lambda: hr.topics.send("t", "abc"), "send: 'abc' is one value", "send(topic, [value])"),
    "a position that is none": (lambda: hr.topics.read("t", start="newest"), "start='newest' is no position", '"latest"'),
    "fewer than one record": (lambda: hr.topics.read("t", limit=0), "limit=0 is no whole number", "limit=1 or more"),
    "fewer than one partition": (lambda: hr.topics.create("t", partitions=0), "partitions=0 is no whole number", "partitions=1 or more"),
    "fewer than one replica": (lambda: hr.topics.Topic(replicas=0), "replicas=0 is no whole number", "replicas=1 or more"),
    "an option that is no text": (lambda: hr.topics.create("t", config={"a": [1]}), "option a is of type list", "as text"),  # type: ignore[dict-item]
    "no name": (lambda: hr.topics.delete(), "a topic has no name", '"orders"'),
    "an empty name": (lambda: hr.topics.create(""), "a topic has no name", '"orders"'),
    "a password in the program": (
        lambda: hr.topics.list(options={"sasl.password": "hunter2"}), "option sasl.password is a secret", "env:NAME"),
}  # fmt: skip


@pytest.mark.usefixtures("kafka")
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_at_the_users_line(mistake: str) -> None:
    make, what, fix = MISTAKES[mistake]
    with pytest.raises(DefinitionError) as refused:
        make()
    assert what in refused.value.what
    assert fix in refused.value.fix
    assert (refused.value.where or "").startswith(f"{__file__}:")


def test_records_that_the_cluster_does_not_take_are_told(topic: Make) -> None:
    name = f"{topic()}-small"
    hr.topics.create(name, config={"max.message.bytes": 1000})
    with pytest.raises(JobError) as refused:
        hr.topics.send(name, ["x" * 5000])
    assert refused.value.what.startswith(f"1 of 1 records did not reach topic '{name}': ")
    assert "size" in refused.value.what


def test_a_partition_that_has_no_leader_yet_is_asked_again(topic: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    name, ask, refusals = topic(), AdminClient.list_offsets, iter([KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE])

    def not_yet(client: AdminClient, places: Any, **options: Any) -> Any:
        if (refusal := next(refusals, None)) is None:
            return ask(client, places, **options)
        answers = {place: Future[Any]() for place in places}
        for answer in answers.values():
            answer.set_exception(KafkaException(KafkaError(refusal)))
        return answers

    monkeypatch.setattr(AdminClient, "list_offsets", not_yet)
    assert hr.topics.send(name, ["first"]) == 1
