"""Rows of a micro-batch and its number, in one transaction of Kafka's: exactly-once for readers that take what is committed.

Each output of a job has a topic of its own, of one partition and compacted, in which the last record says which batch is there, from which
checkpoint, and which run wrote it (its epoch). It is written in the transaction of the rows, by a producer whose transactional id is that
of the output.

A run that begins lets Kafka first end whatever transaction was open under that id, and reads the record then. It writes one with the next
epoch before anything else. So

    the producer is fenced         somebody began with the same id. A new producer is made and the record read: if its epoch is not this
                                   run's, another run has taken over, and this one stops: FENCED. (A driver that wakes up late may fence
                                   its successor's producer once; it finds the successor's epoch and stops, and the successor goes on.)
    a commit has no answer         the same: the record tells whether it was carried out
    anything else that may pass    the transaction is aborted, and tried again as long as the run lasts
"""

from __future__ import annotations

import json
import logging
import random
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from headrace.definitions import failpoints
from headrace.errors import FencedError, JobError
from headrace.io.connectors import Run
from headrace.io.kafka.administration import KafkaTopics
from headrace.io.kafka.client import PATIENCE, KafkaClient
from headrace.io.kafka.topics import Topic

_log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0  # seconds between two attempts
_ANSWER = 30.0  # seconds for the end of a transaction
_LONGEST = 900_000  # milliseconds that a transaction may take: the most that brokers allow by default
_COMPACTED = Topic(partitions=1, config={"cleanup.policy": "compact"})
_FENCED = {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH}

Batches = Callable[[], Iterable[Any]]


@dataclass(frozen=True)
class Progress:
    """What the last record says."""

    checkpoint: str
    epoch: int
    batch: int


