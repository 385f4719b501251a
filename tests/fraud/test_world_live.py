"""The world sent to Kafka: steady, counted by what the broker has, and telling when it is behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from tests.fraud.oracle import oracle

from headrace.errors import JobError
from headrace_fraud.deciding import topics
from headrace_fraud.world import send, truth
from headrace_fraud.world.scenes import DOSES

TOPICS = ("transactions", "locations")


@pytest.fixture
def broker(kafka: str) -> Iterator[str]:
    """With the two topics, empty; gone again afterwards, since others use these names too."""
    topics.create(kafka, TOPICS, partitions=3)
    yield kafka
    topics.remove(kafka, TOPICS)


def received(kafka: str, topic: str, count: int) -> list[Any]:
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "test", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(3)])
    messages: list[Any] = []
    while len(messages) < count:
        message = consumer.poll(30)
        assert message is not None, f"only {len(messages)} of {count} came"
        assert message.error() is None
        messages.append(message)
    assert consumer.poll(0.2) is None, "and no more"
    consumer.close()
    return messages


def test_what_is_acknowledged_is_in_the_topics_in_order_and_at_its_time(
    broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A live world is another one each time, and one in five has no fraud within seconds: this one has ten times as many.
    monkeypatch.setattr("headrace_fraud.world.stream.DOSES", [(scene, dose * 10) for scene, dose in DOSES])
    reports: list[dict[str, Any]] = []
    counts = send.run(
        broker, rate=800, seed=4, seconds=2.5, truth_path=tmp_path / "truth.jsonl", report=lambda counts: reports.append(counts.as_dict())
    )
    assert counts.acknowledged == counts.sent
    assert counts.failed == 0
    assert counts.sent["transactions"] == pytest.approx(2000, rel=0.1)
    *during, last = (report["done"] for report in reports)
    assert during
    assert not any(during)
    assert last
    frauds = list(truth.read(tmp_path / "truth.jsonl"))
    assert len(frauds) == counts.frauds > 0
    times: dict[tuple[str, str], list[tuple[int, float]]] = defaultdict(list)
    values = b""
    for topic in TOPICS:
        for message in received(broker, topic, counts.sent[topic]):
            values += message.value() or b""
            times[topic, message.key()].append((message.offset(), message.timestamp()[1] / 1000))
    assert all(f'"{fraud.tx_id}"'.encode() in values for fraud in frauds)
    assert all(before[1] <= after[1] for each in times.values() for before, after in pairwise(sorted(each)))


def test_the_time_of_a_live_transaction_is_when_it_is_sent(broker: str) -> None:
    counts = send.run(broker, rate=50, seed=9, seconds=1)
    gaps = [
        message.timestamp()[1] / 1000 - datetime.fromisoformat(json.loads(message.value())["ts"]).timestamp()
        for message in received(broker, "locations", counts.sent["locations"])
        if oracle([message.value()], datetime.now(UTC)).locations
    ]
    late = counts.lateness_ms["max"] / 1000
    assert sorted(gaps)[len(gaps) // 2] <= late + 0.01
    assert min(gaps) > -0.01


def test_the_child_process_ends_in_order_when_told_to(broker: str, tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root / "apps" / "fraud"), str(root / "src")])
    child = subprocess.Popen(
        [sys.executable, "-m", "headrace_fraud.world", broker, "--rate", "100", "--seed", "3", "--truth", str(tmp_path / "truth.jsonl")],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    first = json.loads(child.stdout.readline())
    child.send_signal(signal.SIGTERM)
    rest = [json.loads(line) for line in child.stdout]
    assert child.wait(30) == 0
    child.stdout.close()
    assert not first["done"]
    assert rest[-1]["done"]
    assert rest[-1]["acknowledged"] == rest[-1]["sent"]
    assert rest[-1]["frauds"] == len(list(truth.read(tmp_path / "truth.jsonl")))


def test_a_broker_that_does_not_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(send, "_PATIENCE_S", 0.5)
    with pytest.raises(JobError) as refused:
        send.run("127.0.0.1:1", rate=10, seconds=1)
    assert refused.value.what == "no Kafka broker answers at 127.0.0.1:1"


class Stub:
    """A producer with a clock of its own, which jumps by `pause_s` when a hundred records have come. Every record of `refused` fails; a
    record number `full_at` finds the queue full."""

    topics: tuple[str, ...] = TOPICS
    refused = ""
    pause_s = 0.0
    full_at = 0

    def __init__(self, _: dict[str, Any]) -> None:
        self.clock = 1_770_000_000.0
        self.count = 0
        self.answers: list[Callable[[], None]] = []

    def time(self) -> float:
        return self.clock

    def sleep(self, seconds: float) -> None:
        self.clock += seconds

    def list_topics(self, timeout: float) -> Any:
        assert timeout > 0
        return SimpleNamespace(topics=dict.fromkeys(self.topics))

    def produce(self, topic: str, value: bytes, key: str, on_delivery: Callable[[Any, Any], None]) -> None:
        assert key
        assert isinstance(value, bytes)
        self.count += 1
        if self.count == self.full_at:
            raise BufferError
        if self.count == 100:
            self.clock += self.pause_s
        error = "refused" if topic == self.refused else None
        self.answers.append(lambda: on_delivery(error, SimpleNamespace(topic=lambda: topic)))

    def poll(self, timeout: float) -> int:
        self.clock += max(timeout, 0)
        answers, self.answers = self.answers, []
        for answer in answers:
            answer()
        return len(answers)

    def flush(self, timeout: float) -> int:
        assert timeout > 0
        return self.poll(0)


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Instead of the producer and of the clock on the wall."""

    def use(**given: Any) -> None:
        def make(config: dict[str, Any]) -> Stub:
            made: Stub = type("Given", (Stub,), given)(config)
            monkeypatch.setattr("headrace_fraud.world.send.time", made.time)
            monkeypatch.setattr("headrace_fraud.world.send.sleep", made.sleep)
            return made

        monkeypatch.setattr(send, "Producer", make)

    return use


