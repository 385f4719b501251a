"""Batches: their numbers, their order, what is replayed, and what is remembered when the process ends."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.fronts.trident.topologies import fed

from headrace.errors import DefinitionError, JobError
from headrace.trident import (
    Aggregator,
    BaseFunction,
    BaseStateUpdater,
    Count,
    FailedException,
    FeederBatchSpout,
    Fields,
    FixedBatchSpout,
    IBatchSpout,
    IRichSpout,
    LocalCluster,
    LocalDRPC,
    MapGet,
    MemoryMapState,
    Split,
    State,
    StateFactory,
    TransactionAttempt,
    TridentCollector,
    TridentTopology,
    TridentTuple,
)


class Attempts(Aggregator):
    """Notes which attempts it sees, and lets some of them fail."""

    def __init__(self, failing: set[tuple[int, int]]) -> None:
        self.seen: list[tuple[int | None, int]] = []
        self._failing = failing

    def init(self, batchId: TransactionAttempt, collector: TridentCollector) -> None:
        self.seen.append((batchId.getTransactionId(), batchId.getAttemptId()))
        if self.seen[-1] in self._failing:
            raise FailedException("as asked")

    def aggregate(self, state: None, tuple: TridentTuple, collector: TridentCollector) -> None:
        pass


def test_a_failed_batch_is_replayed_with_a_higher_attempt_before_the_next_begins() -> None:
    topology, spout, stream = fed("n")
    attempts, tuples = Attempts({(2, 0), (2, 1)}), []
    stream.peek(lambda t: tuples.append(t[0])).partitionAggregate(["n"], attempts, ["x"])
    with LocalCluster() as cluster:
        running = cluster.submitTopology("attempts", {}, topology)
        for number in "abc":
            spout.feed([[number]])
        assert running.failures == 2
    assert attempts.seen == [(1, 0), (2, 0), (2, 1), (2, 2), (3, 0)]
    assert tuples == ["a", "b", "b", "b", "c"]


def test_a_batch_that_always_fails_is_replayed_after_ever_longer_pauses_and_the_log_says_of_what(caplog: pytest.LogCaptureFixture) -> None:
    topology, deadline = TridentTopology(), time.monotonic() + 10
    topology.newStream("in", FixedBatchSpout(["n"], 1, [1])).peek(never)
    began = time.monotonic()
    with LocalCluster() as cluster:
        running = cluster.submitTopology("stuck", {}, topology)
        while running.failures < 5 and time.monotonic() < deadline:
            time.sleep(0.005)
    assert time.monotonic() - began >= 0.01 + 0.02 + 0.04 + 0.08
    assert [record.getMessage() for record in caplog.records][:2] == [
        f"topology 'stuck': batch 1 has failed {times} times, the last time of this: peek(never): not today; it is run again in {pause} s"
        for times, pause in ((3, 0.04), (4, 0.08))
    ]


def never(t: TridentTuple) -> None:  # noqa: ARG001
    raise FailedException("not today")


class Log(State):
    """What happens to a state."""

    def __init__(self, log: list[Any]) -> None:
        self._log = log

    def beginCommit(self, txid: int | None) -> None:
        self._log.append(("begin", txid))

    def commit(self, txid: int | None) -> None:
        self._log.append(("commit", txid))

    def put(self, values: list[Any]) -> None:
        self._log.append(values)


class Logs(StateFactory):
    def __init__(self) -> None:
        self.log: list[Any] = []

    def make_state(self, conf: Any, partition_index: int, num_partitions: int) -> Log:
        return Log(self.log)


class Puts(BaseStateUpdater):
    def update_state(self, state: Log, tuples: list[TridentTuple], collector: TridentCollector) -> None:
        state.put([each["n"] for each in tuples])
        for each in tuples:
            collector.emit([each[0] * 2])


def test_a_state_of_ones_own_is_updated_once_for_each_partition_with_tuples() -> None:
    topology, spout, stream = fed("n")
    factory, new = Logs(), []
    state = stream.partitionPersist(factory, ["n"], Puts(), ["twice"])
    state.newValuesStream().peek(lambda t: new.append(t["twice"]))
    with LocalCluster() as cluster:
        cluster.submitTopology("own", {}, topology)
        spout.feed([[1], [2]])
        spout.feed([[3]])
    assert factory.log == [("begin", 1), [1, 2], ("commit", 1), ("begin", 2), [3], ("commit", 2)]
    assert new == [2, 4, 6]
    (guarantee,) = topology.guarantees()
    assert (guarantee.exactly_once, str(guarantee)) == (
        False, "partitionPersist(Puts): transactional spout, of your own kind state: not exactly once",
    )  # fmt: skip


def test_states_change_only_after_everything_else_has_been_computed() -> None:
    topology, spout, stream = fed("n")
    factory = Logs()
    stream.partitionPersist(factory, ["n"], Puts(), ["twice"])
    stream.partitionAggregate(["n"], Attempts({(1, 0)}), ["x"])  # written below it, computed before it
    with LocalCluster() as cluster:
        cluster.submitTopology("phases", {}, topology)
        spout.feed([[1]])
    assert factory.log == [("begin", 1), [1], ("commit", 1)]


class Chunks(IBatchSpout):
    """In Python's spelling."""

    def __init__(self) -> None:
        self.acked: list[int] = []
        self._left = [["a"], ["b"]]

    def get_output_fields(self) -> Sequence[str]:
        return ["x"]

    def emit_batch(self, batch_id: int, collector: TridentCollector) -> None:
        if self._left:
            collector.emit(self._left.pop(0))

    def ack(self, batch_id: int) -> None:
        self.acked.append(batch_id)


