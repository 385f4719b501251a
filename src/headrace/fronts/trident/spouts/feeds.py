"""A spout as the coordinator sees it: it gives the tuples of a batch, and what must be remembered of that, before and after the commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.fronts.trident.operations import TransactionAttempt
from headrace.fronts.trident.running.places import Emitted, Place, Reading
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

    def __init__(self, spout: Any, label: str, where: str | None, conf: Mapping[str, Any], remembered: Any) -> None:
        self.spout, self.label, self.where, self.conf, self.remembered = spout, label, where, conf, remembered

    def emit(self, tx: TransactionAttempt, place: Place) -> Emitted:
        """The tuples of a batch, for each partition of the spout, put into a place."""
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

    def emit(self, tx: TransactionAttempt, place: Place) -> Emitted:
        assert tx.txid is not None
        collector = TridentCollector(self.label, fields_of(self.spout))
        self.spout.emitBatch(tx.txid, collector)
        return place.put([collector.take()])

    def succeeded(self, tx: TransactionAttempt) -> None:
        assert tx.txid is not None
        self.spout.ack(tx.txid)
        super().succeeded(tx)


class RichFeed(Feed):
    """Of an IRichSpout: it is told which tuples failed before it is asked again."""

    spout: IRichSpout

    def __init__(self, spout: IRichSpout, label: str, *more: Any) -> None:
        super().__init__(spout, label, *more)
        spout.collector = self._collector = SpoutCollector(fields_of(spout), label)

    def emit(self, tx: TransactionAttempt, place: Place) -> Emitted:
        failed, self._collector.ids = self._collector.ids, []
        for id in failed:
            self.spout.fail(id)
        rows: list[Row] = []
        for _ in range(_MOST_POLLS):
            self.spout.nextTuple()
            if not (emitted := self._collector.take()):
                break
            rows += emitted
        return place.put([rows])

    def succeeded(self, tx: TransactionAttempt) -> None:
        acked, self._collector.ids = self._collector.ids, []
        for id in acked:
            self.spout.ack(id)
        super().succeeded(tx)


class PartitionedFeed(Feed):
    """Of a spout with partitions. `remembered["last"]` are pairs of a partition and where it is."""

    def new(self, ask: str, tx: TransactionAttempt, place: Place) -> tuple[Emitted, list[Any]]:
        """The next tuples of each partition, and pairs of the partition and what is to be remembered of it."""
        partitions, last = list(self.spout.getPartitions()), (self.remembered or {"last": []})["last"]
        before = [next((meta for name, meta in last if name == partition), None) for partition in partitions]
        emitted = place.read([self.reading(ask, tx, *pair) for pair in zip(partitions, before, strict=True)])
        return emitted, [list(pair) for pair in zip(partitions, emitted.metas, strict=True)]

    def reading(self, ask: str, tx: TransactionAttempt, partition: Any, meta: Any) -> Reading:
        return Reading(self.spout, self.label, self.where, self.conf, ask, tx, partition, meta)

    def moved(self, metas: Sequence[Any]) -> list[Any]:
        """Where all partitions are after a batch: one that had no turn in it stays where it was."""
        names = [name for name, _ in metas]
        return [*metas, *(pair for pair in (self.remembered or {"last": []})["last"] if pair[0] not in names)]


class TransactionalFeed(PartitionedFeed):
    """Of an IPartitionedTridentSpout. What a txid means is remembered before the batch is computed."""

    spout: IPartitionedTridentSpout

    def emit(self, tx: TransactionAttempt, place: Place) -> Emitted:
        known = self.remembered
        if known is not None and known["txid"] == tx.txid:
            return place.read([self.reading("emitPartitionBatch", tx, *pair) for pair in known["metas"]])
        emitted, metas = self.new("emitPartitionBatchNew", tx, place)
        if emitted.filled:
            self.remembered = {"txid": tx.txid, "metas": metas, "last": (known or {"last": []})["last"]}
        return emitted

    def committed(self) -> Any:
        if self.remembered is not None:
            self.remembered["last"] = self.moved(self.remembered["metas"])
        return self.remembered


class OpaqueFeed(PartitionedFeed):
    """Of an IOpaquePartitionedTridentSpout. How far it has come is remembered with the commit: a replay begins where the batch began."""

    spout: IOpaquePartitionedTridentSpout

    def emit(self, tx: TransactionAttempt, place: Place) -> Emitted:
        emitted, self._new = self.new("emitPartitionBatch", tx, place)
        return emitted

    def committed(self) -> Any:
        self.remembered = {"last": self.moved(self._new)}
        return self.remembered


_FEEDS: dict[type[Spout], type[Feed]] = {
    IBatchSpout: BatchFeed,
    IRichSpout: RichFeed,
    IPartitionedTridentSpout: TransactionalFeed,
    IOpaquePartitionedTridentSpout: OpaqueFeed,
}


def feed(spout: Spout, *more: Any) -> Feed:
    """The feed of a spout, which goes on from what the journal has of it."""
    return next(kind(spout, *more) for base, kind in _FEEDS.items() if isinstance(spout, base))
