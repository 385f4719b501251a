"""State by key: `updateStateByKey`, which looks at every key in every batch, and `mapWithState`, which looks at the keys of the batch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pyspark import RDD, StorageLevel

from headrace.errors import DefinitionError, user_line
from headrace.fronts.dstreams.streams.nodes import AnyRDD, Node, Plan
from headrace.fronts.dstreams.streams.tasks import at, entries, packed, records, states, stepped
from headrace.fronts.dstreams.streams.windows import Windows
from headrace.fronts.dstreams.times import Duration, millis, moment

if TYPE_CHECKING:
    from headrace.fronts.dstreams.streams.dstream import DStream, MapWithStateDStream


class Keyed(Plan):
    """A plan whose RDD is the state after a batch. The initial state is that of the time before the first batch."""

    level = StorageLevel.MEMORY_ONLY
    saves = True
    initial: AnyRDD | None = None

    def __init__(self, parent: Node, partitions: int | None, initial: AnyRDD | Iterable[Any] | None) -> None:
        super().__init__(parent._slide, parent)
        sc = parent._ssc._sc
        self.partitions = partitions or sc.defaultParallelism
        if initial is not None:
            self.initial = initial if isinstance(initial, RDD) else sc.parallelize(list(initial))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "initial"}  # it is saved with the first batch

    def begin(self, zero: int, node: Node) -> None:
        if self.initial is not None:
            node._rdds[zero] = self.kept(self.initial.partitionBy(self.partitions), zero)

    def kept(self, pairs: AnyRDD, time: int) -> AnyRDD:
        """(key, state) pairs, partitioned, as the RDD keeps them."""
        raise NotImplementedError

    def pairs(self, rdd: AnyRDD) -> AnyRDD:
        """The (key, state) pairs of an RDD of this plan."""
        raise NotImplementedError

    def restored(self, rdd: AnyRDD) -> AnyRDD:
        """An RDD of this plan that was saved, partitioned as this process does it."""
        raise NotImplementedError


class Updated(Keyed):
    kind = "updateStateByKey"

    def __init__(self, parent: Node, update: Callable[..., Any], partitions: int | None, initial: AnyRDD | Iterable[Any] | None) -> None:
        super().__init__(parent, partitions, initial)
        self.update = update

    def compute(self, time: int, node: Node) -> AnyRDD | None:
        last, batch = node._rdd(time - self.slide), self.parents[0]._rdd(time)
        if batch is None:
            return last
        update = self.update
        if last is None:
            states = batch.groupByKey(self.partitions).mapValues(lambda values: update(list(values), None))
        else:
            both = last.cogroup(batch.partitionBy(self.partitions), self.partitions)
            states = both.mapValues(lambda sides: update(list(sides[1]), next(iter(sides[0]), None)))
        return states.filter(lambda pair: pair[1] is not None)

    def kept(self, pairs: AnyRDD, time: int) -> AnyRDD:
        return pairs

    def pairs(self, rdd: AnyRDD) -> AnyRDD:
        return rdd

    def restored(self, rdd: AnyRDD) -> AnyRDD:
        return rdd.partitionBy(self.partitions)


class Mapped(Keyed):
    kind = "mapWithState"

    def __init__(self, parent: Node, spec: StateSpec) -> None:
        super().__init__(parent, spec._partitions, spec._initial)
        self.function, self.takes_time, self.timeout = spec._function, spec._takes_time, spec._timeout

    def interval(self, batch: int) -> int:
        return 10 * max(batch, self.slide)

    def compute(self, time: int, node: Node) -> AnyRDD | None:
        last, batch = node._rdd(time - self.slide), self.parents[0]._rdd(time)
        batch = (node._ssc._nothing() if batch is None else batch).partitionBy(self.partitions)
        elements = batch.mapPartitions(records, preservesPartitioning=True)
        if last is not None:
            elements = _beside(last.mapPartitions(states, preservesPartitioning=True), elements, self.partitions)
        function = at(moment(time), self.function) if self.takes_time else self.function
        timeout, partitions = self.timeout, self.partitions
        return elements.mapPartitions(lambda part: stepped(part, function, time, timeout, partitions), preservesPartitioning=True)

    def kept(self, pairs: AnyRDD, time: int) -> AnyRDD:
        return self._packed(pairs.mapValues(lambda value: (value, time)))

    def pairs(self, rdd: AnyRDD) -> AnyRDD:
        return rdd.mapPartitions(entries, preservesPartitioning=True).mapValues(lambda entry: entry[0])

    def restored(self, rdd: AnyRDD) -> AnyRDD:
        return self._packed(rdd.mapPartitions(entries).partitionBy(self.partitions))

    def _packed(self, entries: AnyRDD) -> AnyRDD:
        partitions = self.partitions
        return entries.mapPartitions(lambda part: packed(part, partitions), preservesPartitioning=True)


def _beside(states: AnyRDD, records: AnyRDD, partitions: int) -> AnyRDD:
    """Partition by partition the states and then the records. Spark's union does that for RDDs that are partitioned alike."""
    union = states.union(records)
    assert union.getNumPartitions() == partitions, "the state is not partitioned as the records are"
    return union