class Numbers(IRichSpout):
    def __init__(self, count: int) -> None:
        self._left, self.told = list(range(count)), []

    def getOutputFields(self) -> Sequence[str]:
        return ["n"]

    def nextTuple(self) -> None:
        if self._left:
            number = self._left.pop(0)
            self.collector.emit([number], number)

    def ack(self, id: int) -> None:
        self.told.append(("ack", id))

    def fail(self, id: int) -> None:
        self.told.append(("fail", id))
        self._left.append(id)


def sizes(spout: Any, field: str, failing: set[tuple[int, int]] = frozenset()) -> list[int]:  # type: ignore[assignment]
    topology, counts = TridentTopology(), []
    stream = topology.newStream("in", spout)
    stream.aggregate(Count(), ["n"]).peek(lambda t: counts.append(t[0]))
    stream.partitionAggregate([field], Attempts(failing), ["x"])
    with LocalCluster() as cluster:
        cluster.submitTopology("sizes", {}, topology).process_all()
    return counts


def test_a_batch_spout_is_asked_for_batches_and_told_of_each_that_succeeded() -> None:
    spout = Chunks()
    assert (sizes(spout, "x"), spout.acked) == ([1, 1], [1, 2])


def test_a_rich_spout_is_polled_for_a_thousand_tuples_at_most() -> None:
    spout = Numbers(1500)
    assert sizes(spout, "n") == [1000, 500]
    assert spout.told == [("ack", number) for number in range(1500)]


def test_a_rich_spout_is_told_of_failures_before_it_is_asked_again() -> None:
    spout = Numbers(2)
    assert sizes(spout, "n", {(1, 0)}) == [2, 2]
    assert spout.told == [("fail", 0), ("fail", 1), ("ack", 0), ("ack", 1)]


def test_a_fixed_spout_may_cycle() -> None:
    spout, topology, drpc = FixedBatchSpout("word", 2, ["a"], ["b"], ["a"]), TridentTopology(), LocalDRPC()
    spout.setCycle(True)
    counts = topology.newStream("in", spout).groupBy("word").persistentAggregate(MemoryMapState.Factory(), Count(), "count")
    topology.newDRPCStream("count", drpc).stateQuery(counts, ["args"], MapGet(), ["count"]).project("count")
    with LocalCluster() as cluster:
        cluster.submitTopology("cycle", {}, topology)
        while drpc.execute("count", "a") < "[[20":  # it goes on by itself
            pass


def test_a_topology_with_a_home_goes_on_with_the_next_batch(tmp_path: Path) -> None:
    for batches, expected in [(["a", "b"], [(1, 0), (2, 0)]), (["c"], [(3, 0)])]:
        spout, topology = FixedBatchSpout("x", 1, *([word] for word in batches)), TridentTopology()
        attempts = Attempts(set())
        topology.newStream("in", spout).partitionAggregate(["x"], attempts, ["y"])
        with LocalCluster(home=tmp_path) as cluster:
            cluster.submitTopology("home", {}, topology).process_all()
        assert attempts.seen == expected


def test_two_processes_cannot_run_a_topology_of_one_home(tmp_path: Path) -> None:
    topology = TridentTopology()
    topology.newStream("in", FixedBatchSpout("x", 1, ["a"]))
    with LocalCluster(home=tmp_path) as one, LocalCluster(home=tmp_path) as other:
        one.submitTopology("home", {}, topology)
        with pytest.raises(JobError) as error:
            other.submitTopology("home", {}, topology)
    assert "the journal of 'home'" in error.value.what


