"""Every operation on small batches: what goes in, what comes out. The numbers are those of Storm's documentation and tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.fronts.trident.topologies import Partitioned, by_batch, results, run

from headrace.trident import (
    Aggregator,
    BaseFilter,
    BaseFunction,
    Count,
    CountAsAggregator,
    CustomStreamGrouping,
    Debug,
    Equals,
    FilterNull,
    FirstN,
    GroupedMultiReducer,
    JoinOutFieldsMode,
    JoinType,
    Max,
    MaxWithComparator,
    Min,
    MinWithComparator,
    MultiReducer,
    Negate,
    ReducerAggregator,
    Split,
    Stream,
    StringLength,
    Sum,
    TridentCollector,
    TridentTopology,
    TridentTuple,
    TrueFilter,
)


class Repeat(BaseFunction):
    def execute(self, tuple: TridentTuple, collector: TridentCollector) -> None:
        for number in range(tuple.getInteger(0)):
            collector.emit([number])


class IsOne(BaseFilter):
    def is_keep(self, tuple: TridentTuple) -> bool:  # in Python's spelling
        return tuple["a"] == 1


class Joined(ReducerAggregator):
    def init(self) -> str:
        return ""

    def reduce(self, current: str, tuple: TridentTuple) -> str:
        return current + str(tuple[0])


class Twice(Aggregator):
    """Emits the first tuple at once, and each tuple at the end."""

    def init(self, batchId: Any, collector: TridentCollector) -> list[Any]:
        return []

    def aggregate(self, state: list[Any], tuple: TridentTuple, collector: TridentCollector) -> None:
        if not state:
            collector.emit([f"first {tuple[0]}"])
        state.append(tuple[0])

    def complete(self, state: list[Any], collector: TridentCollector) -> None:
        for value in state:
            collector.emit([f"then {value}"])


ABC = ["a", "b", "c"]
ROWS = [(1, 2, 3), (4, 1, 6), (3, 0, 8)]

Use = Callable[[Stream], Stream]
ONE_PARTITION: list[tuple[str, Use, list[tuple[Any, ...]]]] = [
    ("each, a Function that repeats", lambda s: s.each(["b"], Repeat(), ["d"]), [(1, 2, 3, 0), (1, 2, 3, 1), (4, 1, 6, 0)]),
    ("each, a function", lambda s: s.each("b", lambda t: [[n] for n in range(t[0])], "d"), [(1, 2, 3, 0), (1, 2, 3, 1), (4, 1, 6, 0)]),
    ("each, a Filter", lambda s: s.each(["a"], IsOne()), [(1, 2, 3)]),
    ("filter of all fields", lambda s: s.filter(lambda t: t["a"] + t["b"] == 3), [(1, 2, 3), (3, 0, 8)]),
    ("filter of some", lambda s: s.filter(["b"], lambda t: t[0] == 0), [(3, 0, 8)]),
    ("Negate", lambda s: s.each(["a"], Negate(IsOne())), [(3, 0, 8), (4, 1, 6)]),
    ("TrueFilter, Debug", lambda s: s.filter(TrueFilter()).filter(Debug()), [(1, 2, 3), (3, 0, 8), (4, 1, 6)]),
    ("map, the names stay", lambda s: s.map(lambda t: [t[0] * 10, t["b"], 0]).project(["a", "c"]), [(10, 0), (30, 0), (40, 0)]),
    ("map, new names", lambda s: s.map(lambda t: (sum(t),), ["sum"]).filter(lambda t: t["sum"] > 6), [(11,), (11,)]),
    ("flatMap", lambda s: s.flatMap(lambda t: [[t["a"]]] * t["b"], ["x"]), [(1,), (1,), (4,)]),
    ("project, in another order", lambda s: s.project(["c", "a"]), [(3, 1), (6, 4), (8, 3)]),
    ("aggregate, a Combiner", lambda s: s.aggregate(["b"], Sum(), ["sum"]), [(3,)]),
    ("aggregate, without inputs", lambda s: s.aggregate(Count(), ["n"]), [(3,)]),
    ("aggregate, a Reducer", lambda s: s.aggregate(["a"], Joined(), ["text"]), [("143",)]),
    ("aggregate, an Aggregator", lambda s: s.aggregate(["a"], Twice(), ["x"]), [("first 1",), ("then 1",), ("then 3",), ("then 4",)]),
    ("CountAsAggregator", lambda s: s.aggregate(CountAsAggregator(), ["n"]), [(3,)]),
    ("chainedAgg", lambda s: s.chainedAgg().aggregate(["b"], Sum(), ["sum"]).aggregate(Count(), ["n"]).chainEnd(), [(3, 3)]),
    ("chainedAgg, mixed", lambda s: s.chainedAgg().aggregate(Count(), ["n"]).aggregate(["a"], Joined(), ["t"]).chainEnd(), [(3, "143")]),
    ("Min, Max", lambda s: s.partitionAggregate(ABC, Max("b"), ["x", "y", "z"]), [(1, 2, 3)]),
    ("Min", lambda s: s.partitionAggregate(ABC, Min("b"), ABC), [(3, 0, 8)]),
    ("MinWithComparator", lambda s: s.partitionAggregate(ABC, MinWithComparator("c", lambda x, y: y - x), ABC), [(3, 0, 8)]),
    ("MaxWithComparator", lambda s: s.partitionAggregate(ABC, MaxWithComparator(lambda x, y: x[1] - y[1]), ABC), [(1, 2, 3)]),
    ("min, max", lambda s: s.min(lambda x, y: x["c"] - y["c"]), [(1, 2, 3)]),
    ("max", lambda s: s.max(lambda x, y: x["c"] - y["c"]), [(3, 0, 8)]),
    ("minBy with a comparator", lambda s: s.minBy("a", lambda x, y: y - x), [(4, 1, 6)]),
    ("FirstN", lambda s: s.applyAssembly(FirstN(2)), [(1, 2, 3), (4, 1, 6)]),
    ("FirstN by a field, the greatest", lambda s: s.applyAssembly(FirstN(2, "a", True)), [(3, 0, 8), (4, 1, 6)]),
    ("an assembly that is a function", lambda s: s.applyAssembly(lambda s: s.project(["a"])), [(1,), (3,), (4,)]),
    ("groupBy, nothing alike", lambda s: s.groupBy(["a"]).aggregate(Count(), ["n"]), [(1, 1), (3, 1), (4, 1)]),
    ("a name, a hint, loads", lambda s: s.name("x").parallelismHint(1).setCPULoad(50).setMemoryLoad(9).project("a"), [(1,), (3,), (4,)]),
]  # fmt: skip


@pytest.mark.parametrize(("use", "expected"), [case[1:] for case in ONE_PARTITION], ids=[case[0] for case in ONE_PARTITION])
def test_an_operation_gives(use: Use, expected: list[tuple[Any, ...]]) -> None:
    assert results(ABC, [ROWS], use) == [expected]


FILTERS = [
    ("Equals", lambda s: s.each(["a", "b"], Equals()), [(1, 1), (None, None)]),
    ("FilterNull", lambda s: s.each(["a"], FilterNull()), [(1, 1), (1, 2)]),
    ("StringLength", lambda s: s.map(lambda t: [str(t[0]), 0]).each(["a"], StringLength(), ["n"]).project("n"), [(1,), (1,), (4,)]),
]


@pytest.mark.parametrize(("use", "expected"), [case[1:] for case in FILTERS], ids=[case[0] for case in FILTERS])
def test_a_built_in_operation_gives(use: Use, expected: list[tuple[Any, ...]]) -> None:
    assert results(["a", "b"], [[(1, 1), (1, 2), (None, None)]], use) == [expected]


def test_of_a_batch_without_tuples_here_an_aggregate_is_zero_once() -> None:
    def nothing(stream: Stream) -> Stream:
        return stream.filter(Negate(TrueFilter())).aggregate(["a"], Sum(), ["sum"])

    assert by_batch(ABC, [[ROWS, ROWS, ROWS]], nothing, partitions=3) == [[(0,)]]


# -- partitions: the documentation's examples ------------------------------------------------------------------------------------------

NUMBERS = [[(1,), (2,)], [(3,), (8,)], [(1,), (9,), (10,)]]
COUNTS = [
    [(123, 2), (113, 54), (23, 28), (237, 37), (12, 23), (62, 17), (98, 42)],
    [(64, 18), (72, 54), (2, 28), (742, 71), (98, 45), (62, 12), (19, 174)],
    [(27, 94), (82, 23), (9, 86), (53, 71), (74, 37), (51, 49), (37, 98)],
]


def several(t: TridentTuple) -> bool:
    return t["c"] > 1  # type: ignore[no-any-return]


PARTITIONED: list[tuple[str, Sequence[str], list[Any], Use, list[tuple[Any, ...]]]] = [
    ("partitionAggregate(Sum)", ["n"], NUMBERS, lambda s: s.partitionAggregate(["n"], Sum(), ["sum"]), [(3,), (11,), (20,)]),
    ("an empty partition is zero", ["n"], [[(1,)], [], []], lambda s: s.partitionAggregate(["n"], Sum(), ["sum"]), [(0,), (0,), (1,)]),
    ("minBy", ["id", "count"], COUNTS, lambda s: s.minBy("count"), [(62, 12), (82, 23), (123, 2)]),
    ("maxBy", ["id", "count"], COUNTS, lambda s: s.maxBy("count"), [(19, 174), (37, 98), (113, 54)]),
    ("aggregate, over all of them", ["n"], NUMBERS, lambda s: s.aggregate(["n"], Sum(), ["sum"]), [(34,)]),
    ("a Reducer, over all of them", ["n"], NUMBERS, lambda s: s.aggregate(["n"], Joined(), ["t"]), [("12381910",)]),
    ("global, then a partition", ["n"], NUMBERS, lambda s: s.global_().partitionAggregate(["n"], Sum(), ["sum"]), [(34,)]),
    ("batchGlobal, then a partition", ["n"], NUMBERS, lambda s: s.batchGlobal().partitionAggregate(["n"], Sum(), ["sum"]), [(34,)]),
    ("shuffle", ["n"], NUMBERS, lambda s: s.shuffle().partitionAggregate(Count(), ["c"]).parallelismHint(3), [(2,), (2,), (3,)]),
    ("localOrShuffle", ["n"], NUMBERS, lambda s: s.localOrShuffle().aggregate(Count(), ["c"]), [(7,)]),
    ("broadcast", ["n"], NUMBERS, lambda s: s.broadcast().partitionAggregate(Count(), ["c"]).parallelismHint(3), [(7,), (7,), (7,)]),
    ("identityPartition", ["n"], NUMBERS, lambda s: s.identityPartition().partitionAggregate(["n"], Sum(), ["s"]), [(3,), (11,), (20,)]),
    (
        "partition by a function", ["n"], NUMBERS,
        lambda s: s.partition(lambda values, partitions: values[0] % partitions).partitionAggregate(["n"], Sum(), ["s"]).parallelismHint(2),
        [(14,), (20,)],
    ),
    (
        "the partials of a group come together", ["n"], NUMBERS,
        lambda s: s.groupBy(["n"]).aggregate(Count(), ["c"]).parallelismHint(2).filter(lambda t: t["c"] > 1), [(1, 2)],
    ),
    (
        "a group within its partition", ["n"], NUMBERS,
        lambda s: s.groupBy("n").partitionAggregate(Count(), ["c"]).filter(lambda t: t[0] == 1), [(1, 1), (1, 1)],
    ),
    (
        "chained, of groups", ["id", "count"], COUNTS,
        lambda s: s.groupBy(["id"]).chainedAgg().aggregate(["count"], Sum(), ["s"]).aggregate(Count(), ["c"]).chainEnd().filter(several),
        [(62, 29, 2), (98, 87, 2)],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "rows", "use", "expected"), [case[1:] for case in PARTITIONED], ids=[case[0] for case in PARTITIONED])
def test_of_partitions_an_operation_gives(fields: list[str], rows: list[Any], use: Use, expected: list[tuple[Any, ...]]) -> None:
    assert [sorted(out) for out in by_batch(fields, [rows], use, partitions=3)] == [sorted(expected)]


class ByParity(CustomStreamGrouping):
    def prepare(self, context: Any, stream: str, targetTasks: list[int]) -> None:
        self._tasks = targetTasks

    def chooseTasks(self, taskId: int, values: list[Any]) -> list[int]:
        return [self._tasks[values[0] % 2], self._tasks[2]]


def test_a_custom_grouping_chooses_some_of_the_partitions() -> None:
    def use(stream: Stream) -> Stream:
        return stream.partition(ByParity()).partitionAggregate(["n"], Sum(), ["s"]).parallelismHint(3)

    assert by_batch(["n"], [NUMBERS], use, partitions=3) == [[(20,), (14,), (34,)]]


# -- streams that come together --------------------------------------------------------------------------------------------------------


def together(use: Callable[[TridentTopology, Stream, Stream], Stream], left: list[Any], right: list[Any]) -> list[tuple[Any, ...]]:
    topology, rows = TridentTopology(), []
    one = topology.newStream("one", Partitioned(["key", "val1", "val2"], left)).parallelismHint(2)
    other = topology.newStream("other", Partitioned(["x", "val1"], right))
    use(topology, one, other).peek(lambda t: rows.append(tuple(t)))
    run(topology)
    return sorted(rows, key=repr)


class Pairs(GroupedMultiReducer):
    """For each group how many tuples each stream has."""

    def init(self, collector: TridentCollector, group: TridentTuple) -> list[int]:
        return [0, 0]

    def execute(self, state: list[int], streamIndex: int, group: TridentTuple, input: TridentTuple, collector: TridentCollector) -> None:
        state[streamIndex] += 1

    def complete(self, state: list[int], group: TridentTuple, collector: TridentCollector) -> None:
        collector.emit(state)


class Everything(MultiReducer):
    def init(self, collector: TridentCollector) -> list[Any]:
        return []

    def execute(self, state: list[Any], streamIndex: int, input: TridentTuple, collector: TridentCollector) -> None:
        state.append((streamIndex, input[0]))

    def complete(self, state: list[Any], collector: TridentCollector) -> None:
        if state:
            collector.emit([state])


LEFT, RIGHT = [[("a", 1, 2), ("b", 3, 4)], [("a", 5, 6)]], [[("a", 7), ("c", 8)]]
OUT = ["key", "a", "b", "c"]
INNER, OUTER = JoinType.INNER, JoinType.OUTER
MEETINGS: list[tuple[str, Callable[..., Stream], list[tuple[Any, ...]]]] = [
    ("join", lambda t, s, o: t.join(s, ["key"], o, ["x"], OUT), [("a", 1, 2, 7), ("a", 5, 6, 7)]),
    ("join, by the names", lambda t, s, o: t.join(s, "key", o, "x", OUT).project(["c", "key"]), [(7, "a"), (7, "a")]),
    ("left", lambda t, s, o: t.join(s, ["key"], o, ["x"], OUT, JoinType.mixed(INNER, OUTER)),
     [("a", 1, 2, 7), ("a", 5, 6, 7), ("b", 3, 4, None)]),
    ("right", lambda t, s, o: t.join(s, ["key"], o, ["x"], OUT, JoinType.mixed(OUTER, INNER)),
     [("a", 1, 2, 7), ("a", 5, 6, 7), ("c", None, None, 8)]),
    ("full", lambda t, s, o: t.join(s, ["key"], o, ["x"], OUT, OUTER),
     [("a", 1, 2, 7), ("a", 5, 6, 7), ("b", 3, 4, None), ("c", None, None, 8)]),
    ("preserve", lambda t, s, o: t.join(s, ["key"], o, ["x"], ["k", "a", "b", "x", "c"], JoinOutFieldsMode.PRESERVE),
     [("a", 1, 2, "a", 7), ("a", 5, 6, "a", 7)]),
    ("three", lambda t, s, o: t.join(s, ["key"], o, ["x"], s.project(["key"]), ["key"], OUT),
     [("a", 1, 2, 7), ("a", 1, 2, 7), ("a", 5, 6, 7), ("a", 5, 6, 7)]),
    ("merge", lambda t, s, o: t.merge(s.project(["key", "val1"]), o).filter(lambda t: t["key"] != "a"), [("b", 3), ("c", 8)]),
    ("merge, under other names", lambda t, s, o: t.merge(["x"], s.project(["key"]), o.project("x")).groupBy("x").aggregate(Count(), "n"),
     [("a", 3), ("b", 1), ("c", 1)]),
    ("multiReduce", lambda t, s, o: t.multiReduce([["key"], ["x"]], [s.global_(), o.global_()], Everything(), ["all"]),
     [([(0, "a"), (0, "b"), (0, "a"), (1, "a"), (1, "c")],)]),
    ("multiReduce of groups", lambda t, s, o: t.multiReduce([s.groupBy("key"), o.groupBy("x")], Pairs(), ["left", "right"]),
     [("a", 2, 1), ("b", 1, 0), ("c", 0, 1)]),
]  # fmt: skip


@pytest.mark.parametrize(("use", "expected"), [case[1:] for case in MEETINGS], ids=[case[0] for case in MEETINGS])
def test_streams_come_together(use: Callable[..., Stream], expected: list[tuple[Any, ...]]) -> None:
    assert together(use, LEFT, RIGHT) == expected


def test_split_and_merge_of_one_stream() -> None:
    topology, rows = TridentTopology(), []
    stream = topology.newStream("in", Partitioned(["sentence"], [[["the man"]]]))
    words = stream.each(["sentence"], Split(), ["word"]).project(["word"])
    lengths = stream.each(["sentence"], StringLength(), ["n"]).project(["n"])
    topology.merge(words, lengths).peek(lambda t: rows.append(list(t)))
    run(topology)
    assert sorted(rows, key=repr) == sorted([[7], ["the"], ["man"]], key=repr)


def test_the_same_in_pythons_spelling() -> None:
    def use(stream: Stream) -> Stream:
        return stream.group_by(["a"]).chained_agg().aggregate(Count(), ["n"]).chain_end().parallelism_hint(2).partition_by(["n"])

    assert results(ABC, [ROWS], use) == [[(1, 1), (3, 1), (4, 1)]]
