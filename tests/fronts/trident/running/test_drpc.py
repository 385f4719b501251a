"""Requests to a running topology: Storm's own cases, the answer as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.fronts.trident.topologies import fed

from headrace.errors import DefinitionError, JobError
from headrace.trident import (
    BaseFunction,
    Count,
    FailedException,
    FilterNull,
    FixedBatchSpout,
    LocalCluster,
    LocalDRPC,
    MapGet,
    MemoryMapState,
    ReducerAggregator,
    SnapshotGet,
    Split,
    StringLength,
    Sum,
    TridentCollector,
    TridentTopology,
    TridentTuple,
    TupleCollectionGet,
)

# what is fed, and then what is asked and answered
WORDS: list[tuple[list[list[str]], dict[str, str]]] = [
    ([["hello the man said"], ["the"]], {"the": "[[2]]", "hello": "[[1]]", "nobody": "[[0]]"}),
    ([["the man on the moon"], ["where are you"]], {"the": "[[4]]", "man": "[[2]]", "man where you the": "[[8]]"}),
    ([["the the"]], {"the": "[[6]]"}),
    ([["the"]], {"the": "[[7]]"}),
]


@pytest.mark.parametrize("partitions", [1, 6])
def test_words_are_counted_and_asked_for(partitions: int) -> None:
    topology, spout, sentences = fed("sentence")
    drpc = LocalDRPC()
    words = sentences.each(["sentence"], Split(), ["word"]).groupBy(["word"])
    counts = words.persistentAggregate(MemoryMapState.Factory(), Count(), ["count"]).parallelismHint(partitions)
    asked = topology.newDRPCStream("words", drpc).each(["args"], Split(), ["word"]).groupBy(["word"])
    asked.stateQuery(counts, ["word"], MapGet(), ["count"]).each(["count"], FilterNull()).aggregate(["count"], Sum(), ["sum"])
    with LocalCluster() as cluster:
        cluster.submitTopology("words", {}, topology.build())
        for sentences_of_batch, answers in WORDS:
            spout.feed(sentences_of_batch)
            assert {args: drpc.execute("words", args) for args in answers} == answers


@pytest.mark.parametrize("partitions", [1, 3])
def test_a_broadcast_request_reads_all_of_a_state(partitions: int) -> None:
    topology, spout, sentences = fed("sentence")
    drpc = LocalDRPC()
    words = sentences.each(["sentence"], Split(), ["word"]).groupBy(["word"])
    counts = words.persistentAggregate(MemoryMapState.Factory(), Count(), ["count"]).parallelismHint(partitions)
    asked = topology.newDRPCStream("all", drpc).broadcast()
    asked.stateQuery(counts, ["args"], TupleCollectionGet(), ["word", "count"]).project(["word", "count"])
    with LocalCluster() as cluster:
        cluster.submitTopology("all", {}, topology.build())
        spout.feed([["hello the man said"], ["the"]])
        assert dict(json.loads(drpc.execute("all", ""))) == {"hello": 1, "said": 1, "the": 2, "man": 1}
        spout.feed([["the foo"]])
        assert dict(json.loads(drpc.execute("all", ""))) == {"hello": 1, "said": 1, "the": 3, "man": 1, "foo": 1}


def counting(drpc: LocalDRPC) -> TridentTopology:
    topology = TridentTopology()
    topology.newDRPCStream("count", drpc).each(["args"], Split(), ["word"]).aggregate(Count(), ["count"])
    return topology


@pytest.mark.parametrize(("args", "answer", "times"), [("the", "[[1]]", 100), ("", "[[0]]", 1), ("1 2 3 4 5 6 7 8", "[[8]]", 1)])
def test_a_topology_may_have_requests_alone(args: str, answer: str, times: int) -> None:
    drpc = LocalDRPC()
    with LocalCluster() as cluster:
        cluster.submitTopology("count", {}, counting(drpc).build())
        assert {drpc.execute("count", args) for _ in range(times)} == {answer}


def test_split_and_merged_branches_are_one_answer() -> None:
    topology, drpc = TridentTopology(), LocalDRPC()
    asked = topology.newDRPCStream("tester", drpc)
    lengths = asked.each(["args"], StringLength(), ["len"]).project(["len"])
    topology.merge(asked.each(["args"], Split(), ["word"]).project(["word"]), lengths)
    with LocalCluster() as cluster:
        cluster.submitTopology("merged", {}, topology.build())
        assert sorted(json.loads(drpc.execute("tester", "the man")), key=repr) == [["man"], ["the"], [7]]


class Fails(BaseFunction):
    def __init__(self, error: Exception) -> None:
        self._error = error

    def execute(self, tuple: TridentTuple, collector: TridentCollector) -> None:
        raise self._error


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (ValueError("no"), "each(Fails): ValueError: no"),
        (FailedException("not now"), "the request 'f' failed: each(Fails): not now"),
    ],
)
def test_an_error_reaches_who_asked_and_the_topology_goes_on(error: Exception, what: str) -> None:
    topology, drpc = counting(drpc := LocalDRPC()), drpc
    topology.newDRPCStream("f", drpc).each(["args"], Fails(error), ["x"])
    with LocalCluster() as cluster:
        cluster.submitTopology("failing", {}, topology.build())
        with pytest.raises(JobError) as raised:
            drpc.execute("f", "")
        assert raised.value.what == what
        assert drpc.execute("count", "a b") == "[[2]]"


def test_nobody_answers_before_the_start_and_after_the_end() -> None:
    drpc = LocalDRPC()
    topology = counting(drpc)
    with LocalCluster() as cluster:
        for _ in range(2):
            with pytest.raises(JobError) as error:
                drpc.execute("count", "a")
            assert error.value.what == "no running topology answers 'count'"
            assert error.value.where is not None
            cluster.submitTopology("count", {}, topology)
            assert drpc.execute("count", "a") == "[[1]]"
            cluster.killTopology("count")


class Total(ReducerAggregator):
    def init(self) -> int:
        return 0

    def reduce(self, current: int, tuple: TridentTuple) -> int:
        return current + tuple[0]


@pytest.mark.parametrize("aggregator", [Sum(), Total()], ids=["combiner", "reducer"])
def test_an_aggregate_over_everything_is_one_value(aggregator: Any) -> None:
    topology, spout, numbers = fed("n")
    drpc = LocalDRPC()
    total = numbers.shuffle().parallelismHint(3).persistentAggregate(MemoryMapState.Factory(), ["n"], aggregator, ["sum"])
    seen: list[int] = []
    total.newValuesStream().peek(lambda t: seen.append(t["sum"]))
    topology.newDRPCStream("total", drpc).stateQuery(total, ["args"], SnapshotGet(), ["sum"]).project(["sum"])
    with LocalCluster() as cluster:
        cluster.submitTopology("total", {}, topology.build())
        for batch, sum_ in [([1, 2, 3], 6), ([4], 10)]:
            spout.feed([[n] for n in batch])
            assert json.loads(drpc.execute("total", "")) == [[sum_]]
    assert seen == [6, 10]


def test_a_static_state_is_read_only_and_shared() -> None:
    factory, drpc = MemoryMapState.Factory(), LocalDRPC()
    factory.makeState({}, 0, 1).multiPut([["ann"]], ["Oslo"])
    topology = TridentTopology()
    asked = topology.newDRPCStream("city", drpc)
    asked.stateQuery(topology.newStaticState(factory), ["args"], MapGet(), ["city"]).project(["city"])
    with LocalCluster() as cluster:
        cluster.submitTopology("city", {}, topology.build())
        assert [drpc.execute("city", name) for name in ("ann", "bob")] == ['[["Oslo"]]', "[[null]]"]


def test_a_request_that_ends_in_two_places_or_meets_batches_is_refused() -> None:
    topology, drpc = TridentTopology(), LocalDRPC()
    asked = topology.newDRPCStream("f", drpc)
    asked.project(["args"])
    asked.each(["args"], Split(), ["word"])
    with pytest.raises(DefinitionError) as error:
        topology.build()
    assert "ends in 2 places (project, each(Split))" in error.value.what
    mixed = TridentTopology()
    mixed.merge(mixed.newDRPCStream("f", drpc), mixed.newStream("s", FixedBatchSpout(["x"], 1, ["a"])))
    with pytest.raises(DefinitionError) as error:
        mixed.build()
    assert "merge: it brings together requests of 'f' and a stream of batches" in error.value.what
