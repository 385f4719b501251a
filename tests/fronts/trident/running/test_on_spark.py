"""Topologies on Spark: the batches of headrace streams, the same operations, states in the tasks and in the driver."""

from __future__ import annotations

import contextlib
import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from tests.fronts.trident.running import killed_on_spark
from tests.fronts.trident.states import cells

import headrace as hr
from headrace.errors import DefinitionError, JobError
from headrace.trident import (
    Aggregator,
    Count,
    FailedException,
    FixedBatchSpout,
    JoinType,
    LocalCluster,
    LocalDRPC,
    MapGet,
    MemoryMapState,
    ReducerAggregator,
    Split,
    SqliteMapState,
    StormSubmitter,
    Sum,
    TransactionAttempt,
    TridentCollector,
    TridentTopology,
    TridentTuple,
    TupleCollectionGet,
)

pytestmark = pytest.mark.usefixtures("spark")

SENTENCES = [[("the cow jumped over the moon",), ("the man",)], [("four score and the moon",)]]
WORDS = Counter(word for batch in SENTENCES for (sentence,) in batch for word in sentence.split())


def run(name: str, topology: TridentTopology, **more: Any) -> None:
    with StormSubmitter.submitTopology(name, {}, topology, trigger="once", **more) as running:
        running.wait()


def all_of(topology: TridentTopology, state: Any, drpc: LocalDRPC, width: int = 2) -> TridentTopology:
    """With a function "all" that gives everything a state has."""
    fields = [f"f{number}" for number in range(width)]
    topology.newDRPCStream("all", drpc).broadcast().stateQuery(state, ["args"], TupleCollectionGet(), fields).project(fields)
    return topology


def test_words_are_counted_and_asked_for_while_the_state_is_in_the_driver() -> None:
    topology, drpc = TridentTopology(), LocalDRPC()
    words = topology.newStream("sentences", hr.read.memory("sentence string", *SENTENCES)).each(["sentence"], Split(), ["word"])
    counts = words.groupBy(["word"]).persistentAggregate(MemoryMapState.Factory(), Count(), ["count"]).parallelismHint(2)
    asked = topology.newDRPCStream("words", drpc).each(["args"], Split(), ["word"]).groupBy(["word"])
    asked.stateQuery(counts, ["word"], MapGet(), ["count"]).aggregate(["count"], Sum(), ["sum"])
    assert [guarantee.exactly_once for guarantee in topology.guarantees()] == [True]
    run("words", all_of(topology, counts, drpc))
    assert Counter(dict(json.loads(drpc.execute("all", "")))) == WORDS
    assert drpc.execute("words", "the moon") == "[[6]]"


class FailsOnce(Aggregator):
    """Behind the state: the first attempt of each batch fails."""

    def init(self, batchId: TransactionAttempt, collector: TridentCollector) -> None:
        if batchId.attempt == 0:
            raise FailedException("elsewhere")

    def aggregate(self, state: None, tuple: TridentTuple, collector: TridentCollector) -> None:
        pass


def test_a_batch_that_is_replayed_in_the_tasks_is_counted_as_the_kind_of_each_state_says(tmp_path: Path) -> None:
    topology = TridentTopology()
    words = topology.newStream("sentences", hr.read.memory("sentence string", *SENTENCES)).each(["sentence"], Split(), ["word"])
    times = {"transactional": 1, "opaque": 1, "nonTransactional": 2}
    for kind in times:
        factory = getattr(SqliteMapState, kind)(tmp_path / "state.db", kind)
        counts = words.groupBy(["word"]).persistentAggregate(factory, Count(), ["count"])
    counts.newValuesStream().partitionAggregate(["count"], FailsOnce(), ["nothing"])
    run("replayed", topology)
    for kind, factor in times.items():
        assert table(tmp_path, kind) == {f'["{word}"]': str(count * factor) for word, count in WORDS.items()}


def table(home: Path, name: str) -> dict[str, str]:
    with contextlib.closing(sqlite3.connect(home / "state.db")) as connection:
        return dict(connection.execute(f"SELECT key, value FROM {name}").fetchall())


class Longest(ReducerAggregator):
    def init(self) -> str:
        return ""

    def reduce(self, current: str, tuple: TridentTuple) -> str:
        return max(current, tuple[0], key=len)


