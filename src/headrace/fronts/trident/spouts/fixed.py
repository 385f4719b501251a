"""Spouts for tests and first steps."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.errors import JobError, user_line
from headrace.fronts.trident.operations import TransactionAttempt
from headrace.fronts.trident.spouts.kinds import IBatchSpout, IPartitionedTridentSpout
from headrace.fronts.trident.tuples import Fields, TridentCollector


class FixedBatchSpout(IBatchSpout):
    """These tuples, so many in a batch: `FixedBatchSpout(fields, 3, [value], [value], …)`; with `setCycle(True)` again and again.

    A replay within the process has the same tuples. After a crash it begins anew, so it counts as non-transactional.
    """

    def __init__(self, fields: str | Sequence[str], maxBatchSize: int, *tuples: Sequence[Any]) -> None:
        self._fields, self._size, self._tuples = Fields(fields), maxBatchSize, tuples
        self._next, self._cycle = 0, False
        self._batches: dict[int, Sequence[Sequence[Any]]] = {}

    def setCycle(self, cycle: bool) -> None:
        """Whether to begin again at the end."""
        self._cycle = cycle

    def getOutputFields(self) -> Fields:
        """As given."""
        return self._fields

    def emitBatch(self, batchId: int, collector: TridentCollector) -> None:
        """The next tuples, or those that this batch had before."""
        if batchId not in self._batches:
            if self._cycle and self._next >= len(self._tuples):
                self._next = 0
            some = self._tuples[self._next : self._next + self._size]
            self._next += len(some)
            if some:
                self._batches[batchId] = some
        for values in self._batches.get(batchId, ()):
            collector.emit(values)

    def ack(self, batchId: int) -> None:
        """Forget the batch."""
        self._batches.pop(batchId, None)


class FeederBatchSpout(IPartitionedTridentSpout):
    """What the program feeds: `spout.feed([[value], [value]])` is one batch. A replay has the same tuples, as long as the process lives."""

    def __init__(self, fields: str | Sequence[str]) -> None:
        self._fields = Fields(fields)
        self._fed: list[Sequence[Sequence[Any]]] = []
        self._done = self._emitted = 0
        self._open = False
        self._changed = threading.Condition()

    def feed(self, tuples: Sequence[Sequence[Any]]) -> None:
        """One batch. If the topology runs, wait until it is committed; JobError if the topology ends before."""
        with self._changed:
            self._fed.append(list(tuples))
            number = len(self._fed)
            if self._open:
                self._changed.wait_for(lambda: self._done >= number or not self._open)
                if self._done < number:
                    raise JobError("the topology ended before this batch was committed", fix="see what ended it", where=user_line())

    def getOutputFields(self) -> Fields:
        """As given."""
        return self._fields

    def open(self, conf: Mapping[str, Any], context: Any) -> None:
        """From now on `feed` waits."""
        self._open = True

    def close(self) -> None:
        """And no longer."""
        with self._changed:
            self._open = False
            self._changed.notify_all()

    def getPartitions(self) -> Sequence[int]:
        """One."""
        return [0]

    def emitPartitionBatchNew(self, tx: TransactionAttempt, collector: TridentCollector, partition: Any, lastPartitionMeta: Any) -> Any:
        """The batch that was fed next; its number is its position."""
        number = (lastPartitionMeta or 0) + 1 if len(self._fed) > (lastPartitionMeta or 0) else lastPartitionMeta
        if number != lastPartitionMeta:
            self.emitPartitionBatch(tx, collector, partition, number)
        return number

    def emitPartitionBatch(self, tx: TransactionAttempt, collector: TridentCollector, partition: Any, partitionMeta: Any) -> None:
        """The same once more."""
        for values in self._fed[partitionMeta - 1]:
            collector.emit(values)
        self._emitted = partitionMeta

    def success(self, tx: TransactionAttempt) -> None:
        """Who fed it need not wait any more."""
        with self._changed:
            self._done = self._emitted
            self._changed.notify_all()
