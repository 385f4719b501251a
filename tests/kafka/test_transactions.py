"""Kafka's transactions, on a real broker, without Spark: each row once for readers of what is committed, wherever the writer was killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition
from tests.kafka import killed
from tests.kafka.killed import rows, run

from headrace.errors import FencedError, JobError
from headrace.io.kafka import transactions
from headrace.io.kafka.client import KafkaClient

ROOT = Path(__file__).parents[2]
Topic = Callable[..., str]
ONCE = Counter(range(killed.BATCHES * killed.SIZE))
POINTS = [
    "kafka: begun", "kafka: half of the rows:2", "kafka: rows written", "kafka: about to commit:2", "kafka: committed", "job: written",
]  # fmt: skip


def committed(kafka: str, topic: str) -> Counter[int]:
    """All values of a topic of one partition that a careful reader sees."""
    settings: dict[str, Any] = {"bootstrap.servers": kafka, "group.id": "test", "isolation.level": "read_committed"}
    consumer = Consumer(settings | {"enable.auto.commit": False, "enable.partition.eof": True, "log_level": 0})
    consumer.assign([TopicPartition(topic, 0, 0)])
    values: Counter[int] = Counter()
    while True:
        message = consumer.poll(60)
        assert message is not None
        if message.error() is not None:
            assert message.error().code() == KafkaError._PARTITION_EOF
            consumer.close()
            return values
        values[int(message.value())] += 1


def output(kafka: str, topic: str, job: str, **how: Any) -> transactions.Output:
    opened = transactions.Output(KafkaClient(kafka, {}), topic, run(job, **how))
    opened.open()
    return opened


def parts(*values: int) -> Callable[[], Any]:
    return lambda: iter([rows(*values)])


def write(kafka: str, topic: str, log: Path, guard: str, *points: str) -> Counter[int]:
    """What is there after the program was killed at each of these points, and came to its end in the last run."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "src", ROOT / "apps" / "fraud")))}
    command = [sys.executable, str(Path(killed.__file__)), kafka, topic, str(log), guard, *points]
    assert subprocess.run(command, env=env, timeout=240, check=False).returncode == 0
    return committed(kafka, topic)


def test_killed_at_every_point_each_row_is_there_once(kafka: str, topic: Topic, tmp_path: Path) -> None:
    assert write(kafka, topic(), tmp_path / "log", "", *POINTS) == ONCE


def test_without_the_batchs_number_the_same_kill_is_seen(kafka: str, topic: Topic, tmp_path: Path) -> None:
    assert write(kafka, topic(), tmp_path / "log", "the batch's number", "kafka: committed:2") != ONCE


def test_a_run_that_begins_knows_the_last_batch(kafka: str, topic: Topic) -> None:
    name = topic()
    first = output(kafka, name, "knows")
    first.commit(0, parts(1, 2))
    first.commit(1, parts(3))
    assert transactions.Output(KafkaClient(kafka, {}), name, run("knows", epoch=2)).open() == 1
    assert committed(kafka, name) == Counter([1, 2, 3])


def test_a_zombie_is_fenced_and_its_successor_goes_on(kafka: str, topic: Topic) -> None:
    name = topic()
    zombie = output(kafka, name, "zombie")
    zombie.commit(0, parts(1))
    successor = output(kafka, name, "zombie")  # the same epoch: two drivers that read the same number are told apart all the same
    with pytest.raises(FencedError) as fenced:
        zombie.commit(1, parts(99))
    assert fenced.value.what.startswith("FENCED: another run of job 'zombie' has taken over o at Kafka ")
    successor.commit(1, parts(2))  # its producer was fenced by the zombie's second
    successor.commit(2, parts(3))
    assert committed(kafka, name) == Counter([1, 2, 3])


def test_without_the_fence_the_zombie_writes(kafka: str, topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    name = topic()
    zombie = output(kafka, name, "unfenced")
    output(kafka, name, "unfenced")
    monkeypatch.setattr(transactions, "is_fenced", lambda epoch, own: False)  # noqa: ARG005
    zombie.commit(0, parts(99))
    assert committed(kafka, name) == Counter([99])


# whether it is looked at what is there -> what is there then
@pytest.mark.parametrize(("looks", "there"), [(True, [1, 2]), (False, [1, 1, 2])], ids=["as it is", "without the look"])
def test_an_answer_that_is_lost_is_no_second_batch(
    kafka: str, topic: Topic, monkeypatch: pytest.MonkeyPatch, looks: bool, there: list[int]
) -> None:  # fmt: skip
    from confluent_kafka import KafkaException

    name = topic()
    opened = output(kafka, name, f"lost-{looks}")
    if not looks:
        monkeypatch.setattr(opened, "_read", lambda: transactions.Progress("c", opened._epoch, -1))

    class Lossy:
        """A producer that does what it is told, once without an answer."""

        def __init__(self, producer: Any) -> None:
            self._producer = producer

        def __getattr__(self, name: str) -> Any:
            return getattr(self._producer, name)

        def commit_transaction(self, seconds: float) -> None:
            self._producer.commit_transaction(seconds)
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    monkeypatch.setattr(opened, "_producer", Lossy(opened._producer))
    opened.commit(0, parts(1))
    opened.commit(1, parts(2))
    assert committed(kafka, name) == Counter(there)


def test_a_batch_that_breaks_off_leaves_nothing(kafka: str, topic: Topic) -> None:
    name = topic()
    opened = output(kafka, name, "broken")

    def broken() -> Any:
        yield rows(1)
        raise OSError("a task failed")

    with pytest.raises(OSError, match="a task failed"):
        opened.commit(0, broken)
    opened.commit(0, parts(1, 2))
    assert committed(kafka, name) == Counter([1, 2])


def test_another_checkpoint_of_the_job_is_refused(kafka: str, topic: Topic) -> None:
    name = topic()
    output(kafka, name, "elsewhere").commit(0, parts(1))
    with pytest.raises(JobError) as refused:
        output(kafka, name, "elsewhere", checkpoint="another")
    assert "from another checkpoint" in refused.value.what
    assert "headrace-elsewhere-o-progress" in refused.value.fix