def test_two_streams_go_in_step_and_are_joined_within_a_batch(tmp_path: Path) -> None:
    people = hr.read.memory("id int, name string", [(1, "ann"), (2, "bob")])
    orders = hr.read.memory("customer int, item string", [(1, "tea"), (1, "cake"), (3, "jam")])
    topology, drpc = TridentTopology(), LocalDRPC()
    left, right = topology.newStream("people", people), topology.newStream("orders", orders)
    joined = topology.join(left, ["id"], right, ["customer"], ["id", "name", "item"], JoinType.mixed(JoinType.INNER, JoinType.OUTER))
    kept = joined.groupBy(["name"]).persistentAggregate(
        SqliteMapState.transactional(tmp_path / "state.db"), ["item"], LongestOrNone(), ["item"]
    )
    run("joined", all_of(topology, kept, drpc))
    assert dict(json.loads(drpc.execute("all", ""))) == {"ann": "cake", "bob": "-"}


class LongestOrNone(Longest):
    def reduce(self, current: str, tuple: TridentTuple) -> str:
        return super().reduce(current, tuple) if tuple[0] is not None else "-"


def test_merges_windows_and_global_aggregates_run_too() -> None:
    numbers = hr.read.memory("n int", [(1,), (2,), (3,)], [(4,), (5,), (6,)])
    topology, drpc = TridentTopology(), LocalDRPC()
    stream = topology.newStream("numbers", numbers)
    twice = topology.merge(stream, stream.map(lambda t: [t[0] * 10]))
    total = twice.persistentAggregate(MemoryMapState.Factory(), ["n"], Sum(), ["sum"])
    windows = stream.global_().tumblingWindow(2, ["n"], Sum(), ["sum"]).project(["sum"])
    kept = windows.groupBy(["sum"]).persistentAggregate(MemoryMapState.Factory(), Count(), ["times"])
    topology.newDRPCStream("total", drpc).stateQuery(total, ["args"], TupleCollectionGet(), ["key", "sum"]).project(["sum"])
    run("merged", all_of(topology, kept, drpc))
    assert drpc.execute("total", "") == "[[231]]"
    assert sum(total * times for total, times in json.loads(drpc.execute("all", ""))) == 21


def test_a_job_that_failed_goes_on_with_the_same_batch(tmp_path: Path) -> None:
    numbers = hr.read.memory("n int", [(1,)], [(2,)])
    topology, drpc, failures = TridentTopology(), LocalDRPC(), iter([OSError("the power failed")])
    state = topology.newStream("numbers", numbers).persistentAggregate(MemoryMapState.Factory(), ["n"], Sum(), ["sum"])

    def fail_once(t: TridentTuple) -> None:  # noqa: ARG001
        for failure in failures:
            raise failure

    state.newValuesStream().peek(fail_once)
    all_of(topology, state, drpc)
    with pytest.raises(JobError) as error:
        run("failed", topology, checkpoint=tmp_path)
    assert "peek(fail_once): OSError: the power failed" in error.value.what
    run("failed", topology, checkpoint=tmp_path)
    assert drpc.execute("all", "") == '[["$GLOBAL$", 3]]'


@pytest.mark.parametrize(
    ("make", "factory", "dogs"),
    [
        (lambda _: Remote(cells.STORIES["none"]), MemoryMapState.Factory(), 6),  # its partitions are read in the tasks
        (lambda _: cells.Opaque(cells.STORIES["fewer"]), cells.MAPS["transactional"].factory(cells.BareStore), 7),
        (cells.AtLeastOnce, cells.MAPS["non-transactional"].factory(cells.BareStore), 8),
    ],
    ids=["opaque, opaque", "opaque, transactional", "non-transactional, non-transactional"],
)
def test_a_spout_in_python_is_replayed_on_spark_as_its_kind_says(make: Any, factory: Any, dogs: int, tmp_path: Path) -> None:
    topology, drpc, strikes = TridentTopology(), LocalDRPC(), iter([FailedException("elsewhere")])

    def strike(t: TridentTuple) -> None:
        for failure in strikes if t["count"] == 6 else ():
            raise failure

    counts = topology.newStream("words", make(tmp_path)).groupBy(["word"]).persistentAggregate(factory, Count(), ["count"])
    counts.newValuesStream().peek(strike)
    topology.newDRPCStream("count", drpc).groupBy(["args"]).stateQuery(counts, ["args"], MapGet(), ["count"]).project(["count"])
    with StormSubmitter.submitTopology("dogs", {}, topology, checkpoint=tmp_path / "journal") as running:
        running.process_all()
        assert drpc.execute("count", "dog") == f"[[{dogs}]]"
        assert running.failures == 1


