"""Operations on each batch alone: whatever RDDs have, applied to the RDD of every batch."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pyspark.core.rdd import portable_hash

from headrace.errors import DefinitionError, user_line
from headrace.fronts.dstreams.streams.nodes import AnyRDD, Node, Plan, same_context, same_slide
from headrace.fronts.dstreams.times import moment

if TYPE_CHECKING:
    from headrace.fronts.dstreams.streams.dstream import DStream

Function = Callable[..., Any]


class Transform(Plan):
    """A function of the batch's time and the RDDs of the parents."""

    kind = "transform"

    def __init__(self, function: Function, *parents: Node) -> None:
        super().__init__(parents[0]._slide, *parents)
        self.function = function

    def compute(self, time: int, node: Node) -> AnyRDD | None:
        rdds = [parent._rdd(time) for parent in self.parents]
        return None if None in rdds else self.function(moment(time), *rdds)


def with_time(at: str, function: Function, rdds: int) -> Function:
    """A function of the user as one of (time, rdd, …), whether it wants the time or not.

    It does if it must have one argument more than there are RDDs: `lambda rdd: …` does not, `lambda time, rdd: …` does.
    """
    if not callable(function):
        raise DefinitionError(
            f"{at}: {function!r} is no function", fix=f"give a function of {rdds} RDD{'s' * (rdds > 1)}", where=user_line()
        )
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of a function in C nobody knows
        return lambda _, *batch: function(*batch)
    places = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    needed = sum(each.default is each.empty for each in places)
    any_number = any(each.kind is each.VAR_POSITIONAL for each in parameters)
    if needed == rdds + 1 or (needed <= rdds + 1 and any_number):
        return function
    if needed > rdds + 1 or len(places) < rdds:
        raise DefinitionError(
            f"{at}: the function takes {needed} argument{'s' * (needed != 1)}",
            fix=f"it is called with {rdds} RDD{'s' * (rdds > 1)}, or with the batch's time and {'these' if rdds > 1 else 'it'}",
            where=user_line(),
        )
    return lambda _, *batch: function(*batch)


