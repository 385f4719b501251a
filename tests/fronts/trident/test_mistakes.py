"""Mistakes in a topology are told when it is built: in Trident's words, at the line that makes them, with what to write instead."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from headrace.errors import DefinitionError
from headrace.trident import (
    Count,
    CountAsAggregator,
    Fields,
    FilterNull,
    FixedBatchSpout,
    LocalDRPC,
    MapGet,
    MemoryMapState,
    Split,
    SqliteMapState,
    Stream,
    Sum,
    TridentState,
    TridentTopology,
)

MEMORY = MemoryMapState.Factory()

# what is written with a topology t, a stream s of (sentence, n) and a state c; what is told; what is to be written instead
MISTAKES: list[tuple[Callable[[TridentTopology, Stream, TridentState], Any], str, str]] = [
    # an unknown field, anywhere
    (lambda t, s, c: s.each(["sentense"], Split(), ["word"]), "each(Split): the stream has no field 'sentense'", "mean 'sentence'?"),
    (lambda t, s, c: s.each(["x"], FilterNull()), "each(FilterNull): the stream has no field 'x'", "The fields here are sentence, n"),
    (lambda t, s, c: s.filter(["x"], FilterNull()), "filter(FilterNull): the stream has no field 'x'", "sentence, n"),
    (lambda t, s, c: s.project(["n", "m"]), "project: the stream has no field 'm'", "sentence, n"),
    (lambda t, s, c: s.map(lambda t: [1, 2], ["a", "b"]).project("n"), "project: the stream has no field 'n'", "a, b"),
    (lambda t, s, c: s.minBy("m"), "minBy: the stream has no field 'm'", "are sentence, n"),
    (lambda t, s, c: s.maxBy("m"), "maxBy: the stream has no field 'm'", "are sentence, n"),
    (lambda t, s, c: s.partitionBy(["m"]), "partitionBy: the stream has no field 'm'", "are sentence, n"),
    (lambda t, s, c: s.groupBy(["m"]), "groupBy: the stream has no field 'm'", "are sentence, n"),
    (lambda t, s, c: s.aggregate(["m"], Sum(), ["sum"]), "aggregate(Sum): the stream has no field 'm'", "are sentence, n"),
    (lambda t, s, c: s.groupBy("n").aggregate("m", Sum(), "x"), "aggregate(Sum): the stream has no field 'm'", "are sentence, n"),
    (lambda t, s, c: s.groupBy("n").aggregate(Count(), "x").project("sentence"), "project: the stream has no field 'sentence'", "n, x"),
    (lambda t, s, c: s.partitionAggregate(["m"], Sum(), ["x"]), "partitionAggregate(Sum): the stream has no field 'm'", "are sentence, n"),
    (lambda t, s, c: s.chainedAgg().aggregate(["m"], Sum(), ["x"]), "aggregate(Sum): the stream has no field 'm'", "are sentence, n"),
    (lambda t, s, c: s.persistentAggregate(MEMORY, ["m"], Sum(), ["x"]), "persistentAggregate(Sum): the stream has no field 'm'", "n"),
    (lambda t, s, c: s.stateQuery(c, ["word"], MapGet(), ["x"]), "stateQuery(MapGet): the stream has no field 'word'", "sentence, n"),
    (lambda t, s, c: s.tumblingWindow(2, ["m"], Count(), ["x"]), "window(Count): the stream has no field 'm'", "are sentence, n"),
    (lambda t, s, c: t.join(s, ["m"], s, ["n"], ["a", "b", "c"]), "join: the stream has no field 'm'", "are sentence, n"),
    (lambda t, s, c: c.newValuesStream().project(["n"]), "project: the stream has no field 'n'", "sentence, count"),
    # fields that do not fit
    (lambda t, s, c: s.each(["n"], Split(), ["sentence"]), "each(Split): the stream has a field 'sentence' already", "another name"),
    (lambda t, s, c: s.stateQuery(c, ["n"], MapGet(), ["n"]), "stateQuery(MapGet): the stream has a field 'n' already", "another name"),
    (lambda t, s, c: s.chainedAgg().aggregate(Count(), "x").aggregate(Count(), "x"), "aggregate(Count): the stream has a field 'x' already",
     "another name"),
    (lambda t, s, c: Fields("a", "b", "a"), "the field 'a' is there twice", "a name of its own"),
    (lambda t, s, c: s.project([1]), "1 is no name of a field", "as text"),
    (lambda t, s, c: s.aggregate(Count(), ["a", "b"]), "aggregate: Count gives one value, not 2", "name one field"),
    (lambda t, s, c: t.join(s, ["n"], s, ["n"], ["n", "a"]), "join: 2 names for 3 values", "n, sentence, sentence"),
    (lambda t, s, c: t.merge(s, s.project("n")), "merge: the streams have different numbers of fields: 2 and 1", "project them"),
    # things that are something else
    (lambda t, s, c: t.newStream("other", Split()), "is no spout", "FixedBatchSpout"),
    (lambda t, s, c: t.newStream("other", FixedBatchSpout), "is no spout", "give an object"),
    (lambda t, s, c: t.newStream("in", FixedBatchSpout("x", 1)), "newStream: there is a stream 'in' already", "a name of its own"),
    (lambda t, s, c: t.newDRPCStream("f"), "newDRPCStream: there is no DRPC server", "LocalDRPC()"),
    (lambda t, s, c: s.each(["sentence"], FilterNull(), ["x"]), "each(FilterNull): it is no Function", "execute(tuple, collector)"),
    (lambda t, s, c: s.each(["sentence"], Split()), "each(Split): it is no Filter", "name the new fields"),
    (lambda t, s, c: s.each(["sentence"], Split, ["word"]), "each(Split): it is no Function", "give an object"),
    (lambda t, s, c: s.map(3), "map(int): it cannot be called", "give a function"),
    (lambda t, s, c: s.aggregate(["n"], Sum, ["x"]), "is no aggregator", "Count()"),
    (lambda t, s, c: s.aggregate(["n"]), "aggregate: which fields and which aggregator?", 'aggregate(["in"], aggregator, ["out"])'),
    (lambda t, s, c: s.persistentAggregate(MemoryMapState(), Count(), ["x"]), "makes no state", "MemoryMapState.Factory()"),
    (lambda t, s, c: s.persistentAggregate(MEMORY, CountAsAggregator(), ["x"]), "is an Aggregator, which has no value to keep",
     "CombinerAggregator"),
    (lambda t, s, c: s.partitionPersist(MEMORY, ["n"]), "partitionPersist: there is no StateUpdater", "updateState"),
    (lambda t, s, c: s.stateQuery(s, ["n"], MapGet(), ["x"]), "stateQuery: Stream[sentence, n] is no state", "persistentAggregate"),
    (lambda t, s, c: s.stateQuery(c, ["n"], Split(), ["x"]), "stateQuery(Split): it is no QueryFunction", "MapGet()"),
    (lambda t, s, c: t.newStaticState(MEMORY).newValuesStream(), "newValuesStream: a static state is not updated here", "persistentAgg"),
    (lambda t, s, c: t.merge(s, c), "is no stream", "topology.merge(s1, s2)"),
    (lambda t, s, c: s.parallelismHint(0), "parallelismHint: 0 is no number of partitions", "from 1 on"),
    (lambda t, s, c: s.tumblingWindow(timedelta(seconds=1), ["n"]), "window: which fields and which aggregator?", "aggregator"),
    (lambda t, s, c: s.tumblingWindow("10 secs", ["n"], Sum(), ["x"]), "window: '10 secs' is not a duration", "'10 seconds'"),
    (lambda t, s, c: s.slidingWindow(2, 5, ["n"], Sum(), ["x"]), "window: the slide (5) is longer than the window (2)", "length first"),
    (lambda t, s, c: s.slidingWindow(2, "5 seconds", ["n"], Sum(), ["x"]), "not both counts or both durations", "two durations"),
    (lambda t, s, c: SqliteMapState.opaque("x.db", "two words"), "'two words' is no name for a state's table", "letters"),
    (lambda t, s, c: TridentTopology().build(), "build: the topology has no stream", "newStream"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "what", "fix"), MISTAKES, ids=[what for _, what, _ in MISTAKES])
def test_a_mistake_is_told_at_its_line(wrong: Callable[..., Any], what: str, fix: str) -> None:
    topology = TridentTopology()
    stream = topology.newStream("in", FixedBatchSpout(["sentence", "n"], 1))
    state = stream.groupBy("sentence").persistentAggregate(MEMORY, Count(), ["count"])
    topology.newDRPCStream("asked", LocalDRPC())
    with pytest.raises(DefinitionError) as error:
        wrong(topology, stream, state)
    assert what in error.value.what
    assert fix in error.value.fix
    assert error.value.where == f"{__file__}:{inspect.getsourcelines(wrong)[1]}"