class Remote(cells.Opaque):
    remote = True

    def open(self, conf: Any, context: Any) -> None:
        self.opened = True

    def emitPartitionBatch(self, *arguments: Any) -> int:
        assert self.opened
        return super().emitPartitionBatch(*arguments)


def test_a_batch_that_always_fails_ends_with_the_job_and_says_of_what(caplog: pytest.LogCaptureFixture) -> None:
    topology, deadline = TridentTopology(), time.monotonic() + 30
    numbers = topology.newStream("numbers", hr.read.memory("n int", [(1,)]))
    numbers.persistentAggregate(MemoryMapState.Factory(), ["n"], Sum(), ["sum"]).newValuesStream().peek(never)
    running = StormSubmitter.submitTopology("stuck", {}, topology)
    while "batch 1 has failed 3 times" not in caplog.text and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not running.stop()
    with pytest.raises(JobError) as error:
        running.wait()
    assert "batch 1 has failed" in error.value.what
    assert "until the topology was stopped, the last time of this: peek(never): not today" in error.value.what


def never(t: TridentTuple) -> None:  # noqa: ARG001
    raise FailedException("not today")


def test_an_error_in_a_task_has_the_line_of_the_operation() -> None:
    topology = TridentTopology()
    stream = topology.newStream("numbers", hr.read.memory("n int", [(0,)]))
    stream.map(lambda t: [1 / t[0]])
    with pytest.raises(JobError) as error:
        run("wrong", topology)
    assert "map(<lambda>): ZeroDivisionError: division by zero" in error.value.what
    assert error.value.where is not None
    assert error.value.where.startswith(__file__)


@pytest.mark.faults
def test_a_driver_that_is_killed_goes_on_with_the_same_batch(kafka: str, topic: Callable[..., str], tmp_path: Path) -> None:
    name, producer = topic(), Producer({"bootstrap.servers": kafka, "log_level": 0})
    for number in range(8):  # two batches
        producer.produce(name, json.dumps({"word": "dog", "last": number >= 4}))
    producer.flush()
    command = [sys.executable, killed_on_spark.__file__, name, kafka, str(tmp_path)]
    assert subprocess.Popen(command, start_new_session=True).wait(timeout=180) == -signal.SIGKILL
    killed_on_spark.main(name, kafka, tmp_path)  # again, in this process
    assert table(tmp_path, "transactional") == {'["dog", false]': "4", '["dog", true]': "4"}
    assert table(tmp_path, "nonTransactional") == {'["dog", false]': "4", '["dog", true]': "8"}


@pytest.mark.parametrize(
    ("cluster", "kinds", "what", "fix"),
    [
        ({}, ["stream"], "newStream(0) is a headrace stream, which Spark reads", "StormSubmitter"),
        ({"on_spark": True}, ["spout", "stream"], "newStream(0) has a spout, and newStream(1) is read by Spark", "make two topologies"),
        ({"on_spark": True, "trigger": "once"}, ["spout"], "newStream(0) has a spout, which is asked again", "leave it out"),
        ({"on_spark": True, "checkpoint": "s3://bucket"}, ["spout"], "is a file of the driver's", "a directory of this machine"),
        ({"on_spark": True}, ["asked"], "has no stream of its own", "newStream"),
    ],
)
def test_what_cannot_run_there_is_refused(cluster: dict[str, Any], kinds: list[str], what: str, fix: str) -> None:
    topology = TridentTopology()
    for number, kind in enumerate(kinds):
        if kind == "asked":
            topology.newDRPCStream("asked", LocalDRPC())
        else:
            topology.newStream(str(number), hr.read.memory("n int") if kind == "stream" else FixedBatchSpout(["n"], 1, [1]))
    with pytest.raises(DefinitionError) as error:
        (StormSubmitter if cluster.pop("on_spark", False) else LocalCluster()).submitTopology("wrong", {}, topology, **cluster)
    assert what in error.value.what
    assert fix in error.value.fix


def test_a_function_that_cannot_be_sent_to_a_task_is_refused_before_the_start(tmp_path: Path) -> None:
    topology, opened = TridentTopology(), (tmp_path / "file").open("w")
    topology.newStream("numbers", hr.read.memory("n int")).each(["n"], lambda t: opened.write(str(t[0])) > 0)
    with opened, pytest.raises(DefinitionError) as error:
        StormSubmitter.submitTopology("sent", {}, topology)
    assert "cannot be sent to Spark's workers" in error.value.what
