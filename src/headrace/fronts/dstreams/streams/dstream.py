"""DStream: a stream as a sequence of RDDs, one for each batch."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from pyspark import StorageLevel

from headrace.errors import ArgumentError, unknown_name, user_line
from headrace.fronts.dstreams.streams.nodes import AnyRDD
from headrace.fronts.dstreams.streams.outputs import Outputs
from headrace.fronts.dstreams.streams.states import Mapped
from headrace.fronts.dstreams.streams.tasks import mapped
from headrace.fronts.dstreams.times import Duration, instant, millis, words

if TYPE_CHECKING:
    from headrace.fronts.dstreams.context import StreamingContext

_HINTS = {
    "saveAsTextFile": "each batch is a directory of its own: saveAsTextFiles(prefix)",
    "saveAsObjectFiles": "objects of Python are pickled: saveAsPickleFiles(prefix)",
    "collect": "a stream does not end; look at each batch: stream.foreachRDD(lambda rdd: print(rdd.collect()))",
    "sortByKey": "a batch is an RDD: stream.transform(lambda rdd: rdd.sortByKey())",
    "distinct": "a batch is an RDD: stream.transform(lambda rdd: rdd.distinct())",
}


class DStream(Outputs):
    """A stream, made by a `StreamingContext` or by a method of another. All methods but the outputs give a new one, and compute nothing
    yet."""

    def __class_getitem__(cls, _: Any) -> type[DStream]:
        """Programs write DStream[str]."""
        return cls

    def context(self) -> StreamingContext:
        """The StreamingContext that it belongs to."""
        return self._ssc

    def cache(self) -> DStream:
        """Keep each batch's RDD in memory, for outputs that use it several times."""
        return self.persist(StorageLevel.MEMORY_ONLY)

    def persist(self, storageLevel: StorageLevel = StorageLevel.MEMORY_ONLY) -> DStream:
        """The same in another way, such as `StorageLevel.MEMORY_AND_DISK`. It is let go when no later batch needs it."""
        self._ssc._changeable("persist")
        self._level = storageLevel
        return self

    def checkpoint(self, interval: Duration) -> DStream:
        """Save the RDD every `interval` seconds, a multiple of the stream's slide. Streams with state do so by themselves."""
        self._ssc._changeable("checkpoint")
        value = millis("checkpoint", interval)
        if value % self._slide:
            raise ArgumentError(
                f"checkpoint: {words(value)} is not a multiple of {words(self._slide)}, the interval at which the stream has a batch",
                fix=f"take {words(self._slide * -(-value // self._slide))}", where=user_line(),
            )  # fmt: skip
        self._interval = value
        return self

    def setName(self, name: str) -> DStream:
        """A name by which new code finds the state or the position of this stream in a checkpoint of older code.

        Without it, streams are taken in their order: the second `updateStateByKey` goes on where the second one was."""
        self._ssc._changeable("setName")
        self._name = name
        return self

    def slice(self, begin: datetime | float, end: datetime | float) -> list[AnyRDD]:
        """The RDDs of the batches from `begin` to `end`, both included, rounded down to the stream's slide.

        Only of batches that have been, and that are remembered: `ssc.remember(seconds)`."""
        ssc = self._ssc
        first, last = (instant("slice", time) - ssc._zero for time in (begin, end))
        with ssc._lock:
            upto = min(last // self._slide * self._slide, ssc._latest - ssc._zero)
            return self._between(ssc._zero + first // self._slide * self._slide - self._slide, ssc._zero + upto)

    def __getattr__(self, name: str) -> Any:
        raise unknown_name("a DStream", name, [each for each in dir(type(self)) if not each.startswith("_")], _HINTS)


class MapWithStateDStream(DStream):
    """What `mapWithState` gives: the elements that its function returned."""

    def __init__(self, steps: DStream) -> None:
        from headrace.fronts.dstreams.streams.transforms import Transform

        self._steps = steps
        super().__init__(steps._ssc, Transform(lambda _, rdd: rdd.mapPartitions(mapped), steps))

    def stateSnapshots(self) -> DStream:
        """All (key, state) after each batch."""
        plan = self._steps._plan
        assert isinstance(plan, Mapped)
        return self._steps.transform(lambda rdd: plan.pairs(rdd))

    def checkpoint(self, interval: Duration) -> DStream:
        """Save the state every `interval` seconds; every ten batches if nothing is said."""
        self._steps.checkpoint(interval)
        return self

    def setName(self, name: str) -> DStream:
        """A name for the state in the checkpoint."""
        self._steps.setName(name)
        return self