def test_what_failed_is_not_acknowledged(stub: Callable[..., None]) -> None:
    stub(refused="locations")
    counts = send.run("stub", rate=1000, seconds=1)
    assert counts.acknowledged == {"transactions": counts.sent["transactions"], "locations": 0}
    assert counts.failed == counts.sent["locations"] > 0


def test_falling_behind_is_told(stub: Callable[..., None]) -> None:
    reports: list[dict[str, Any]] = []
    stub(pause_s=0.5, full_at=50)
    counts = send.run("stub", rate=1000, seconds=3, report=lambda counts: reports.append(counts.as_dict()))
    assert counts.behind > 400
    assert reports[0]["lateness_ms"]["max"] == pytest.approx(500, rel=0.3)
    assert reports[1]["lateness_ms"]["max"] < 50, "it has caught up"
    assert reports[-1]["lateness_ms"]["max"] == reports[0]["lateness_ms"]["max"], "the last is of the whole run"
    assert counts.acknowledged == counts.sent


def test_a_steady_run_is_never_behind(stub: Callable[..., None]) -> None:
    stub()
    counts = send.run("stub", rate=100, seconds=3)
    assert counts.behind == 0
    assert sum(counts.sent.values()) == pytest.approx(360, abs=5)


def test_a_missing_topic_is_told_before_anything_is_sent(stub: Callable[..., None]) -> None:
    stub(topics=("transactions",))
    with pytest.raises(JobError) as refused:
        send.run("stub", rate=10, seconds=1)
    assert refused.value.what == "topic 'locations' does not exist at stub"


def test_each_transaction_that_can_be_decided_has_one_label(stub: Callable[..., None]) -> None:
    sent: dict[str, list[Any]] = defaultdict(list)

    def produce(self: Stub, topic: str, value: bytes, key: str, on_delivery: Callable[[Any, Any], None]) -> None:
        sent[topic].append(value)
        Stub.produce(self, topic, value, key, on_delivery)

    stub(topics=(*TOPICS, "labels"), produce=produce)
    counts = send.run("stub", rate=1000, seconds=3, labels=True)
    labels = [json.loads(value) for value in sent["labels"]]
    answers = oracle(sent["transactions"], datetime.now(UTC))
    decided = {(each["customer"], each["tx_id"]) for each in answers.decisions}
    assert {(label["customer"], label["tx_id"]) for label in labels} == decided
    assert len(labels) == len(decided)
    assert sum(label["fraud"] for label in labels) == counts.frauds > 0


def test_it_stops_when_told_to(stub: Callable[..., None]) -> None:
    stub()
    stop = threading.Event()
    counts = send.run("stub", rate=100, stop=stop, report=lambda counts: stop.set() if counts.seconds >= 2 else None)
    assert counts.done
    assert 2 <= counts.seconds < 3
    assert counts.sent["transactions"] == pytest.approx(200, abs=10)
