"""Stateful components: what they save outlives their process; at least once it may count twice, effectively once it does not."""

from __future__ import annotations

import pytest

from headrace.storm import (
    BaseRichBolt,
    BaseStatefulBolt,
    BatchingBolt,
    Bolt,
    FeederSpout,
    Fields,
    Grouping,
    InvalidTopologyException,
    IStatefulComponent,
    KeyValueState,
    LocalCluster,
    ReliableSpout,
    ShellBolt,
    StatefulBolt,
    StatefulComponent,
    Topology,
    TopologyBuilder,
    Values,
)


class Sum(StatefulBolt):
    outputs = ("sum",)

    def process(self, tup):
        self.state["sum"] = self.state.get("sum", 0) + tup["value"]
        self.emit([self.state["sum"]])


class HeronSum(Bolt, StatefulComponent):
    """Counts in memory, as Heron's example does, and puts it into the state at the last moment."""

    outputs = ("sum",)

    def init_state(self, state):
        self.recovered = state

    def initialize(self, conf, ctx):
        self.sum = self.recovered.get("sum", 0)

    def pre_save(self, checkpoint_id):
        self.recovered.put("sum", self.sum)

    def process(self, tup):
        self.sum += tup["value"]
        self.emit([self.sum])


class JavaSum(BaseStatefulBolt):
    def declareOutputFields(self, declarer):
        declarer.declare(Fields("sum"))

    def prepare(self, conf, context, collector):
        self.collector_of_mine = collector

    def initState(self, state):
        assert self.collector_of_mine  # Storm's order
        self.sums = state

    def execute(self, tup):
        self.sums.put("sum", self.sums.get("sum", 0) + tup.getInteger(0))
        self.collector_of_mine.emit(tup, Values(self.sums.get("sum")))
        self.collector_of_mine.ack(tup)


class HeronJavaSum(BaseRichBolt, IStatefulComponent):
    def declareOutputFields(self, declarer):
        declarer.declare(Fields("sum"))

    def initState(self, state):
        self.sums = state

    def preSave(self, checkpointId):  # noqa: N803
        self.saved = checkpointId

    def prepare(self, conf, context, collector):
        self.collector_of_mine, self.before = collector, self.sums.getOrDefault("sum", 0)  # Heron's order

    def execute(self, tup):
        self.sums.put("sum", self.sums.getOrDefault("sum", 0) + tup.getInteger(0))
        self.collector_of_mine.emit(tup, Values(self.sums.get("sum")))
        self.collector_of_mine.ack(tup)


def fed(bolt, exact=False):
    feeder = FeederSpout(["value"])
    builder = TopologyBuilder()
    builder.setSpout("feeder", feeder)
    builder.setBolt("sum", bolt).shuffleGrouping("feeder")
    return feeder, LocalCluster(builder, config={"topology.reliability.mode": "EFFECTIVELY_ONCE" if exact else "ATLEAST_ONCE"})


def feed(feeder, cluster, *values):
    for value in values:
        feeder.feed([value], value)
    cluster.run()


BOLTS = {"Python": Sum, "Heron": HeronSum, "Java": JavaSum, "Heron's Java": HeronJavaSum}


@pytest.mark.parametrize("kind", BOLTS)
def test_state_that_was_saved_outlives_the_process_and_acks_wait_for_it(kind):
    feeder, cluster = fed(BOLTS[kind]())
    feed(feeder, cluster, 1, 2)
    assert feeder.acked == []
    cluster.advance(1)
    assert feeder.acked == [1, 2]
    feed(feeder, cluster, 10)
    cluster.kill("sum")  # before it was saved
    feed(feeder, cluster, 20)
    assert cluster.emitted["sum", "default"] == [[1], [3], [13], [23]]
    cluster.advance(70)
    assert (feeder.acked, feeder.failed) == ([1, 2, 20], [10])


