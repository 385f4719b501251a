"""Where the batches of a topology are: the tuples of its spouts are put there, and computed there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from headrace.fronts.trident.operations import TransactionAttempt
from headrace.fronts.trident.running.partitions import Local, Partitions
from headrace.fronts.trident.running.work import named
from headrace.fronts.trident.spouts.kinds import Spout, fields_of
from headrace.fronts.trident.tuples import Row, TridentCollector


@dataclass(frozen=True)
class Reading:
    """One partition of a spout is asked for its tuples of a batch, by the spout's method `ask`; `meta` is what it remembers of before."""

    spout: Spout
    label: str
    where: str | None
    conf: Mapping[str, Any]
    ask: str
    tx: TransactionAttempt
    partition: Any
    meta: Any

    def __call__(self) -> tuple[list[Row], Any]:
        """Here, where the spout is open: its tuples, and what to remember."""
        with named(self.label, self.where):
            collector = TridentCollector(self.label, fields_of(self.spout))
            meta = getattr(self.spout, self.ask)(self.tx, collector, self.partition, self.meta)
            return collector.take(), meta

    def alone(self) -> tuple[list[Row], Any]:
        """In a process that knows nothing, with `open` and `close` around it."""
        with named(self.label, self.where):
            self.spout.open(self.conf, None)
        try:
            return self()
        finally:
            self.spout.close()


@dataclass(frozen=True)
class Emitted:
    """What a spout gave for a batch: the tuples, whether there are any, and, of each partition that was read, what to remember."""

    tuples: Partitions
    filled: bool
    metas: Sequence[Any] = ()


class Place(Protocol):
    """This process, or Spark's tasks."""

    def batch(self) -> AbstractContextManager[None]:
        """Around one attempt of a batch. FailedException comes out of it as that, wherever it was raised."""

    def put(self, rows: list[list[Row]]) -> Emitted:
        """Tuples that this process has, by partition."""

    def read(self, readings: Sequence[Reading]) -> Emitted:
        """What a spout gives, a partition for each reading."""


class InProcess:
    """This process."""

    @contextmanager
    def batch(self) -> Iterator[None]:
        """There is nothing to do."""
        yield

    def put(self, rows: list[list[Row]]) -> Emitted:
        """They stay where they are."""
        return Emitted(Local(rows), any(rows))

    def read(self, readings: Sequence[Reading]) -> Emitted:
        """One partition after the other."""
        rows, metas = [], []
        for reading in readings:
            some, meta = reading()
            rows.append(some)
            metas.append(meta)
        return Emitted(Local(rows), any(rows), metas)