class Transforms(Node):
    """The methods that change each batch by itself. Functions get Python objects: a stream has no columns, and keys may be of any type."""

    def transform(self, func: Function) -> DStream:
        """Any RDD code: `func(rdd)` or `func(time, rdd)` gives the RDD of the new stream. It runs on the driver, once a batch.

        So a static RDD can be joined, and what the function uses can change from batch to batch."""
        return self._new(Transform(with_time("transform", func, 1), self))

    def transformWith(self, func: Function, other: DStream, keepSerializer: bool = False) -> DStream:
        """`func(rdd, other)` or `func(time, rdd, other)`: the two RDDs of the same time. `keepSerializer` is taken, and changes nothing."""
        same_context("transformWith", [self, other])
        same_slide("transformWith", [self, other])
        return self._new(Transform(with_time("transformWith", func, 2), self, other))

    def map(self, f: Function, preservesPartitioning: bool = False) -> DStream:
        """`f` of each element."""
        return self.transform(lambda rdd: rdd.map(f, preservesPartitioning))

    def flatMap(self, f: Function, preservesPartitioning: bool = False) -> DStream:
        """All that `f` gives for each element."""
        return self.transform(lambda rdd: rdd.flatMap(f, preservesPartitioning))

    def filter(self, f: Function) -> DStream:
        """The elements for which `f` is true."""
        return self.transform(lambda rdd: rdd.filter(f))

    def mapPartitions(self, f: Function, preservesPartitioning: bool = False) -> DStream:
        """What `f` gives for the iterator over each partition."""
        return self.transform(lambda rdd: rdd.mapPartitions(f, preservesPartitioning))

    def mapPartitionsWithIndex(self, f: Function, preservesPartitioning: bool = False) -> DStream:
        """The same with the partition's number: `f(number, iterator)`."""
        return self.transform(lambda rdd: rdd.mapPartitionsWithIndex(f, preservesPartitioning))

    def glom(self) -> DStream:
        """Each partition as one list."""
        return self.transform(lambda rdd: rdd.glom())

    def repartition(self, numPartitions: int) -> DStream:
        """The same elements in so many partitions."""
        return self.transform(lambda rdd: rdd.repartition(numPartitions))

    def partitionBy(self, numPartitions: int, partitionFunc: Callable[[Any], int] = portable_hash) -> DStream:
        """Pairs, by key in so many partitions."""
        return self.transform(lambda rdd: rdd.partitionBy(numPartitions, partitionFunc))

    def union(self, other: DStream) -> DStream:
        """The elements of both, without removing doubles."""
        same_context("union", [self, other])
        same_slide("union", [self, other])
        return self._new(Transform(lambda _, *rdds: rdds[0].union(rdds[1]), self, other))

    def count(self) -> DStream:
        """One element a batch: how many there are, 0 if none."""

        def counted(rdd: AnyRDD) -> AnyRDD:
            parts = rdd.mapPartitions(lambda elements: [(None, sum(1 for _ in elements))])
            none = rdd.context.parallelize([(None, 0)], 1)
            return parts.union(none).reduceByKey(operator.add, 1).values()

        return self.transform(counted)

    def reduce(self, func: Function) -> DStream:
        """One element a batch, `func` of two elements again and again; none if the batch is empty."""
        return self.transform(lambda rdd: rdd.map(lambda element: (None, element)).reduceByKey(func, 1).values())

    def countByValue(self) -> DStream:
        """(element, how often) of each batch."""
        return self.map(lambda element: (element, 1)).reduceByKey(operator.add)

    def mapValues(self, f: Function) -> DStream:
        """Pairs with `f` of the value."""
        return self.transform(lambda rdd: rdd.mapValues(f))

    def flatMapValues(self, f: Callable[[Any], Iterable[Any]]) -> DStream:
        """A pair for each that `f` gives for the value."""
        return self.transform(lambda rdd: rdd.flatMapValues(f))

    def reduceByKey(self, func: Function, numPartitions: int | None = None) -> DStream:
        """(key, `func` of its values, two by two) of each batch."""
        return self.transform(lambda rdd: rdd.reduceByKey(func, numPartitions or rdd.context.defaultParallelism))

    def groupByKey(self, numPartitions: int | None = None) -> DStream:
        """(key, its values) of each batch."""
        return self.transform(lambda rdd: rdd.groupByKey(numPartitions or rdd.context.defaultParallelism))

    def combineByKey(
        self, createCombiner: Function, mergeValue: Function, mergeCombiners: Function, numPartitions: int | None = None
    ) -> DStream:
        """(key, combination of its values): the general form of `reduceByKey`, whose result may be of another type than the values."""
        return self.transform(
            lambda rdd: rdd.combineByKey(createCombiner, mergeValue, mergeCombiners, numPartitions or rdd.context.defaultParallelism)
        )

    def cogroup(self, other: DStream, numPartitions: int | None = None) -> DStream:
        """(key, (its values here, its values in the other)) of the two batches of the same time."""
        return self._joined("cogroup", other, numPartitions)

    def join(self, other: DStream, numPartitions: int | None = None) -> DStream:
        """(key, (value, value of the other)) for each two of the same key in the two batches of the same time.

        What comes in different batches never meets: for that, join windows, `a.window(20).join(b.window(60))`."""
        return self._joined("join", other, numPartitions)

    def leftOuterJoin(self, other: DStream, numPartitions: int | None = None) -> DStream:
        """The same, and what the other lacks with None."""
        return self._joined("leftOuterJoin", other, numPartitions)

    def rightOuterJoin(self, other: DStream, numPartitions: int | None = None) -> DStream:
        """The same, and what this one lacks with None."""
        return self._joined("rightOuterJoin", other, numPartitions)

    def fullOuterJoin(self, other: DStream, numPartitions: int | None = None) -> DStream:
        """The same, and what either lacks with None."""
        return self._joined("fullOuterJoin", other, numPartitions)

    def _joined(self, name: str, other: DStream, partitions: int | None) -> DStream:
        same_context(name, [self, other])
        same_slide(name, [self, other])
        return self.transformWith(lambda a, b: getattr(a, name)(b, partitions or a.context.defaultParallelism), other)