class StateSpec:
    """What `mapWithState` does: `StateSpec.function(f).timeout(30).initialState(rdd)`.

    The function is called for each record, in the order of its partition: `f(key, value, state)` or `f(time, key, value, state)`. What it
    returns is an element of the stream, None is none. For a key that times out it is called once more, with None as the value.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        count = len(inspect.signature(function).parameters) if callable(function) else 0
        if count not in (3, 4):
            raise DefinitionError(
                f"StateSpec.function: {function!r} " + (f"takes {count} arguments" if count else "is no function"),
                fix="give f(key, value, state), or f(time, key, value, state)", where=user_line(),
            )  # fmt: skip
        self._function, self._takes_time = function, count == 4
        self._timeout: int | None = None
        self._partitions: int | None = None
        self._initial: AnyRDD | Iterable[Any] | None = None

    @staticmethod
    def function(mappingFunction: Callable[..., Any]) -> StateSpec:
        """The one thing that must be given."""
        return StateSpec(mappingFunction)

    def initialState(self, rdd: AnyRDD | Iterable[Any]) -> StateSpec:
        """(key, state) pairs to begin with, as an RDD or a list."""
        self._initial = rdd
        return self

    def numPartitions(self, numPartitions: int) -> StateSpec:
        """Into how many partitions the state is divided; Spark's default parallelism if not given."""
        self._partitions = numPartitions
        return self

    def timeout(self, idleDuration: Duration) -> StateSpec:
        """Forget a key that had no record for *longer* than so many seconds. It is noticed in the first batch after that."""
        self._timeout = millis("timeout", idleDuration)
        return self


class States(Windows):
    """The methods with state. They need a checkpoint directory: `ssc.checkpoint(…)`, or `sc.setCheckpointDir(…)`, without recovery."""

    def updateStateByKey(
        self, updateFunc: Callable[[list[Any], Any], Any], numPartitions: int | None = None,
        initialRDD: AnyRDD | Iterable[Any] | None = None,
    ) -> DStream:  # fmt: skip
        """(key, state) of *every* key, in every batch: state = updateFunc(the key's values in this batch, its state so far).

        `values` is an empty list for a key without records, the state so far is None for a new one. None as the result forgets the key. The
        cost of a batch grows with the number of keys; a state that is not forgotten stays."""
        return self._new(Updated(self, updateFunc, numPartitions, initialRDD))

    def mapWithState(self, spec: StateSpec) -> MapWithStateDStream:
        """What the function of the `spec` returns for each record of the batch, which may read and change the state of the record's key.

        Only the keys of the batch are looked at. `stateSnapshots()` of the result gives all (key, state). The state is kept in pickled
        parts, and a batch opens those it has keys of; the others are carried along unopened."""
        from headrace.fronts.dstreams.streams.dstream import DStream, MapWithStateDStream

        if not isinstance(spec, StateSpec):
            raise DefinitionError(
                f"mapWithState: {spec!r} is no StateSpec", fix="write mapWithState(StateSpec.function(f))", where=user_line()
            )
        return MapWithStateDStream(DStream(self._ssc, Mapped(self, spec)))

    def trackStateByKey(self, spec: StateSpec) -> MapWithStateDStream:
        """`mapWithState` by the name that it had before Spark 1.6."""
        return self.mapWithState(spec)
