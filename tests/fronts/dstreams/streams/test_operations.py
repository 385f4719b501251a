"""Operations on each batch alone: the rules that PySpark's own tests of DStreams state, in our words and with our data."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import add
from typing import Any

import pytest

from headrace.dstreams import DStream, ManualClock, StreamingContext
from headrace.errors import ArgumentError, DefinitionError

NUMBERS = [[1, 2, 3], [4, 5], []]
PAIRS = [[("a", 1), ("a", 2), ("b", 3)], [("", 1), ("", 2), (1, 5)]]
OTHERS = [[("a", 10), ("c", 30)], [(1, 50)]]

ONE = [
    ("map", NUMBERS, lambda s: s.map(str), [["1", "2", "3"], ["4", "5"], []]),
    ("flatMap", NUMBERS, lambda s: s.flatMap(lambda x: [x, -x]), [[-1, -2, -3, 1, 2, 3], [-4, -5, 4, 5], []]),
    ("filter", NUMBERS, lambda s: s.filter(lambda x: x % 2), [[1, 3], [5], []]),
    ("count: 0 if empty", NUMBERS, lambda s: s.count(), [[3], [2], [0]]),
    ("reduce: none if empty", NUMBERS, lambda s: s.reduce(add), [[6], [9], []]),
    ("glom", [[1, 2, 3, 4]], lambda s: s.repartition(1).glom().map(sorted), [[[1, 2, 3, 4]]]),
    ("mapPartitions", [[1, 2, 3, 4]], lambda s: s.repartition(1).mapPartitions(lambda part: [sum(part)]), [[10]]),
    ("mapPartitionsWithIndex", [[1, 2]], lambda s: s.repartition(1).mapPartitionsWithIndex(lambda i, part: [(i, sum(part))]), [[(0, 3)]]),
    ("countByValue", [["a", "b", "a"], [1, 1]], lambda s: s.countByValue(), [[("a", 2), ("b", 1)], [(1, 2)]]),
    ("keys of mixed types", PAIRS, lambda s: s.reduceByKey(add), [[("a", 3), ("b", 3)], [("", 3), (1, 5)]]),
    ("groupByKey", PAIRS, lambda s: s.groupByKey().mapValues(sorted), [[("a", [1, 2]), ("b", [3])], [("", [1, 2]), (1, [5])]]),
    (
        "combineByKey", PAIRS, lambda s: s.combineByKey(lambda v: [v], lambda c, v: [*c, v], add).mapValues(sorted),
        [[("a", [1, 2]), ("b", [3])], [("", [1, 2]), (1, [5])]],
    ),
    ("mapValues", PAIRS[:1], lambda s: s.mapValues(lambda v: -v), [[("a", -1), ("a", -2), ("b", -3)]]),
    ("flatMapValues", [[("a", 2)]], lambda s: s.flatMapValues(range), [[("a", 0), ("a", 1)]]),
    ("partitionBy", PAIRS[:1], lambda s: s.partitionBy(1).glom().map(len), [[3]]),
    ("transform", NUMBERS, lambda s: s.transform(lambda rdd: rdd.map(lambda x: x * 10)), [[10, 20, 30], [40, 50], []]),
    ("transform with the time", [[1]], lambda s: s.transform(lambda t, rdd: rdd.map(lambda _: round(t.timestamp()))), [[1_000_001]]),
    ("transform takes a partial", [[2]], lambda s: s.transform(partial(lambda n, rdd: rdd.map(lambda x: x * n), 3)), [[6]]),
    ("a second argument with a default is no time", [[2]], lambda s: s.transform(lambda rdd, n=3: rdd.map(lambda x: x * n)), [[6]]),
    ("cartesian", [[1], [2]], lambda s: s.transform(lambda rdd: rdd.cartesian(rdd)), [[(1, 1)], [(2, 2)]]),
]  # fmt: skip

TWO = [
    ("union", NUMBERS, [[7], [], [8]], lambda a, b: a.union(b), [[1, 2, 3, 7], [4, 5], [8]]),
    ("join", PAIRS, OTHERS, lambda a, b: a.join(b), [[("a", (1, 10)), ("a", (2, 10))], [(1, (5, 50))]]),
    ("leftOuterJoin", PAIRS[:1], OTHERS, lambda a, b: a.leftOuterJoin(b), [[("a", (1, 10)), ("a", (2, 10)), ("b", (3, None))], []]),
    ("rightOuterJoin", [[("b", 2)]], OTHERS[:1], lambda a, b: a.rightOuterJoin(b), [[("a", (None, 10)), ("c", (None, 30))]]),
    ("fullOuterJoin", [[("a", 1), ("b", 2)]], [[("b", 3)]], lambda a, b: a.fullOuterJoin(b), [[("a", (1, None)), ("b", (2, 3))]]),
    ("cogroup", [[("a", 1)]], [[("a", 2), ("a", 3)]], lambda a, b: a.cogroup(b).mapValues(lambda vs: [sorted(v) for v in vs]),
     [[("a", [[1], [2, 3]])]]),
    ("transformWith", [[1]], [[2]], lambda a, b: a.transformWith(lambda x, y: x.union(y), b), [[1, 2]]),
    ("transformWith the time", [[1]], [[2]], lambda a, b: a.transformWith(lambda t, x, y: x.union(y) if t else x, b), [[1, 2]]),
    ("union of the context", [[1]], [[2]], lambda a, b: a.context().union(a, b, a), [[1, 1, 2]]),
    ("transform of the context", [[1]], [[2]], lambda a, b: a.context().transform([a, b], lambda rdds: rdds[1].union(rdds[0])), [[1, 2]]),
]  # fmt: skip


@pytest.mark.parametrize(("batches", "operation", "expected"), [case[1:] for case in ONE], ids=[case[0] for case in ONE])
def test_an_operation_is_applied_to_each_batch(run: Any, batches: Any, operation: Any, expected: Any) -> None:
    assert run(operation, batches) == expected


@pytest.mark.parametrize(("left", "right", "operation", "expected"), [case[1:] for case in TWO], ids=[case[0] for case in TWO])
def test_two_streams_meet_in_the_batches_of_the_same_time(run: Any, left: Any, right: Any, operation: Any, expected: Any) -> None:
    assert run(operation, left, right) == expected


def test_a_bound_method_gets_the_rdd_and_not_the_time(run: Any) -> None:
    class Times:
        def ten(self, rdd: Any) -> Any:
            return rdd.map(lambda x: x * 10)

    assert run(lambda s: s.transform(Times().ten), [[1]]) == [[10]]


def test_a_queue_gives_one_rdd_a_batch_and_then_its_default(ssc: StreamingContext, clock: ManualClock) -> None:
    one: list[Any] = []
    every: list[Any] = []
    ssc.queueStream([[1], [2]], default=[0]).foreachRDD(lambda rdd: one.append(rdd.collect()))
    ssc.queueStream([[1], [2]], oneAtATime=False).foreachRDD(lambda rdd: every.append(rdd.collect()))
    ssc.start()
    clock.advance(3)
    assert one == [[1], [2], [0]]
    assert every == [[1, 2], [], []]


def test_slice_gives_the_batches_from_begin_to_end_both_included(ssc: StreamingContext, clock: ManualClock) -> None:
    ssc.remember(4)
    numbers = ssc.queueStream([[1], [2], [3], [4]])
    numbers.foreachRDD(lambda _: None)
    ssc.start()
    clock.advance(4)

    def between(begin: float, end: float) -> list[int]:
        return [element for rdd in numbers.slice(1_000_000 + begin, 1_000_000 + end) for element in rdd.collect()]

    assert [between(1, 1), between(2, 3), between(2, 9), between(1.9, 3.1)] == [[1], [2, 3], [2, 3, 4], [1, 2, 3]]
    clock.advance(1)
    with pytest.raises(Exception, match="does not remember") as refused:
        between(1, 1)
    assert "ssc.remember" in refused.value.fix  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (lambda s: s.transform(lambda a, b, c: (a, b, c)), "takes 3 arguments"),
        (lambda s: s.foreachRDD(7), "7 is no function"),
        (lambda s: s.window(1.5), "1.5 s, is not a multiple of 1 s"),
        (lambda s: s.window(2, 0.1), "100 ms, is not a multiple of 1 s"),
        (lambda s: s.reduceByKeyAndWindow(add, None, 0.1, 1), "100 ms, is not a multiple"),
        (lambda s: s.window(0), "0 is no duration"),
        (lambda s: s.checkpoint(1.5), "1.5 s is not a multiple of 1 s"),
        (lambda s: s.join(s.window(2, 2)), "an RDD every 1 s, another every 2 s"),
        (lambda s: s.mapWithState(lambda *_: None), "is no StateSpec"),
        (lambda s: s.context().receiverStream(3), "3 is no receiver"),
        (lambda s: s.context().union(), "there are no streams"),
        (lambda s: s.collect(), "a DStream has no 'collect'"),
        (lambda s: s.context().twitterStream(), "has no 'twitterStream'"),
        (lambda s: StreamingContext(s.context().sparkContext), "no batch interval"),
        (lambda _: StreamingContext("local", 1), "is no SparkContext"),
        (lambda _: StreamingContext.getActiveOrCreate(None, lambda: 3), "the setup function gave 3"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_at_its_line(ssc: StreamingContext, wrong: Callable[[DStream], Any], what: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        wrong(ssc.queueStream([]))
    assert what in refused.value.what
    assert refused.value.where is not None
    assert refused.value.where.startswith(__file__)
    assert refused.value.fix


def test_a_window_that_does_not_fit_is_also_a_value_error(ssc: StreamingContext) -> None:
    with pytest.raises(ValueError) as refused:
        ssc.queueStream([]).window(1.5)
    assert isinstance(refused.value, ArgumentError)
    assert refused.value.fix == "take 2 s, or a batch interval that divides it"
