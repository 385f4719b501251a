"""The topology: where streams begin, and where they come together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.errors import DefinitionError
from headrace.fronts.stream import Stream as HeadraceStream
from headrace.fronts.trident import guarantees
from headrace.fronts.trident.grouped import GroupedStream
from headrace.fronts.trident.joins import Joiner, JoinOutFieldsMode, JoinType
from headrace.fronts.trident.nodes import Graph, Node, Processor, Requests, Source, StateOf
from headrace.fronts.trident.operations import called
from headrace.fronts.trident.spouts.kinds import Spout, fields_of, most_of
from headrace.fronts.trident.states.kinds import StateFactory
from headrace.fronts.trident.steps import processing
from headrace.fronts.trident.streams import Stream, TridentState
from headrace.fronts.trident.tuples import Fields, check_known, refused


class TridentTopology:
    """Streams and states. `LocalCluster` runs it in this process, `StormSubmitter` on Spark."""

    def __init__(self) -> None:
        self._nodes: list[Node] = []

    def add(self, node: Node) -> None:
        """A node of the graph; operations call it."""
        self._nodes.append(node)

    # -- where streams begin ---------------------------------------------------------------------------------------------------------

    def newStream(self, id: str, spout: Any) -> Stream:
        """The batches of a spout, or of a headrace stream (`hr.read.kafka(…)`), whose micro-batches are then the batches.

        The id names what is remembered of the spout, and is unique in the topology.
        """
        if not isinstance(id, str) or not id:
            raise refused("newStream", f"{id!r} is no name", 'give the stream a name of its own: newStream("sentences", spout)')
        if any(isinstance(node, Source) and node.id == id for node in self._nodes):
            raise refused("newStream", f"there is a stream {id!r} already", "give each a name of its own: it names what is remembered")
        if isinstance(spout, HeadraceStream):
            return self._begin(f"newStream({id})", spout.columns, id, spout)
        if not isinstance(spout, Spout):
            raise refused(
                "newStream", f"{spout!r} is no spout",
                "give an object: FixedBatchSpout(…), your own IBatchSpout, IRichSpout, IPartitionedTridentSpout or "
                'IOpaquePartitionedTridentSpout, or hr.read.kafka("topic", …)',
            )  # fmt: skip
        return self._begin(f"newStream({id})", fields_of(spout), id, spout, most_of(spout))

    def newDRPCStream(self, function: str, drpc: Requests | None = None) -> Stream:
        """Each `drpc.execute(function, args)` is a batch of one tuple with the field `args`; the stream's last tuples are the answer."""
        if drpc is None or not isinstance(drpc, Requests):
            raise refused("newDRPCStream", "there is no DRPC server", 'give a LocalDRPC(): newDRPCStream("words", drpc)')
        if any(isinstance(node, Source) and node.id == function and node.asked for node in self._nodes):
            raise refused("newDRPCStream", f"there is a function {function!r} already", "give each a name of its own")
        return self._begin(f"newDRPCStream({function})", ["args"], function, drpc)

    def _begin(self, label: str, fields: Sequence[str], id: str, origin: Any, most: int | None = None) -> Stream:
        source = Source(label=label, fields=tuple(Fields(fields)), id=id, origin=origin, most=most)
        self.add(source)
        return Stream(self, source)

    def newStaticState(self, factory: StateFactory) -> TridentState:
        """A state that this topology only reads."""
        if not callable(getattr(factory, "makeState", None)):
            raise refused("newStaticState", f"{factory!r} makes no state", "give a StateFactory: SqliteMapState.opaque(…)")
        return TridentState(self, StateOf(label="newStaticState", factory=factory))

    # -- where streams come together -------------------------------------------------------------------------------------------------

    def merge(self, *arguments: Any) -> Stream:
        """`merge([fields,] stream, stream, …)`: the tuples of all, under the names of the first stream, or these."""
        named = not isinstance(arguments[0], Stream) and not (
            isinstance(arguments[0], Sequence) and arguments[0] and isinstance(arguments[0][0], Stream)
        ) if arguments else False  # fmt: skip
        streams = _streams("merge", arguments[1:] if named else arguments)
        fields = Fields(arguments[0]) if named else streams[0].fields
        for stream in streams:
            if len(stream.fields) != len(fields):
                raise refused(
                    "merge", f"the streams have different numbers of fields: {len(fields)} and {len(stream.fields)}",
                    "project them to the same number",
                )  # fmt: skip
        return self._meet("merge", streams, fields, lambda task, *rows: [row for side in rows for row in side])

    def join(self, *arguments: Any) -> Stream:
        """`join(s1, fields1, s2, fields2, [s3, fields3, …] outFields [, type or mixed types] [, outFieldsMode])`: within one batch.

        What comes out: the key, then the other fields of each stream in order, under the names `outFields`. A join of [key, val1, val2] by
        key and [x, val1] by x has four: key, val1, val2, val1.
        """
        *rest, mode = arguments if arguments and isinstance(arguments[-1], JoinOutFieldsMode) else (*arguments, JoinOutFieldsMode.COMPACT)
        typed = bool(rest) and (isinstance(rest[-1], JoinType) or (isinstance(rest[-1], list) and JoinType in map(type, rest[-1])))
        *rest, types = rest if typed else (*rest, JoinType.INNER)
        if len(rest) < 5 or len(rest) % 2 == 0:
            raise refused("join", "which streams by which fields?", 'write join(s1, ["key"], s2, ["x"], ["key", "a", "b"])')
        *pairs, named = rest
        streams, keys = _streams("join", pairs[::2]), [Fields(each) for each in pairs[1::2]]
        kinds = types if isinstance(types, list) else [types] * len(streams)
        for stream, key in zip(streams, keys, strict=True):
            check_known("join", key, stream.fields)
        if len({len(key) for key in keys}) != 1 or len(kinds) != len(streams):
            raise refused(
                "join", "the streams have different numbers of keys or types", "give the same number of keys, and a type for each"
            )
        inputs = [
            stream.fields if mode is JoinOutFieldsMode.PRESERVE else Fields(*(name for name in stream.fields if name not in key))
            for stream, key in zip(streams, keys, strict=True)
        ]
        out, width = Fields(named), sum(map(len, inputs)) + (len(keys[0]) if mode is JoinOutFieldsMode.COMPACT else 0)
        if len(out) != width:
            names_in_order = ", ".join(name for part in ([keys[0]] if mode is JoinOutFieldsMode.COMPACT else []) + inputs for name in part)
            raise refused("join", f"{len(out)} names for {width} values", f"name what comes out, in this order: {names_in_order}")
        grouped = [stream.groupBy(key) for stream, key in zip(streams, keys, strict=True)]
        return self._multi_reduce(
            "join", grouped, inputs, Joiner(kinds, [len(each) for each in inputs]), out, len(out) - sum(map(len, inputs))
        )

    def multiReduce(self, *arguments: Any) -> Stream:
        """`multiReduce([inputFields,] streams, reducer, outFields)`: of streams a MultiReducer for each partition, of grouped streams a
        GroupedMultiReducer for each group, whose fields come first. `inputFields` has a list of names for each stream; all if not given."""
        if len(arguments) not in (3, 4):
            raise refused("multiReduce", "which streams, which reducer?", 'write multiReduce([s1, s2], reducer, ["out"])')
        streams, reducer, named = arguments[-3:]
        wanted = arguments[0] if len(arguments) == 4 else [stream.fields for stream in streams]
        inputs = [Fields(each) for each in wanted]
        for stream, fields in zip(streams, inputs, strict=True):
            check_known(f"multiReduce({called(reducer)})", fields, stream.fields)
        new = Fields(named)
        if all(isinstance(stream, GroupedStream) for stream in streams):
            return self._multi_reduce("multiReduce", streams, inputs, reducer, Fields(*streams[0].by, *new), len(streams[0].by))
        members = _streams("multiReduce", streams)
        process = processing.multi_reduce(reducer, [(s.fields, i) for s, i in zip(members, inputs, strict=True)], new)
        return self._meet(f"multiReduce({called(reducer)})", members, new, process, reducer)

    def _multi_reduce(
        self, label: str, streams: Sequence[GroupedStream], inputs: Sequence[Fields], reducer: Any, fields: Fields, keys: int
    ) -> Stream:
        """`keys`: how many of the fields are the group's; none if it is not to come out."""
        sides = [(stream.fields, stream.by, wanted) for stream, wanted in zip(streams, inputs, strict=True)]
        process = processing.grouped_multi_reduce(reducer, sides, fields[keys:], with_group=bool(keys))
        return self._meet(f"{label}({called(reducer)})" if label != "join" else label, [s.partitioned() for s in streams], fields, process)

    def _meet(self, label: str, streams: Sequence[Stream], fields: Sequence[str], process: Any, *operations: Any) -> Stream:
        node = Processor(
            label=label, fields=tuple(fields), parents=tuple(stream.node for stream in streams), process=process, operations=operations
        )
        self.add(node)
        return Stream(self, node)

    # -- the whole -------------------------------------------------------------------------------------------------------------------

    def build(self) -> TridentTopology:
        """Check what only the whole can show, and give the topology itself."""
        graph = self.graph
        sources = [node for node in graph.nodes if isinstance(node, Source)]
        if not any(not source.asked for source in sources) and not sources:
            raise refused("build", "the topology has no stream", 'begin one: topology.newStream("sentences", spout)')
        streamed = set(graph.below(source for source in sources if not source.asked).nodes)
        for source in (source for source in sources if source.asked):
            below = graph.below([source])
            if mixed := [node for node in below.nodes if node in streamed]:
                raise DefinitionError(
                    f"{mixed[0].label}: it brings together requests of {source.id!r} and a stream of batches",
                    fix="keep what the batches give in a state, and let the request query it: stateQuery", where=mixed[0].where,
                )  # fmt: skip
            if len(leaves := below.leaves()) != 1:
                raise DefinitionError(
                    f"{source.label}: it ends in {len(leaves)} places ({', '.join(leaf.label for leaf in leaves)}), which is the answer?",
                    fix="bring them together: topology.merge(…)", where=source.where,
                )  # fmt: skip
        return self

    @property
    def graph(self) -> Graph:
        """All nodes, parents first."""
        return Graph(tuple(self._nodes))

    def guarantees(self) -> list[guarantees.Guarantee]:
        """For each state that is updated: by which kind of spout, of which kind it is, and whether that is exactly once."""
        return guarantees.of(self.graph)

    new_stream, new_drpc_stream, new_static_state, multi_reduce = newStream, newDRPCStream, newStaticState, multiReduce


def _streams(operation: str, arguments: Sequence[Any]) -> list[Stream]:
    flat = [each for part in arguments for each in ([part] if isinstance(part, Stream) or not isinstance(part, Sequence) else part)]
    if not flat or not all(isinstance(each, Stream) for each in flat):
        wrong = next((each for each in flat if not isinstance(each, Stream)), None)
        raise refused(operation, f"{wrong!r} is no stream", f"give streams: topology.{operation}(s1, s2)")
    return flat