class Output:
    """One output of a run, in one topic, or in those that its rows name themselves."""

    def __init__(self, client: KafkaClient, topic: str | None, run: Run) -> None:
        self._client, self._topic, self._run = client, topic, run
        self._id = _name(f"headrace-{run.job}-{run.output}")
        self._progress_topic = f"{self._id}-progress"
        self._producer: Producer | None = None
        self._epoch = 0

    def open(self) -> int:
        """Take the next epoch, so that no other run writes from now on; the last batch that is there, -1 if none."""
        topics = KafkaTopics.of(self._client)
        if self._progress_topic not in topics.names():
            topics.create([self._progress_topic], _COMPACTED)
        return self._attempt(self._take_over)

    def commit(self, batch: int, batches: Batches) -> None:
        """Write a batch, if it is not there yet. `batches` are called anew for every attempt."""

        def write() -> int:
            if self._producer is None and (there := self._resume()) >= batch:
                return there
            assert self._producer is not None
            self._producer.begin_transaction()
            failpoints.reach("kafka: begun")
            self._send(self._producer, batches())
            failpoints.reach("kafka: rows written")
            self._note(self._producer, batch)
            failpoints.reach("kafka: about to commit")
            self._producer.commit_transaction(_ANSWER)
            return batch

        self._attempt(write)
        failpoints.reach("kafka: committed")

    def close(self) -> None:
        self._producer = None

    def _take_over(self) -> int:
        producer = self._new_producer()
        last = self._read()
        if last is not None and last.checkpoint != self._run.checkpoint:
            raise self._anothers()
        self._epoch = max(self._run.epoch, 0 if last is None else last.epoch + 1)
        batch = -1 if last is None else last.batch
        producer.begin_transaction()
        self._note(producer, batch)
        producer.commit_transaction(_ANSWER)
        self._producer = producer
        return batch

    def _resume(self) -> int:
        """A new producer after one that is no good any more; the last batch that is there. FencedError if it is another run's by now."""
        producer = self._new_producer()
        last = self._read()
        if is_fenced(None if last is None else last.epoch, self._epoch):
            raise self._fenced()
        self._producer = producer
        return -1 if last is None else last.batch

    def _new_producer(self) -> Producer:
        producer: Producer = self._client.make(
            Producer, transactional_id=self._id, transaction_timeout_ms=_LONGEST, partitioner="murmur2_random", linger_ms=20
        )
        producer.init_transactions(PATIENCE * 3)  # fences any other, and ends what it has begun
        return producer

    def _note(self, producer: Producer, batch: int) -> None:
        value = json.dumps({"checkpoint": self._run.checkpoint, "epoch": self._epoch, "batch": batch})
        producer.produce(self._progress_topic, value, self._id)

    def _read(self) -> Progress | None:
        """The last record that is committed. Only this output writes there, so no open transaction hides one."""
        consumer: Consumer = self._client.make(
            Consumer, group_id=self._id, enable_auto_commit=False, isolation_level="read_committed", enable_partition_eof=True
        )
        try:
            consumer.assign([TopicPartition(self._progress_topic, 0, 0)])
            last = None
            while True:
                message = consumer.poll(PATIENCE)
                if message is None:
                    raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
                if (error := message.error()) is not None:
                    if error.code() == KafkaError._PARTITION_EOF:
                        return last
                    raise KafkaException(error)
                last = Progress(**json.loads(message.value() or b"{}"))
        finally:
            consumer.close()

    def _send(self, producer: Producer, batches: Iterable[Any]) -> None:
        for number, batch in enumerate(batches):
            if number == 1:
                failpoints.reach("kafka: half of the rows")
            for row in batch.to_pylist():
                while True:
                    try:
                        producer.produce(row.get("topic") or self._topic or "", row["value"], row.get("key"), **_rest(row))
                        break
                    except BufferError:
                        producer.poll(0.1)
            producer.poll(0)

    def _attempt(self, work: Callable[[], int]) -> int:
        """Do some work, again and again until it is done, or fails for a reason that stays."""
        pause = FIRST_PAUSE
        while True:
            try:
                return work()
            except KafkaException as error:
                self._recover(error.args[0])
                if pause == FIRST_PAUSE:
                    _log.warning("job %r: %s; it is tried again", self._run.job, self._client.failure(error.args[0]).what)
            except BaseException:
                self._give_up()
                raise
            if self._run.over.wait(pause * random.uniform(0.5, 1)):
                raise JobError(f"{self._run.output}: the run ended while Kafka did not answer", fix="start it again")
            pause = min(pause * 2, LONGEST_PAUSE)

    def _recover(self, error: KafkaError) -> None:
        """Make ready for another attempt; JobError if that is no use."""
        producer, self._producer = self._producer, None  # what a producer can do that has failed is hard to tell: the next is a new one
        if producer is not None and error.txn_requires_abort():
            _quietly(lambda: producer.abort_transaction(PATIENCE))
        passes = error.retriable() or error.txn_requires_abort() or error.code() in _FENCED or error.code() in _SILENT
        if not passes:
            raise self._client.failure(error, f"{self._run.output}: ")

    def _give_up(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            _quietly(lambda: producer.abort_transaction(PATIENCE))

    def _fenced(self) -> FencedError:
        return FencedError(
            f"FENCED: another run of job {self._run.job!r} has taken over {self._run.output} at Kafka {self._client.servers}",
            fix="leave that run alone, or stop it and start this one again",
        )

    def _anothers(self) -> JobError:
        return JobError(
            f"{self._run.output} was written by job {self._run.job!r} from another checkpoint: batches would be skipped, or be there twice",
            fix=f"put the checkpoint back, or give the job another name; or, to begin anew, delete the topic {self._progress_topic}",
        )


_SILENT = {KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._STATE, KafkaError._TIMED_OUT_QUEUE}


def is_fenced(epoch: int | None, own: int) -> bool:
    """Whether another run may write, and this one not any more."""
    return epoch != own


def _rest(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a record has beside its value and key, if it has."""
    rest: dict[str, Any] = {}
    if row.get("headers"):
        rest["headers"] = [(header["key"], header["value"]) for header in row["headers"]]
    if row.get("partition") is not None:
        rest["partition"] = row["partition"]
    return rest


def _name(text: str) -> str:
    """A name as Kafka allows it, and no other text's."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", text)[:200]
    return plain if plain == text else f"{plain}-{zlib.crc32(text.encode()):08x}"


def _quietly(work: Callable[[], object]) -> None:
    try:
        work()
    except Exception:
        _log.debug("a transaction could not be aborted", exc_info=True)
