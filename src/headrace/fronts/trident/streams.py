"""Streams: every operation of Trident, each making one or more nodes of the topology's graph. Nothing runs until the topology does.

>>> from headrace.trident import Count, FixedBatchSpout, MemoryMapState, Split, TridentTopology
>>> spout = FixedBatchSpout(["sentence"], 3, ["the cow jumped"], ["the man"])
>>> words = TridentTopology().newStream("spout1", spout).each(["sentence"], Split(), ["word"])
>>> words.getOutputFields()
Fields('sentence', 'word')
>>> try:
...     words.groupBy(["wrod"])
... except DefinitionError as error:
...     print(f"{error.what}; {error.fix}")
groupBy: the stream has no field 'wrod'; did you mean 'word'? The fields here are sentence, word
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any

from headrace.errors import DefinitionError, user_line
from headrace.fronts.trident.grouped import ChainedAggregation, GroupedStream, persistent_part
from headrace.fronts.trident.nodes import Node, Processor, Query, Repartition, StateOf, Update, Windowed
from headrace.fronts.trident.operations import BaseFilter, BaseFunction, called, method
from headrace.fronts.trident.states import updaters
from headrace.fronts.trident.states.kinds import StateFactory
from headrace.fronts.trident.steps import aggregation, processing, routes, windows
from headrace.fronts.trident.tuples import Fields, check_known, check_new, refused

if TYPE_CHECKING:
    from headrace.fronts.trident.topology import TridentTopology

Names = str | Sequence[str]
"""Fields(…), a list of names, or one name."""


class Stream:
    """Batches of tuples, each in partitions. Operations return another stream; `parallelismHint` and `name` speak of this one."""

    def __init__(self, topology: TridentTopology, node: Node) -> None:
        self.topology, self.node = topology, node

    def __repr__(self) -> str:
        return f"Stream[{', '.join(self.fields)}]"

    @property
    def fields(self) -> Fields:
        """The names of the fields."""
        return Fields(*self.node.fields)

    def getOutputFields(self) -> Fields:
        """The names of the fields."""
        return self.fields

    def name(self, name: str) -> Stream:
        """How messages call what comes next."""
        self.node.name = name
        return self

    def parallelismHint(self, hint: int) -> Stream:
        """Run everything back to the last repartitioning in so many partitions; the greatest hint among them counts."""
        if not isinstance(hint, int) or isinstance(hint, bool) or hint < 1:
            raise DefinitionError(f"parallelismHint: {hint!r} is no number of partitions", fix="give a number from 1 on", where=user_line())
        self.node.hint = max(hint, self.node.hint or 0)
        return self

    def setCPULoad(self, load: float) -> Stream:
        """Has no effect: it tells Storm's scheduler where to put tasks, and there is none here."""
        return self

    def setMemoryLoad(self, *megabytes: float) -> Stream:
        """Has no effect, as setCPULoad."""
        return self

    def applyAssembly(self, assembly: Any) -> Stream:
        """What `assembly.apply(stream)`, or `assembly(stream)`, makes of it."""
        apply = method(assembly, "apply")
        if apply is None:
            raise refused("applyAssembly", f"{assembly!r} has no apply(stream)", "give an object such as FirstN(3), or a function")
        return apply(self)  # type: ignore[no-any-return]

    def toStream(self) -> Stream:
        """This stream."""
        return self

    def _grow(self, kind: type[Node], label: str, fields: Iterable[str], **more: Any) -> Stream:
        node = kind(label=label, fields=tuple(fields), parents=(self.node,), **more)
        self.topology.add(node)
        return Stream(self.topology, node)

    # -- one tuple at a time ---------------------------------------------------------------------------------------------------------

    def each(self, inputFields: Names, function: Any, functionFields: Names | None = None) -> Stream:
        """With new fields: a Function, whose emits are appended to the tuple; none drops it. Without: a Filter.

        The docs' example, which emits 0 to b - 1: of [1, 2, 3] come [1, 2, 3, 0] and [1, 2, 3, 1].
        """
        label = f"each({called(function)})"
        inputs = Fields(inputFields)
        check_known(label, inputs, self.fields)
        if functionFields is None:
            return self._filter(label, inputs, function)
        new = Fields(functionFields)
        check_new(label, new, self.fields)
        if isinstance(function, BaseFilter) or method(function, "execute") is None:
            raise refused(label, "it is no Function", "give an object with execute(tuple, collector), or a function that gives lists")
        process = processing.each(function, self.fields, inputs, new, label)
        return self._grow(Processor, label, (*self.fields, *new), process=process, operations=(function,))

    def filter(self, *arguments: Any) -> Stream:
        """`filter([inFields,] Filter)`: keep the tuples for which `isKeep` is true."""
        if len(arguments) not in (1, 2):
            raise refused("filter", "which filter?", 'write filter(function) or filter(["field"], function)')
        inputs = Fields(arguments[0]) if len(arguments) == 2 else self.fields
        label = f"filter({called(arguments[-1])})"
        check_known(label, inputs, self.fields)
        return self._filter(label, inputs, arguments[-1])

    def _filter(self, label: str, inputs: Fields, function: Any) -> Stream:
        if isinstance(function, BaseFunction) or method(function, "isKeep") is None:
            raise refused(label, "it is no Filter", "give an object with isKeep(tuple), or name the new fields of a Function")
        process = processing.keep(function, self.fields, inputs)
        return self._grow(Processor, label, self.fields, process=process, operations=(function,))

    def map(self, function: Any, fields: Names | None = None) -> Stream:
        """One tuple for each: the list of values that the function gives. Without `fields` the names stay, and so must their number."""
        new = self.fields if fields is None else Fields(fields)
        label = f"map({called(function)})"
        process = processing.replace(_function(label, function, "execute"), self.fields, new, label)
        return self._grow(Processor, label, new, process=process, operations=(function,))

    def flatMap(self, function: Any, fields: Names | None = None) -> Stream:
        """Any number of tuples for each: the lists of values that the function gives."""
        new = self.fields if fields is None else Fields(fields)
        label = f"flatMap({called(function)})"
        process = processing.replace_by_many(_function(label, function, "execute"), self.fields, new, label)
        return self._grow(Processor, label, new, process=process, operations=(function,))

    def peek(self, consumer: Any) -> Stream:
        """Show each tuple to a function; the stream stays as it is. On Spark that happens where the partition is, not in your program."""
        label = f"peek({called(consumer)})"
        process = processing.look(_function(label, consumer, "accept"), self.fields)
        return self._grow(Processor, label, self.fields, process=process, operations=(consumer,))

    def project(self, keepFields: Names) -> Stream:
        """These fields and no others."""
        chosen = Fields(keepFields)
        check_known("project", chosen, self.fields)
        return self._grow(Processor, "project", chosen, process=processing.project(self.fields, chosen))

    # -- a partition at a time -------------------------------------------------------------------------------------------------------

    def partitionAggregate(self, *arguments: Any) -> Stream:
        """`partitionAggregate([inFields,] aggregator, outFields)`: once for each partition of the batch, also for one without tuples."""
        part = aggregation.parts("partitionAggregate", arguments, self.fields)
        label = f"partitionAggregate({called(part.aggregator)})"
        process = aggregation.full([part], self.fields, label)
        return self._grow(Processor, label, part.outputs, process=process, operations=(part.aggregator,))

    def min(self, comparator: Callable[[Any, Any], int]) -> Stream:
        """The least tuple of each partition, whole, by `comparator(one, other)`: below 0 if one is less. The first of equals."""
        return self._extreme("min", self.fields, comparator, least=True)

    def max(self, comparator: Callable[[Any, Any], int]) -> Stream:
        """The greatest tuple of each partition. The first of equals."""
        return self._extreme("max", self.fields, comparator, least=False)

    def minBy(self, inputFieldName: str, comparator: Callable[[Any, Any], int] | None = None) -> Stream:
        """The tuple of each partition whose value of this field is the least, by its own order or the comparator's."""
        return self._extreme("minBy", Fields(inputFieldName), comparator, least=True)

    def maxBy(self, inputFieldName: str, comparator: Callable[[Any, Any], int] | None = None) -> Stream:
        """The tuple of each partition whose value of this field is the greatest."""
        return self._extreme("maxBy", Fields(inputFieldName), comparator, least=False)

    def _extreme(self, operation: str, by: Fields, comparator: Callable[[Any, Any], int] | None, *, least: bool) -> Stream:
        check_known(operation, by, self.fields)
        key = None if comparator is None else cmp_to_key(comparator)
        process = processing.extreme(self.fields, by, key, least=least, whole=not operation.endswith("By"))
        return self._grow(Processor, operation, self.fields, process=process)

    # -- repartitioning --------------------------------------------------------------------------------------------------------------

    def shuffle(self) -> Stream:
        """To all partitions in turn."""
        return self._grow(Repartition, "shuffle", self.fields, route=routes.shuffle)

    def localOrShuffle(self) -> Stream:
        """As shuffle: there is no nearer worker."""
        return self._grow(Repartition, "localOrShuffle", self.fields, route=routes.shuffle)

    def partitionBy(self, fields: Names) -> Stream:
        """By the hash of these fields: equal values, the same partition."""
        by = Fields(fields)
        check_known("partitionBy", by, self.fields)
        return self._grow(Repartition, "partitionBy", self.fields, route=routes.by_fields([self.fields.index(name) for name in by]))

    def broadcast(self) -> Stream:
        """A copy of each tuple to each partition, as to ask all of a state."""
        return self._grow(Repartition, "broadcast", self.fields, route=routes.broadcast)

    def global_(self) -> Stream:
        """Everything to one and the same partition. (`global` alone is a word of Python's.)"""
        return self._grow(Repartition, "global", self.fields, route=routes.everything)

    def batchGlobal(self) -> Stream:
        """Each batch to one partition, not always the same."""
        return self._grow(Repartition, "batchGlobal", self.fields, route=routes.each_batch)

    def partition(self, grouping: Any) -> Stream:
        """By a rule of your own: a CustomStreamGrouping, or a function `(values, partitions)` that gives a place or several."""
        label = f"partition({called(grouping)})"
        _function(label, grouping, "chooseTasks")
        return self._grow(Repartition, label, self.fields, route=routes.custom(grouping))

    def identityPartition(self) -> Stream:
        """Partition i to partition i: as many as before."""
        return self._grow(Repartition, "identityPartition", self.fields, route=routes.stay, same=True)

    def groupBy(self, fields: Names) -> GroupedStream:
        """Aggregates that follow are for each value of these fields on its own."""
        by = Fields(fields)
        check_known("groupBy", by, self.fields)
        return GroupedStream(self, by)

    # -- aggregates over the batch ---------------------------------------------------------------------------------------------------

    def aggregate(self, *arguments: Any) -> Stream:
        """`aggregate([inFields,] aggregator, outFields)`: over all partitions of the batch; one tuple also of a batch that has none here.

        A Combiner works in each partition first, and what it gives comes together; for the others everything comes together first.
        """
        return self.chainedAgg().aggregate(*arguments).chainEnd()

    def chainedAgg(self) -> ChainedAggregation:
        """Several at once: `.aggregate(…).aggregate(…).chainEnd()`."""
        return ChainedAggregation(self, None, routes.each_batch)

    # -- states ----------------------------------------------------------------------------------------------------------------------

    def stateQuery(self, state: TridentState, *arguments: Any) -> Stream:
        """`stateQuery(state, [inFields,] QueryFunction, newFields)`: append what the state answers, partition i asking its partition i."""
        if not isinstance(state, TridentState):
            raise refused("stateQuery", f"{state!r} is no state", "give what persistentAggregate, partitionPersist or newStaticState gave")
        if len(arguments) not in (2, 3):
            raise refused("stateQuery", "which fields and which function?", 'write stateQuery(state, ["in"], function, ["new"])')
        inputs = Fields(arguments[0]) if len(arguments) == 3 else Fields()
        function, new = arguments[-2], Fields(arguments[-1])
        label = f"stateQuery({called(function)})"
        check_known(label, inputs, self.fields)
        check_new(label, new, self.fields)
        if not callable(getattr(function, "batchRetrieve", None)):
            raise refused(label, "it is no QueryFunction", "give an object with batchRetrieve and execute: MapGet()")
        process = processing.query(function, self.fields, inputs, new, label)
        return self._grow(Query, label, (*self.fields, *new), state=state.state, process=process, operations=(function,))

    def partitionPersist(self, factory: StateFactory, *arguments: Any) -> TridentState:
        """`partitionPersist(factory, [inFields,] StateUpdater [, newFields])`: change a state, once for each partition with tuples of each
        batch, in the order of the txids."""
        fields = [argument for argument in arguments if not hasattr(argument, "updateState")]
        (updater,) = [argument for argument in arguments if hasattr(argument, "updateState")] or [None]
        if updater is None:
            raise refused("partitionPersist", "there is no StateUpdater", "give an object with updateState(state, tuples, collector)")
        first = bool(fields) and fields[0] is arguments[0]
        inputs, new = Fields(fields[0]) if first else Fields(), Fields(*fields[1:] if first else fields)
        return self._persist("partitionPersist", factory, inputs, updater, new)

    def _persist(self, operation: str, factory: Any, inputs: Fields, updater: Any, new: Fields) -> TridentState:
        label = f"{operation}({called(updater)})" if operation == "partitionPersist" else operation
        if not callable(getattr(factory, "makeState", None)):
            raise refused(label, f"{factory!r} makes no state", "give a StateFactory: MemoryMapState.Factory(), SqliteMapState.opaque(…)")
        check_known(label, inputs, self.fields)
        state = StateOf(label=label, factory=factory)
        process = processing.update(updater, self.fields, inputs, new, label)
        stream = self._grow(Update, label, new, state=state, process=process, operations=(updater,))
        return TridentState(self.topology, state, stream)

    def persistentAggregate(self, factory: StateFactory, *arguments: Any) -> TridentState:
        """`persistentAggregate(factory, [inFields,] Combiner or Reducer, outFields)`: over all batches, kept in a state."""
        part = persistent_part(arguments, self.fields)
        if part.combines:
            whole = ChainedAggregation(self, None, routes.everything).aggregate(part.inputs, part.aggregator, part.outputs).chainEnd()
            return whole._persist("persistentAggregate", factory, part.outputs, updaters.CombineAll(part.aggregator), part.outputs)
        updater = updaters.ReduceAll(part.aggregator)
        return self.global_()._persist("persistentAggregate", factory, part.inputs, updater, part.outputs)

    # -- windows ---------------------------------------------------------------------------------------------------------------------

    def tumblingWindow(self, length: int | Any, *arguments: Any) -> Stream:
        """`tumblingWindow(count or duration, [store,] inFields, aggregator, outFields)`: each `length` tuples, or all of each such time.

        A count is a number, a duration a timedelta or text ("10 seconds"): processing time, of the batch.
        """
        return self.window(windows.WindowConfig(length, length), *arguments)

    def slidingWindow(self, length: int | Any, slide: int | Any, *arguments: Any) -> Stream:
        """`slidingWindow(length, slide, [store,] inFields, aggregator, outFields)`: at every `slide` the last `length`."""
        return self.window(windows.WindowConfig(length, slide), *arguments)

    def window(self, config: windows.WindowConfig, *arguments: Any) -> Stream:
        """`window(config, [store,] inFields, aggregator, outFields)`, for each partition on its own.

        A window comes out with the batch in which it is noticed to be due; one without tuples does not come out. The tuples of open windows
        are in memory, and go with the process.
        """
        if not isinstance(config, windows.WindowConfig):
            raise refused("window", f"{config!r} is no window", "give TumblingCountWindow.of(3), SlidingDurationWindow.of(…) or the like")
        if arguments and isinstance(arguments[0], windows.InMemoryWindowsStoreFactory):
            arguments = arguments[1:]
        part = aggregation.parts("window", arguments, self.fields)
        label = f"window({called(part.aggregator)})"
        process = aggregation.full([part], self.fields, label)
        more = {"open": lambda: windows.Buffer(config, process), "by_time": config.by_time, "operations": (part.aggregator,)}
        return self._grow(Windowed, label, part.outputs, **more)

    get_output_fields, parallelism_hint, apply_assembly, to_stream = getOutputFields, parallelismHint, applyAssembly, toStream
    flat_map, partition_aggregate, min_by, max_by, local_or_shuffle = flatMap, partitionAggregate, minBy, maxBy, localOrShuffle
    partition_by, batch_global, identity_partition, group_by, chained_agg = partitionBy, batchGlobal, identityPartition, groupBy, chainedAgg
    state_query, partition_persist, persistent_aggregate = stateQuery, partitionPersist, persistentAggregate
    tumbling_window, sliding_window = tumblingWindow, slidingWindow


setattr(Stream, "global", Stream.global_)  # for getattr(stream, "global")()


class TridentState:
    """What outlives a batch, to be queried: `stream.stateQuery(state, …)`."""

    def __init__(self, topology: TridentTopology, state: StateOf, updated: Stream | None = None) -> None:
        self.topology, self.state, self._updated = topology, state, updated

    def newValuesStream(self) -> Stream:
        """What each batch changed: for an aggregate the key and the new value. A replay gives it again."""
        if self._updated is None:
            raise refused("newValuesStream", "a static state is not updated here", "take it of persistentAggregate or partitionPersist")
        return self._updated

    def parallelismHint(self, hint: int) -> TridentState:
        """How many partitions the state has, at least."""
        if self._updated is not None:
            self._updated.parallelismHint(hint)
        return self

    new_values_stream, parallelism_hint = newValuesStream, parallelismHint


def _function(label: str, function: Any, name: str) -> Callable[..., Any]:
    call = method(function, name)
    if call is None:
        raise refused(label, f"it cannot be called, and has no {name}", "give a function, or an object (not a class) that has it")
    return call
