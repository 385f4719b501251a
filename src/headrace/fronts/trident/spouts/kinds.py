"""Spouts: where batches come from, and what each kind promises of a batch that is replayed.

| kind | fill in | promise |
|---|---|---|
| non-transactional | IBatchSpout, IRichSpout | none |
| transactional | IPartitionedTridentSpout | a txid always means the same tuples |
| opaque | IOpaquePartitionedTridentSpout | each tuple succeeds in one batch; a replay begins at the same place, and may hold other tuples |

A position that a spout returns is kept as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from headrace.errors import DefinitionError, user_line
from headrace.fronts.trident.operations import TransactionAttempt
from headrace.fronts.trident.spelling import Spelled
from headrace.fronts.trident.states.kinds import Kind
from headrace.fronts.trident.tuples import Fields, TridentCollector


class Spout(Spelled):
    """What all spouts have. `getOutputFields` names the fields of their tuples.

    remote  of a spout with partitions: whether any process can open it. On Spark its partitions are then read within the tasks, by copies
            of it that are opened and closed for that; others are read in the driver, and what they give is sent to the tasks.
    """

    kind: ClassVar[Kind] = "non-transactional"
    remote: bool = False

    def open(self, conf: Mapping[str, Any], context: Any) -> None:
        """Before the first batch."""

    def close(self) -> None:
        """After the last one."""

    def success(self, tx: TransactionAttempt) -> None:
        """This batch is committed, and will not come back."""

    def getOutputFields(self) -> Sequence[str]:
        """The names of the fields."""
        raise NotImplementedError(f"{type(self).__name__} has no getOutputFields(self)")


class IBatchSpout(Spout):
    """A batch at a time. It is asked again, with the same txid, when the batch is replayed, and may give what it likes."""

    def emitBatch(self, batchId: int, collector: TridentCollector) -> None:
        """Emit the tuples of a batch; nothing if there is nothing now."""
        raise NotImplementedError(f"{type(self).__name__} has no emitBatch(self, batchId, collector)")

    def ack(self, batchId: int) -> None:
        """The batch, and all before it, will not come back."""


class IRichSpout(Spout):
    """A tuple at a time: `nextTuple` is called until it emits nothing, at most a thousand times a batch. It emits at `self.collector`."""

    collector: SpoutCollector

    def nextTuple(self) -> None:
        """Emit a tuple, with an id of its own: `self.collector.emit([value], id)`; or nothing."""
        raise NotImplementedError(f"{type(self).__name__} has no nextTuple(self)")

    def ack(self, id: Any) -> None:
        """The batch with this tuple has succeeded."""

    def fail(self, id: Any) -> None:
        """The batch with this tuple has failed: emit it again, or not."""


class IPartitionedTridentSpout(Spout):
    """Reads partitions of something that can be read again from a position: a txid always means the same tuples."""

    kind = "transactional"

    def getPartitions(self) -> Sequence[Any]:
        """The partitions that there are now: text or numbers."""
        raise NotImplementedError(f"{type(self).__name__} has no getPartitions(self)")

    def emitPartitionBatchNew(self, tx: TransactionAttempt, collector: TridentCollector, partition: Any, lastPartitionMeta: Any) -> Any:
        """Emit the next tuples behind the last position (None at the beginning); return what it takes to emit the same once more."""
        raise NotImplementedError(f"{type(self).__name__} has no emitPartitionBatchNew(self, tx, collector, partition, lastPartitionMeta)")

    def emitPartitionBatch(self, tx: TransactionAttempt, collector: TridentCollector, partition: Any, partitionMeta: Any) -> None:
        """Emit the same once more."""
        raise NotImplementedError(f"{type(self).__name__} has no emitPartitionBatch(self, tx, collector, partition, partitionMeta)")


class IOpaquePartitionedTridentSpout(Spout):
    """Reads partitions of something: a replay begins at the same position, and takes what it can get."""

    kind = "opaque"

    def getPartitions(self) -> Sequence[Any]:
        """The partitions that there are now: text or numbers."""
        raise NotImplementedError(f"{type(self).__name__} has no getPartitions(self)")

    def emitPartitionBatch(self, tx: TransactionAttempt, collector: TridentCollector, partition: Any, lastPartitionMeta: Any) -> Any:
        """Emit the next tuples behind the last position (None at the beginning); return the new one."""
        raise NotImplementedError(f"{type(self).__name__} has no emitPartitionBatch(self, tx, collector, partition, lastPartitionMeta)")


class SpoutCollector:
    """Where an IRichSpout emits: `emit(values, id)`."""

    def __init__(self, fields: Sequence[str], label: str) -> None:
        self._collector = TridentCollector(label, fields)
        self.ids: list[Any] = []

    def emit(self, values: Sequence[Any], id: Any = None) -> None:
        """One tuple; without an id nobody hears of it again."""
        self._collector.emit(values)
        if id is not None:
            self.ids.append(id)

    def take(self) -> list[tuple[Any, ...]]:
        """What was emitted since the last call."""
        return self._collector.take()


def fields_of(spout: Spout) -> Fields:
    """Its fields; DefinitionError if it has none."""
    fields = Fields(spout.getOutputFields())
    if not fields:
        raise DefinitionError(f"{type(spout).__name__} has no fields", fix="let getOutputFields name them", where=user_line())
    return fields


def most_of(spout: Spout) -> int | None:
    """How many partitions it can have: one that is asked for whole batches has one."""
    return None if isinstance(spout, IPartitionedTridentSpout | IOpaquePartitionedTridentSpout) else 1
