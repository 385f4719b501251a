"""A topology that counts dogs, for tests that strike it in the middle of its third batch; also a program, to be killed.

Before: dog = 4 at txid 2. Two more dogs come, so 6 is right.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from headrace.trident import (
    Aggregator,
    Count,
    IOpaquePartitionedTridentSpout,
    IPartitionedTridentSpout,
    IRichSpout,
    LocalCluster,
    NonTransactionalMap,
    OpaqueMap,
    SqliteMapState,
    StateFactory,
    TransactionalMap,
    TransactionAttempt,
    TridentCollector,
    TridentTopology,
)

Plan = dict[tuple[int, int], dict[str, int]]
"""(txid, attempt) -> how many of each word can be read then."""

BEFORE: Plan = {(1, 0): {"dog": 3}, (2, 0): {"dog": 1}}
STORIES: dict[str, Plan] = {
    "same": BEFORE | {(3, 0): {"dog": 2}, (3, 1): {"dog": 2}},
    "fewer": BEFORE | {(3, 0): {"dog": 2}, (3, 1): {"dog": 1}, (4, 0): {"dog": 1}},
    "more": BEFORE | {(3, 0): {"dog": 1}, (3, 1): {"dog": 2}},
    "none": BEFORE | {(3, 0): {"dog": 2}, (3, 1): {"cat": 1}, (4, 0): {"dog": 2}},
}


class Opaque(IOpaquePartitionedTridentSpout):
    """Each word is a partition, the position how many of it were read. What can be read goes by a plan: a broker may be down."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def getOutputFields(self) -> Sequence[str]:
        return ["word"]

    def getPartitions(self) -> Sequence[str]:
        return ["dog", "cat"]

    def emitPartitionBatch(self, tx: TransactionAttempt, collector: TridentCollector, partition: str, lastPartitionMeta: int | None) -> int:
        assert tx.txid is not None
        there = self._plan.get((tx.txid, tx.attempt), {}).get(partition, 0)
        for _ in range(there):
            collector.emit([partition])
        return (lastPartitionMeta or 0) + there


class Transactional(IPartitionedTridentSpout):
    """One partition, which can be read again from any position: 3 dogs, 1 dog, 2 dogs."""

    log = ("dog",) * 6

    def getOutputFields(self) -> Sequence[str]:
        return ["word"]

    def getPartitions(self) -> Sequence[int]:
        return [0]

    def emitPartitionBatchNew(
        self, tx: TransactionAttempt, collector: TridentCollector, partition: int, lastPartitionMeta: tuple[int, int] | None
    ) -> tuple[int, int]:
        begin = lastPartitionMeta[1] if lastPartitionMeta else 0
        meta = (begin, {0: 3, 3: 4}.get(begin, len(self.log)))
        self.emitPartitionBatch(tx, collector, partition, meta)
        return meta

    def emitPartitionBatch(
        self, tx: TransactionAttempt, collector: TridentCollector, partition: int, partitionMeta: tuple[int, int]
    ) -> None:
        for word in self.log[slice(*partitionMeta)]:
            collector.emit([word])


class AtLeastOnce(IRichSpout):
    """A queue: what was not acked comes again, when it likes. It remembers acks in a file. `on_ack` is called before an ack is noted."""

    def __init__(self, home: Path, on_ack: Callable[[int], object] = id) -> None:
        self._file, self._on_ack = home / "acked", on_ack

    def getOutputFields(self) -> Sequence[str]:
        return ["word"]

    def open(self, conf: Any, context: Any) -> None:
        self._acked = set(json.loads(self._file.read_text())) if self._file.exists() else set()
        portions = [[0, 1, 2], [3], [4, 5], [6]]
        self._portions = [rest for portion in portions if (rest := [number for number in portion if number not in self._acked])]
        self._again: list[int] = []

    def nextTuple(self) -> None:
        if not self._portions and self._again:
            self._portions, self._again = [self._again], []
        if self._portions and self._portions[0]:
            number = self._portions[0].pop(0)
            self.collector.emit(["cat" if number == 6 else "dog"], number)
        elif self._portions:
            self._portions.pop(0)  # the end of a batch: nothing now

    def ack(self, id: int) -> None:
        self._on_ack(id)
        self._acked.add(id)
        self._file.write_text(json.dumps(sorted(self._acked)))

    def fail(self, id: int) -> None:
        self._again.append(id)


class Strike(Aggregator):
    """Behind the state: when the first attempt of the third batch has changed it."""

    def __init__(self, strike: Callable[[], None]) -> None:
        self._strike = strike

    def init(self, batchId: TransactionAttempt, collector: TridentCollector) -> None:
        if (batchId.txid, batchId.attempt) == (3, 0):
            self._strike()

    def aggregate(self, state: None, tuple: Any, collector: TridentCollector) -> None:
        pass


class BareStore:
    """A store of one's own, in ten lines: a dict."""

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}

    def multi_get(self, keys: list[Any]) -> list[Any]:
        return [self.values.get(key) for key in keys]

    def multi_put(self, keys: list[Any], values: list[Any]) -> None:
        self.values.update(zip(keys, values, strict=True))


MAPS: dict[str, type[Any]] = {"non-transactional": NonTransactionalMap, "transactional": TransactionalMap, "opaque": OpaqueMap}


def in_sqlite(kind: str, home: Path) -> StateFactory:
    make = {"non-transactional": SqliteMapState.nonTransactional, "transactional": SqliteMapState.transactional}
    return make.get(kind, SqliteMapState.opaque)(home / "state.db")


def without_rewind(home: Path) -> StateFactory:
    """An opaque map over the same table, as a store of one's own with `multi_get` and `multi_put` alone."""

    class Bare:
        def __init__(self) -> None:
            self._table = in_sqlite("opaque", home).makeState({}, 0, 1).backing
            self.multi_get, self.multi_put, self.close = self._table.multiGet, self._table.multiPut, self._table.close

    return OpaqueMap.factory(Bare)


def counting(spout: Any, factory: StateFactory, strike: Callable[[], None]) -> TridentTopology:
    topology = TridentTopology()
    counts = topology.newStream("words", spout).groupBy(["word"]).persistentAggregate(factory, Count(), ["count"])
    counts.newValuesStream().partitionAggregate(["count"], Strike(strike), ["nothing"])
    return topology


def stored(home: Path) -> int:
    connection = sqlite3.connect(home / "state.db")
    try:
        (value,) = connection.execute("SELECT value FROM state WHERE key = '[\"dog\"]'").fetchone()
    finally:
        connection.close()
    return json.loads(value)  # type: ignore[no-any-return]


def main(spout: str, state: str, story: str, home: Path) -> None:
    """Run to the end, and die at the strike, the first time."""

    def die() -> None:
        if not (home / "died").exists():
            (home / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    spouts: dict[str, Callable[[], Any]] = {
        "non-transactional": lambda: AtLeastOnce(home, lambda number: die() if number == 4 else None),
        "transactional": Transactional,
        "opaque": lambda: Opaque(STORIES[story]),
    }
    factory = without_rewind(home) if state == "opaque, bare" else in_sqlite(state, home)
    # A spout that promises nothing is struck where that shows: when the batch is committed, and it does not know yet.
    topology = counting(spouts[spout](), factory, (lambda: None) if spout == "non-transactional" else die)
    with LocalCluster(home=home) as cluster:
        cluster.submitTopology("dogs", {}, topology).process_all()


if __name__ == "__main__":
    main(*sys.argv[1:4], Path(sys.argv[4]))