class Wrong(BaseFunction):
    def execute(self, tuple: TridentTuple, collector: TridentCollector) -> None:
        raise OSError("no disk")


def test_any_other_error_ends_the_topology_in_words() -> None:
    topology, spout, stream = fed("x")
    stream.each(["x"], Wrong(), ["y"])
    cluster = LocalCluster()
    running = cluster.submitTopology("wrong", {}, topology)
    with pytest.raises(JobError) as error:
        spout.feed([["a"]])
    assert "the topology ended" in error.value.what
    with pytest.raises(JobError) as error, cluster:
        running.process_all()
    assert error.value.what == "each(Wrong): OSError: no disk"
    assert error.value.where is not None
    assert error.value.where.startswith(__file__)


@pytest.mark.parametrize(
    ("operate", "what"),
    [
        (lambda s: s.map(lambda t: t[0]), "map(<lambda>): 'a' is no list of 1 values"),
        (lambda s: s.each(["x"], lambda t: [[t[0], 2]], ["y"]), "each(<lambda>): ['a', 2] is no list of 1 values"),
        (lambda s: s.filter(lambda t: t["z"]), "this tuple has no field 'z'"),
        (lambda s: s.map(lambda t: [[t[0]]]).groupBy("x").aggregate(Count(), "n"), "aggregate(Count): (['a'],) cannot be a key"),
        (lambda s: s.partition(lambda values, n: 6 + len(values) * n), "partition: the grouping chose 7, but the partitions are 0 to 0"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_value_is_told_with_the_operation(operate: Any, what: str) -> None:
    topology, spout, stream = fed("x")
    operate(stream)
    spout.feed([["a"]])
    with pytest.raises(DefinitionError) as error, LocalCluster() as cluster:
        cluster.submitTopology("wrong", {}, topology).process_all()
    assert error.value.what == what
    assert error.value.where is not None
    assert error.value.where.startswith(__file__)


class Prepared(BaseFunction):
    def __init__(self) -> None:
        self.log: list[str] = []

    def prepare(self, conf: Any, context: Any) -> None:
        self.log.append(conf["greeting"])

    def execute(self, tuple: TridentTuple, collector: TridentCollector) -> None:
        self.log.append(tuple[0])

    def cleanup(self) -> None:
        self.log.append("bye")


def test_an_operation_is_prepared_once_and_cleaned_up_at_the_end() -> None:
    topology, spout, stream = fed("x")
    function = Prepared()
    stream.parallelismHint(3).each(["x"], function, ["y"])
    with LocalCluster() as cluster:
        cluster.submitTopology("prepared", {"greeting": "hi"}, topology)
        spout.feed([["a"]])
        spout.feed([["b"]])
    assert function.log == ["hi", "a", "b", "bye"]


def test_several_batches_in_flight_are_refused() -> None:
    topology, _, _ = fed("x")
    with pytest.raises(DefinitionError) as error, LocalCluster() as cluster:
        cluster.submitTopology("flight", {"topology.max.spout.pending": 3}, topology)
    assert "several batches in flight" in error.value.what
    assert error.value.where is not None


def test_partitions_of_a_group_are_its_greatest_hint() -> None:
    topology = TridentTopology()
    stream = topology.newStream("in", FixedBatchSpout("x", 1)).parallelismHint(16)  # which gives whole batches
    words = stream.each("x", Split(), "word").parallelismHint(8)
    counts = words.groupBy("word").persistentAggregate(MemoryMapState.Factory(), Count(), "n").parallelismHint(6)
    asked = topology.newDRPCStream("f", LocalDRPC()).parallelismHint(2).groupBy("args").stateQuery(counts, ["args"], MapGet(), "n")
    numbers = topology.graph.partitions(default=4)
    assert [numbers[each] for each in (stream.node, words.node, counts.state, counts.newValuesStream().node, asked.node)] == [1, 1, 6, 6, 6]


def test_a_feeder_keeps_what_is_fed_before_the_start() -> None:
    spout, topology, seen = FeederBatchSpout(Fields("x")), TridentTopology(), []
    topology.newStream("in", spout).peek(lambda t: seen.append(t[0]))
    spout.feed([["a"], ["b"]])
    with LocalCluster() as cluster:
        cluster.submitTopology("fed", {}, topology).process_all()
    assert seen == ["a", "b"]
