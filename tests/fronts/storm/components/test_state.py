"""Stateful bolts: what they save outlives their process."""

from __future__ import annotations

import pytest

from headrace.errors import ModeError
from headrace.storm import (
    BaseStatefulBolt,
    FeederSpout,
    Fields,
    LocalCluster,
    Reliability,
    StatefulBolt,
    Topology,
    TopologyBuilder,
    Values,
    submit,
)


class Sum(StatefulBolt):
    outputs = ("sum",)

    def process(self, tup):
        self.state.put("sum", self.state.get("sum", 0) + tup["value"])
        self.emit([self.state.get("sum")])


class JavaSum(BaseStatefulBolt):
    def declareOutputFields(self, declarer):
        declarer.declare(Fields("sum"))

    def prepare(self, conf, context, collector):
        self.collector_of_mine = collector

    def initState(self, state):
        self.sums = state

    def execute(self, tup):
        self.sums.put("sum", self.sums.get("sum", 0) + tup.getInteger(0))
        self.collector_of_mine.emit(tup, Values(self.sums.get("sum")))
        self.collector_of_mine.ack(tup)


def fed(bolt):
    feeder = FeederSpout(["value"])
    builder = TopologyBuilder()
    builder.setSpout("feeder", feeder)
    builder.setBolt("sum", bolt).shuffleGrouping("feeder")
    return feeder, LocalCluster(builder)


def feed(feeder, cluster, *values):
    for value in values:
        feeder.feed([value], value)
    cluster.run()


@pytest.mark.parametrize("bolt", [Sum(), JavaSum()], ids=["Python", "Java"])
def test_state_that_was_saved_outlives_the_process_and_acks_wait_for_it(bolt):
    feeder, cluster = fed(bolt)
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


def test_a_key_that_was_deleted_stays_so():
    class Forgetful(Sum):
        def process(self, tup):
            super().process(tup)
            if tup["value"] == 0:
                self.state.delete("sum")

    feeder, cluster = fed(Forgetful())
    feed(feeder, cluster, 5)
    cluster.advance(1)
    feed(feeder, cluster, 0)
    cluster.advance(1)
    cluster.kill("sum")
    assert list(cluster.task("sum").state) == []


def test_effectively_once_is_refused_with_the_reason():
    with pytest.raises(ModeError) as raised:
        submit(Topology, reliability=Reliability.EFFECTIVELY_ONCE)
    assert "which no checkpoint takes back" in raised.value.what
    assert "scan_python" in raised.value.fix
