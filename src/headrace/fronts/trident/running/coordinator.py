"""The coordinator of a topology in this process: one batch after the other, each until it is committed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.fronts.trident.nodes import Graph, Source, Windowed
from headrace.fronts.trident.operations import TransactionAttempt
from headrace.fronts.trident.running.batches import Batches
from headrace.fronts.trident.running.journal import Journal
from headrace.fronts.trident.running.places import InProcess, Place
from headrace.fronts.trident.running.work import named
from headrace.fronts.trident.spouts.feeds import Feed, feed
from headrace.fronts.trident.tuples import FailedException


class Coordinator:
    """Commits are strictly in the order of the txids, for a batch begins when the one before it is committed.

    A batch that fails runs again under the same txid with a higher attempt, also after the process was killed. There is no batch without
    tuples, except where a window goes by time, and where an attempt has begun: its replay may be empty.
    """

    def __init__(
        self, graph: Graph, batches: Batches, journal: Journal, conf: Mapping[str, Any] | None = None, place: Place | None = None
    ) -> None:
        sources = [node for node in graph.nodes if isinstance(node, Source) and not node.asked]
        self._graph, self._batches, self._journal = graph.below(sources), batches, journal
        self._conf, self._place = conf or {}, place or InProcess()
        self._feeds: dict[Source, Feed] = {
            source: feed(source.origin, source.label, source.where, self._conf, journal.get(f"spout {source.id}")) for source in sources
        }
        self.txid, self._attempt = journal.at()
        self._ticks = any(isinstance(node, Windowed) and node.by_time for node in graph.nodes)
        self.failures, self.in_a_row, self.reason = 0, 0, ""

    def open(self) -> None:
        """Open the spouts."""
        for source, each in self._feeds.items():
            with named(source.label, source.where):
                each.spout.open(self._conf, None)

    def close(self) -> None:
        """Close the spouts."""
        for each in self._feeds.values():
            each.spout.close()

    def step(self) -> bool:
        """One attempt of one batch; False if there was nothing to do. `in_a_row` are its failures so far, `reason` is that of the last."""
        try:
            with self._place.batch():
                worked = self._run(TransactionAttempt(self.txid, self._attempt))
        except FailedException as failure:
            self.failures += 1
            self.in_a_row, self.reason = self.in_a_row + 1, str(failure)
            return True
        self.in_a_row = 0
        return worked

    def _run(self, tx: TransactionAttempt) -> bool:
        emitted = {}
        for source, each in self._feeds.items():
            with named(source.label, source.where):
                emitted[source] = each.emit(tx, self._place)
        filled = any(each.filled for each in emitted.values())
        if not filled and tx.attempt == 0 and not self._ticks:
            return False
        self._attempt += 1
        self._journal.write(self.txid, self._attempt, {source.id: each.begun() for source, each in self._feeds.items()})
        self._batches.run(self._graph, tx, {source: each.tuples for source, each in emitted.items()})
        self._journal.write(self.txid + 1, 0, {source.id: each.committed() for source, each in self._feeds.items()})
        self.txid, self._attempt = self.txid + 1, 0
        for each in self._feeds.values():
            each.succeeded(tx)
        return filled