@pytest.mark.parametrize("kind", BOLTS)
def test_effectively_once_all_go_back_to_one_moment(kind):
    feeder, cluster = fed(BOLTS[kind](), exact=True)
    feed(feeder, cluster, 1, 2)
    cluster.advance(10)  # saved
    feed(feeder, cluster, 10)
    cluster.kill("sum")
    feed(feeder, cluster, 20)
    assert cluster.emitted["sum", "default"] == [[1], [3], [13], [13], [33]]  # 10 comes again, and counts once
    assert feeder.failed == []


@pytest.mark.parametrize("grouping", [Grouping.SHUFFLE, Grouping.NONE, Grouping.partial_key("value"), Grouping.fields("value")])
def test_effectively_once_a_tuple_that_comes_again_goes_where_it_went(grouping):
    feeder = FeederSpout(["value"])

    class Spread(Topology):
        config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
        numbers = feeder.spec()
        sum = Sum.spec(inputs={numbers: grouping}, par=3)

    cluster = LocalCluster(Spread)
    feed(feeder, cluster, *range(5))
    cluster.advance(10)
    feed(feeder, cluster, *range(5, 15))
    before = cluster.emitted["sum", "default"][5:]
    cluster.kill("sum")
    cluster.run()
    assert cluster.emitted["sum", "default"][15:] == before


def test_effectively_once_a_batching_bolt_has_its_tuples_again():
    class Total(BatchingBolt):
        outputs = ("sum",)
        ticks_between_batches = 12

        def process_batch(self, key, tups):
            self.emit([sum(tup["value"] for tup in tups)])

    feeder, cluster = fed(Total(), exact=True)
    feed(feeder, cluster, 1, 2)
    cluster.advance(10.5)
    cluster.kill("sum")
    cluster.advance(2)
    assert cluster.emitted["sum", "default"] == [[3]]


def test_a_failure_ends_a_topology_that_runs_effectively_once():
    class Fails(StatefulBolt):
        def process(self, tup):
            self.fail(tup)

    feeder, cluster = fed(Fails(), exact=True)
    feeder.feed([1])
    with pytest.raises(Exception, match="nobody to emit it again"):
        cluster.run()


class Forgetful(ReliableSpout):
    outputs = ("value",)


@pytest.mark.parametrize(
    ("spout", "bolt", "words"),
    [
        (Forgetful(), Sum(), r"\[spout\] is a spout without state"),
        (FeederSpout(), ShellBolt(["x"], ["y"]), r"\[bolt\] is a program of its own"),
    ],
)
def test_what_cannot_be_taken_back_does_not_run_effectively_once(spout, bolt, words):
    builder = TopologyBuilder()
    builder.setSpout("spout", spout)
    builder.setBolt("bolt", bolt).shuffleGrouping("spout")
    with pytest.raises(InvalidTopologyException, match=words):
        LocalCluster(builder, config={"topology.reliability.mode": "EFFECTIVELY_ONCE"})


def test_a_state_is_a_map_that_knows_what_has_changed():
    state = KeyValueState({"a": 1, "b": None})
    state["c"] = 3
    state.delete("b")
    state.delete("nothing")
    assert state.changes() == {"c": (3,), "b": ()}
    assert state.changes() == {}
    assert (list(state), "b" in state, len(state), list(state.enumerate())) == ([("a", 1), ("c", 3)], False, 2, [(0, "a"), (1, "c")])
    state.clear()
    assert (state.changes(), list(state)) == ({"a": (), "c": ()}, [])


def test_a_key_that_was_deleted_stays_so():
    class Forgets(Sum):
        def process(self, tup):
            super().process(tup)
            if tup["value"] == 0:
                self.state.delete("sum")

    feeder, cluster = fed(Forgets())
    feed(feeder, cluster, 5)
    cluster.advance(1)
    feed(feeder, cluster, 0)
    cluster.advance(1)
    cluster.kill("sum")
    assert list(cluster.task("sum").state) == []
