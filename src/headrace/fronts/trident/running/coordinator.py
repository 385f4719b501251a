"""The coordinator of a topology in this process: one batch after the other, each until it is committed."""

from __future__ import annotations

from headrace.fronts.trident.nodes import Graph, Source, Windowed
from headrace.fronts.trident.operations import TransactionAttempt
from headrace.fronts.trident.running.batches import Batches
from headrace.fronts.trident.running.journal import Journal
from headrace.fronts.trident.running.partitions import Local
from headrace.fronts.trident.running.work import named
from headrace.fronts.trident.spouts.feeds import Feed, feed
from headrace.fronts.trident.tuples import FailedException


class Coordinator:
    """Commits are strictly in the order of the txids, for a batch begins when the one before it is committed.

    A batch that fails runs again under the same txid with a higher attempt, also after the process was killed. There is no batch without
    tuples, except where a window goes by time, and where an attempt has begun: its replay may be empty.
    """

    def __init__(self, graph: Graph, batches: Batches, journal: Journal) -> None:
        sources = [node for node in graph.nodes if isinstance(node, Source) and not node.asked]
        self._graph, self._batches, self._journal = graph.below(sources), batches, journal
        self._feeds: dict[Source, Feed] = {
            source: feed(source.origin, source.label, journal.get(f"spout {source.id}")) for source in sources
        }
        self._txid, self._attempt = journal.at()
        self._ticks = any(isinstance(node, Windowed) and node.by_time for node in graph.nodes)
        self.failures = 0

    def open(self, conf: dict[str, object]) -> None:
        """Open the spouts."""
        for source, each in self._feeds.items():
            with named(source.label, source.where):
                each.spout.open(conf, None)

    def close(self) -> None:
        """Close the spouts."""
        for each in self._feeds.values():
            each.spout.close()

    def step(self) -> bool:
        """One attempt of one batch; False if there was nothing to do."""
        tx = TransactionAttempt(self._txid, self._attempt)
        rows = {}
        for source, each in self._feeds.items():
            with named(source.label, source.where):
                rows[source] = Local(each.emit(tx))
        filled = any(part for local in rows.values() for part in local.rows)
        if not filled and tx.attempt == 0 and not self._ticks:
            return False
        self._attempt += 1
        self._journal.write(self._txid, self._attempt, {source.id: each.begun() for source, each in self._feeds.items()})
        try:
            self._batches.run(self._graph, tx, rows)
        except FailedException:
            self.failures += 1
            return True
        self._journal.write(self._txid + 1, 0, {source.id: each.committed() for source, each in self._feeds.items()})
        self._txid, self._attempt = self._txid + 1, 0
        for each in self._feeds.values():
            each.succeeded(tx)
        return filled
