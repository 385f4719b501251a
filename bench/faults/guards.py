"""What keeps each row there once. Any of it can be taken away from the job, and the faults must then be seen."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Producer

from headrace.io.database import transactions
from headrace.io.database.sqlite import SQLite
from headrace.io.kafka.transactions import Output
from headrace.run.writing import Writers


def _number() -> None:
    """A batch that a sink has already is written again."""

    def write(self: Writers, output: Any, frame: Any, batch: int) -> None:
        self._open[output.name].write(frame, batch)

    Writers.write = write  # type: ignore[method-assign]
    transactions.is_there = lambda last, batch: False  # noqa: ARG005


def _transaction() -> None:
    """Each statement is there at once."""
    SQLite.begin = SQLite.commit = "SELECT 1"


def _kafka_transaction() -> None:
    """Each record is there at once."""
    Output._new_producer = lambda self: _AtOnce(self._client.make(Producer))  # type: ignore[method-assign, assignment, return-value]


class _AtOnce:
    """A producer that has no transactions, where one that has is asked for."""

    def __init__(self, producer: Producer) -> None:
        self._producer, self.poll = producer, producer.poll

    def produce(self, *record: Any, **more: Any) -> None:
        self._producer.produce(*record, **more)
        self._producer.flush()

    def begin_transaction(self) -> None: ...

    def commit_transaction(self, seconds: float) -> None: ...

    def abort_transaction(self, seconds: float) -> None: ...


GUARDS = {"number": _number, "transaction": _transaction, "Kafka's transaction": _kafka_transaction}
