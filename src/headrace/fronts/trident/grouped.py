"""Groups of a stream, and aggregates over them or over everything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from headrace.fronts.trident.nodes import Processor, Repartition
from headrace.fronts.trident.operations import Aggregator, CombinerAggregator, ReducerAggregator, called
from headrace.fronts.trident.states import updaters
from headrace.fronts.trident.states.kinds import StateFactory
from headrace.fronts.trident.steps import aggregation, routes
from headrace.fronts.trident.steps.aggregation import Part
from headrace.fronts.trident.tuples import Fields, check_new, refused

if TYPE_CHECKING:
    from headrace.fronts.trident.streams import Stream, TridentState


class GroupedStream:
    """A stream whose aggregates are for each value of some fields on its own."""

    def __init__(self, stream: Stream, by: Fields) -> None:
        self._stream, self.by = stream, by

    @property
    def fields(self) -> Fields:
        """The names of the fields."""
        return self._stream.fields

    def getGroupFields(self) -> Fields:
        """The fields that it is grouped by."""
        return self.by

    def getOutputFields(self) -> Fields:
        """All fields."""
        return self.fields

    def toStream(self) -> Stream:
        """The stream without its groups."""
        return self._stream

    def name(self, name: str) -> GroupedStream:
        """How messages call what comes next."""
        return GroupedStream(self._stream.name(name), self.by)

    def partitioned(self) -> Stream:
        """The stream, with all tuples of a group in one partition."""
        return self._stream.partitionBy(self.by)

    def aggregate(self, *arguments: Any) -> Stream:
        """`aggregate([inFields,] aggregator, outFields)`: over each group of the batch; gives the group's fields and the new ones."""
        return self.chainedAgg().aggregate(*arguments).chainEnd()

    def chainedAgg(self) -> ChainedAggregation:
        """Several at once: `.aggregate(…).aggregate(…).chainEnd()`."""
        return ChainedAggregation(self._stream, self.by, None)

    def stateQuery(self, state: TridentState, *arguments: Any) -> Stream:
        """As of a stream; each group asks the partition of the state that has its key."""
        return self.partitioned().stateQuery(state, *arguments)

    def partitionAggregate(self, *arguments: Any) -> Stream:
        """Over each group within a partition, without bringing the groups together first."""
        part = aggregation.parts("partitionAggregate", arguments, self.fields)
        label = f"partitionAggregate({called(part.aggregator)})"
        check_new(label, part.outputs, self.by)
        process = aggregation.grouped(aggregation.full([part], self.fields, label), self.by, self.fields, label)
        return self._stream._grow(Processor, label, (*self.by, *part.outputs), process=process, operations=(part.aggregator,))

    def persistentAggregate(self, factory: StateFactory, *arguments: Any) -> TridentState:
        """`persistentAggregate(factory, [inFields,] Combiner or Reducer, outFields)`: for each group over all batches, in a state."""
        part = persistent_part(arguments, self.fields)
        if part.combines:
            whole = self.aggregate(part.inputs, part.aggregator, part.outputs)
            updater: Any = updaters.CombineByKey(part.aggregator)
            return whole._persist("persistentAggregate", factory, whole.fields, updater, whole.fields)
        check_new("persistentAggregate", part.outputs, self.by)
        updater = updaters.ReduceByKey(part.aggregator, len(self.by))
        inputs = Fields(*self.by, *(name for name in part.inputs if name not in self.by))
        return self.partitioned()._persist("persistentAggregate", factory, inputs, updater, Fields(*self.by, *part.outputs))

    get_group_fields, get_output_fields, to_stream, chained_agg = getGroupFields, getOutputFields, toStream, chainedAgg
    state_query, partition_aggregate, persistent_aggregate = stateQuery, partitionAggregate, persistentAggregate


class ChainedAggregation:
    """Several aggregates of the same tuples, as one tuple. A chain of Combiners alone works within each partition first."""

    def __init__(self, stream: Stream, by: Fields | None, route: routes.Route | None, chain: tuple[Part, ...] = ()) -> None:
        self._stream, self._by, self._route, self._chain = stream, by, route, chain

    def aggregate(self, *arguments: Any) -> ChainedAggregation:
        """`aggregate([inFields,] aggregator, outFields)`."""
        part = aggregation.parts("aggregate", arguments, self._stream.fields)
        check_new(f"aggregate({called(part.aggregator)})", part.outputs, [*(self._by or ()), *_outputs(self._chain)])
        return ChainedAggregation(self._stream, self._by, self._route, (*self._chain, part))

    def partitionAggregate(self, *arguments: Any) -> ChainedAggregation:
        """As aggregate."""
        return self.aggregate(*arguments)

    def chainEnd(self) -> Stream:
        """The stream of their results."""
        if not self._chain:
            raise refused("chainEnd", "there is no aggregate", "write chainedAgg().aggregate(…).chainEnd()")
        label = f"aggregate({', '.join(called(part.aggregator) for part in self._chain)})"
        fields = (*(self._by or ()), *_outputs(self._chain))
        stream, process = self._stream, aggregation.full(self._chain, self._stream.fields, label)
        operations = tuple(part.aggregator for part in self._chain)
        if all(part.combines for part in self._chain):
            stream = stream._grow(Processor, label, fields, process=self._grouped(process, stream.fields, label), operations=operations)
            process = aggregation.rest(self._chain, stream.fields)
        if self._route is not None:
            stream = stream._grow(Repartition, label, stream.fields, route=self._route)
            place = routes.first if self._route is routes.everything else routes.of_batch
            return stream._grow(Processor, label, fields, process=aggregation.once(process, place), operations=operations)
        assert self._by is not None
        stream = stream.partitionBy(self._by)
        return stream._grow(Processor, label, fields, process=self._grouped(process, stream.fields, label), operations=operations)

    def _grouped(self, process: Any, fields: Sequence[str], label: str) -> Any:
        return process if self._by is None else aggregation.grouped(process, self._by, fields, label)

    chain_end, partition_aggregate = chainEnd, partitionAggregate


def persistent_part(arguments: Sequence[Any], fields: Sequence[str]) -> Part:
    """What persistentAggregate takes: an Aggregator has no value that could be kept."""
    part = aggregation.parts("persistentAggregate", arguments, fields)
    if isinstance(part.aggregator, Aggregator):
        raise refused(
            "persistentAggregate", f"{called(part.aggregator)} is an Aggregator, which has no value to keep",
            f"use a {CombinerAggregator.__name__} or a {ReducerAggregator.__name__}, or partitionPersist with an updater of your own",
        )  # fmt: skip
    return part


def _outputs(chain: Iterable[Part]) -> Iterator[str]:
    return (name for part in chain for name in part.outputs)
