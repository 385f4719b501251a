"""A spout as the coordinator sees it: it gives the tuples of a batch, and what must be remembered of that, before and after the commit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.fronts.trident.operations import TransactionAttempt
from headrace.fronts.trident.spouts.kinds import (
    IBatchSpout,
    IOpaquePartitionedTridentSpout,
    IPartitionedTridentSpout,
    IRichSpout,
    Spout,
    SpoutCollector,
    fields_of,
)
from headrace.fronts.trident.tuples import Row, TridentCollector

_MOST_POLLS = 1000  # of an IRichSpout for one batch


class Feed:
    """`remembered` is JSON: what the journal keeps of this spout."""

    def __init__(self, spout: Any, label: str, remembered: Any) -> None:
        self.spout, self.label, self.remembered = spout, label, remembered
        self.fields = fields_of(spout)

    def collector(self) -> TridentCollector:
        """For one partition of one batch."""
        return TridentCollector(self.label, self.fields)

    def emit(self, tx: TransactionAttempt) -> list[list[Row]]:
        """The tuples of a batch, for each partition of the spout."""
        raise NotImplementedError

    def begun(self) -> Any:
        """What to remember before the batch is computed."""
        return self.remembered

    def committed(self) -> Any:
        """What to remember together with the commit."""
        return self.remembered

    def succeeded(self, tx: TransactionAttempt) -> None:
        """The batch is committed, and so remembered."""
        self.spout.success(tx)


class BatchFeed(Feed):
    """Of an IBatchSpout."""

    spout: IBatchSpout

    def emit(self, tx: TransactionAttempt) -> list[list[Row]]:
        assert tx.txid is not None
        collector = self.collector()
        self.spout.emitBatch(tx.txid, collector)
        return [collector.take()]

    def succeeded(self, tx: TransactionAttempt) -> None:
        assert tx.txid is not None
        self.spout.ack(tx.txid)
        super().succeeded(tx)


class RichFeed(Feed):
    """Of an IRichSpout: it is told which tuples failed before it is asked again."""

    spout: IRichSpout

    def __init__(self, spout: IRichSpout, label: str, remembered: Any) -> None:
        super().__init__(spout, label, remembered)
        spout.collector = self._collector = SpoutCollector(self.fields, label)

    def emit(self, tx: TransactionAttempt) -> list[list[Row]]:
        failed, self._collector.ids = self._collector.ids, []
        for id in failed:
            self.spout.fail(id)
        rows: list[Row] = []
        for _ in range(_MOST_POLLS):
            self.spout.nextTuple()
            if not (emitted := self._collector.take()):
                break
            rows += emitted
        return [rows]

    def succeeded(self, tx: TransactionAttempt) -> None:
        acked, self._collector.ids = self._collector.ids, []
        for id in acked:
            self.spout.ack(id)
        super().succeeded(tx)


class TransactionalFeed(Feed):
    """Of an IPartitionedTridentSpout. What a txid means is remembered before the batch is computed."""

    spout: IPartitionedTridentSpout

    def emit(self, tx: TransactionAttempt) -> list[list[Row]]:
        known = self.remembered or {"txid": 0, "metas": [], "last": []}
        if known["txid"] == tx.txid:
            return [self._partition(lambda c, p=p, m=m: self.spout.emitPartitionBatch(tx, c, p, m))[0] for p, m in known["metas"]]  # type: ignore[misc]
        last = known["last"]
        rows, metas = [], []
        for partition in self.spout.getPartitions():
            before = next((meta for name, meta in last if name == partition), None)
            some, meta = self._partition(lambda c, p=partition, m=before: self.spout.emitPartitionBatchNew(tx, c, p, m))  # type: ignore[misc]
            rows.append(some)
            metas.append([partition, meta])
        if any(rows):
            self.remembered = {"txid": tx.txid, "metas": metas, "last": last}
        return rows

    def _partition(self, emit: Callable[[TridentCollector], Any]) -> tuple[list[Row], Any]:
        collector = self.collector()
        meta = emit(collector)
        return collector.take(), meta

    def committed(self) -> Any:
        known = self.remembered
        if known is not None:  # a partition that had no turn in this batch stays where it was
            moved = [name for name, _ in known["metas"]]
            known["last"] = [*known["metas"], *([name, meta] for name, meta in known["last"] if name not in moved)]
        return known


class OpaqueFeed(TransactionalFeed):
    """Of an IOpaquePartitionedTridentSpout. How far it has come is remembered with the commit: a replay begins where the batch began."""

    spout: IOpaquePartitionedTridentSpout  # type: ignore[assignment]

    def emit(self, tx: TransactionAttempt) -> list[list[Row]]:
        last = (self.remembered or {"last": []})["last"]
        rows, self._new = [], []
        for partition in self.spout.getPartitions():
            before = next((meta for name, meta in last if name == partition), None)
            some, meta = self._partition(lambda c, p=partition, m=before: self.spout.emitPartitionBatch(tx, c, p, m))  # type: ignore[misc]
            rows.append(some)
            self._new.append([partition, meta])
        return rows

    def committed(self) -> Any:
        moved = [name for name, _ in self._new]
        last = (self.remembered or {"last": []})["last"]
        self.remembered = {"last": [*self._new, *([name, meta] for name, meta in last if name not in moved)]}
        return self.remembered


_FEEDS: dict[type[Spout], type[Feed]] = {
    IBatchSpout: BatchFeed,
    IRichSpout: RichFeed,
    IPartitionedTridentSpout: TransactionalFeed,
    IOpaquePartitionedTridentSpout: OpaqueFeed,
}


def feed(spout: Spout, label: str, remembered: Any) -> Feed:
    """The feed of a spout, which goes on from what the journal has of it."""
    return next(kind(spout, label, remembered) for base, kind in _FEEDS.items() if isinstance(spout, base))
