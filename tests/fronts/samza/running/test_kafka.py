"""Tasks on a real broker: positions, stores, changelogs, restarts, and the end that a task asks for."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.fronts.samza.running import killed

import headrace as hr
from headrace.planning.triggers import Trigger
from headrace.samza import (
    KV,
    ApplicationStatus,
    InitableTask,
    JsonSerde,
    KafkaSystemDescriptor,
    KVSerde,
    LocalApplicationRunner,
    OutgoingMessageEnvelope,
    RequestScope,
    StreamApplication,
    StreamTask,
    StringSerde,
    SystemStream,
    WindowableTask,
)  # fmt: skip

pytestmark = pytest.mark.usefixtures("spark", "kafka")
Topic = Callable[..., str]


class WordCount(StreamTask, InitableTask):
    """Sends each word with its count so far; `halt` asks for the end."""

    def init(self, context: Any) -> None:
        self.store = context.getTaskContext().getStore("counts")
        self.out = SystemStream("kafka", context.getJobContext().getConfig()["wordcount.out"])

    def process(self, envelope: Any, collector: Any, coordinator: Any) -> None:
        for word in envelope.getMessage().split():
            if word == "halt":
                coordinator.shutdown(RequestScope.ALL_TASKS_IN_CONTAINER)
                continue
            count = (self.store.get(word) or 0) + 1
            self.store.put(word, count)
            collector.send(OutgoingMessageEnvelope(self.out, word, [word, count]))


def settings(name: str, source: str, out: str, **more: Any) -> dict[str, Any]:
    return {
        "job.name": name, "task.inputs": f"kafka.{source}", f"streams.{source}.samza.msg.serde": "string",
        f"streams.{source}.samza.offset.default": "oldest", f"streams.{out}.samza.msg.serde": "json",
        f"streams.{out}.samza.key.serde": "string",
        "stores.counts.key.serde": "string", "stores.counts.msg.serde": "integer", "wordcount.out": out, **more,
    }  # fmt: skip


def values(topic: str) -> list[Any]:
    return [json.loads(record.value or b"null") for record in hr.topics.read(topic)]


@pytest.mark.faults
def test_a_job_whose_driver_is_killed_goes_on_with_the_store_as_it_was_saved(topic: Topic, kafka: str, tmp_path: Path) -> None:
    """Samza's case of a crash between two commits. Here the store has nothing of the messages that will come again: it is exact, and what
    was sent since the last commit may be sent twice."""
    source, out = topic(), topic()
    hr.topics.send(source, ["a b", "a"])
    killed.main(source, out, kafka, tmp_path)
    assert values(out) == [["a", 1], ["b", 1], ["a", 2]]
    hr.topics.send(source, ["a c", "kill", "a"])
    command = [sys.executable, killed.__file__, source, out, kafka, str(tmp_path)]
    assert subprocess.Popen(command, start_new_session=True).wait(timeout=60) == -signal.SIGKILL
    killed.main(source, out, kafka, tmp_path)
    assert values(out)[-4:] == [["a", 3], ["c", 1], ["kill", 1], ["a", 4]]
    restored = {record.key: int.from_bytes(record.value or b"", "big") for record in hr.topics.read(f"{source}-log")}
    assert restored == {b"a": 4, b"b": 1, b"c": 1, b"kill": 1}
    assert hr.topics.describe(f"{source}-log").config == {"cleanup.policy": "compact"}


def test_a_job_without_a_checkpoint_begins_with_what_the_changelog_has(topic: Topic, tmp_path: Path) -> None:
    source, out, log = topic(partitions=2), topic(), topic(partitions=2)
    config = settings("restore", source, out, **{"stores.counts.changelog": f"kafka.{log}"})
    one, two = (7).to_bytes(4, "big"), (9).to_bytes(4, "big")
    record = hr.topics.Record
    hr.topics.send(
        log,
        [record(one, b"a", partition=0), record(two, b"b", partition=0), record(None, b"b", partition=0), record(two, b"a", partition=1)],
    )
    hr.topics.send(source, [record(b"a b", partition=0), record(b"a", partition=1)])
    LocalApplicationRunner(WordCount, config).run("batch")
    assert sorted(values(out)) == [["a", 8], ["a", 10], ["b", 1]]
    hr.topics.send(source, [record(b"b", partition=0)])
    runner = LocalApplicationRunner(
        WordCount, {**config, f"streams.{source}.samza.offset.default": "oldest"}, checkpoint=tmp_path, trigger=hr.once
    )
    runner.run()
    runner.waitForFinish()
    assert sorted(values(out)[3:]) == [["a", 9], ["a", 11], ["b", 2], ["b", 3]]


def test_real_time_and_the_end_that_a_task_asks_for(topic: Topic, tmp_path: Path, short_batches: Trigger) -> None:
    source, out = topic(), topic()
    runner = LocalApplicationRunner(WordCount, settings("live", source, out), checkpoint=tmp_path, trigger=short_batches)
    runner.run("real-time")
    hr.topics.send(source, ["my dog has fleas", "my dog"])
    deadline = time.monotonic() + 60
    while len(values(out)) < 6:
        assert time.monotonic() < deadline, values(out)
        time.sleep(0.1)
    assert values(out) == [["my", 1], ["dog", 1], ["has", 1], ["fleas", 1], ["my", 2], ["dog", 2]]
    assert runner.status() is ApplicationStatus.Running
    hr.topics.send(source, ["halt"])
    assert runner.waitForFinish(60)
    assert runner.status() is ApplicationStatus.SuccessfulFinish


class Sized(StreamTask, WindowableTask):
    def __init__(self) -> None:
        self.seen = 0

    def process(self, envelope: Any, collector: Any, coordinator: Any) -> None:
        self.seen += 1

    def window(self, collector: Any, coordinator: Any) -> None:
        collector.send(OutgoingMessageEnvelope(SystemStream("kafka", "sized-out"), str(self.seen).encode()))
        coordinator.shutdown()


def test_window_is_called_by_the_clock_and_every_task_may_end(topic: Topic, tmp_path: Path) -> None:
    source = topic()
    hr.topics.create("sized-out", partitions=1)
    hr.topics.send(source, ["a", "b", "c"])
    config = {
        "job.name": "sized",
        "task.inputs": f"kafka.{source}",
        f"streams.{source}.samza.offset.default": "oldest",
        "task.window.ms": 300,
    }
    with LocalApplicationRunner(Sized, config, checkpoint=tmp_path) as runner:
        runner.run()
        assert runner.waitForFinish(60)
    assert values("sized-out")[0] == 3


class Joined(StreamApplication):
    def __init__(self, users: str, clicks: str, out: str) -> None:
        self.names = users, clicks, out

    def describe(self, app: Any) -> None:
        users, clicks, out = self.names
        kafka = KafkaSystemDescriptor("kafka")
        people = app.getInputStream(kafka.getInputDescriptor(users, JsonSerde()))
        pages = app.getInputStream(kafka.getInputDescriptor(clicks, JsonSerde()))
        paired = pages.partitionBy(lambda click: click["user"], lambda click: click["page"], "clicks").join(
            people.partitionBy(lambda user: user["user"], lambda user: user["name"], "users"),
            lambda click, user: KV(user.value, click.value), "1 hour", "both",
        )  # fmt: skip
        paired.sendTo(app.getOutputStream(kafka.getOutputDescriptor(out, KVSerde.of(StringSerde(), StringSerde()))))


def test_stages_are_joined_by_topics_and_a_batch_reads_only_its_own(topic: Topic) -> None:
    users, clicks, out = topic(partitions=2), topic(), topic()
    hr.topics.send(users, [{"user": number, "name": f"user {number}"} for number in range(4)])
    hr.topics.send(clicks, [{"user": number, "page": f"page {number}"} for number in range(4)])
    program, config = Joined(users, clicks, out), {"job.name": "joined"}
    for _ in range(2):
        LocalApplicationRunner(program, config).run("batch")
    found = sorted((record.key, record.value) for record in hr.topics.read(out))
    assert found == sorted((f"user {number}".encode(), f"page {number}".encode()) for number in [0, 1, 2, 3] * 2)
    assert len(hr.topics.describe("joined-partition_by-clicks").partitions) == 2
