"""Topologies for tests: run to the end of their spouts, with what came out of a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.trident import (
    FeederBatchSpout,
    IOpaquePartitionedTridentSpout,
    LocalCluster,
    Stream,
    TransactionAttempt,
    TridentCollector,
    TridentTopology,
)

Rows = list[tuple[Any, ...]]


class Partitioned(IOpaquePartitionedTridentSpout):
    """Each batch is a list of partitions, each a list of tuples. The position is the number of the batch."""

    def __init__(self, fields: Sequence[str], *batches: Sequence[Sequence[Sequence[Any]]]) -> None:
        self._fields, self._batches = fields, batches

    def getOutputFields(self) -> Sequence[str]:
        return self._fields

    def getPartitions(self) -> Sequence[int]:
        return range(max(map(len, self._batches)))

    def emitPartitionBatch(self, tx: TransactionAttempt, collector: TridentCollector, partition: int, lastPartitionMeta: int | None) -> int:
        number = lastPartitionMeta or 0
        if number == len(self._batches):
            return number
        for values in self._batches[number][partition] if partition < len(self._batches[number]) else ():
            collector.emit(values)
        return number + 1


def run(topology: TridentTopology, conf: Mapping[str, Any] | None = None) -> None:
    with LocalCluster() as cluster:
        cluster.submitTopology("test", conf or {}, topology.build()).process_all()


def results(fields: Sequence[str], batches: Sequence[Sequence[Any]], use: Callable[[Stream], Stream]) -> list[Rows]:
    """What a stream gives for each batch; a batch is a list of tuples, in one partition."""
    return [sorted(rows, key=repr) for rows in by_batch(fields, [[batch] for batch in batches], use, partitions=1)]


def by_batch(
    fields: Sequence[str], batches: Sequence[Sequence[Sequence[Any]]], use: Callable[[Stream], Stream], partitions: int
) -> list[Rows]:
    """What a stream gives for each batch, of batches in so many partitions."""
    out: list[Rows] = []
    for batch in batches:
        topology, rows = TridentTopology(), []
        stream = topology.newStream("in", Partitioned(fields, batch)).parallelismHint(partitions)
        use(stream).peek(lambda t, rows=rows: rows.append(tuple(t)))
        run(topology)
        out.append(rows)
    return out


def fed(*fields: str) -> tuple[TridentTopology, FeederBatchSpout, Stream]:
    """A topology with a spout to feed."""
    topology, spout = TridentTopology(), FeederBatchSpout(fields)
    return topology, spout, topology.newStream("in", spout)
