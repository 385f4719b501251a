"""Stateful windowed bolts: after a crash no window changes the state twice, and none is left out."""

from __future__ import annotations

import pytest

from headrace.storm import (
    BaseStatefulWindowedBolt,
    BaseWindowedBolt,
    Count,
    Duration,
    FeederSpout,
    Fields,
    InvalidTopologyException,
    LocalCluster,
    TopologyBuilder,
    Values,
)


class Total(BaseStatefulWindowedBolt):
    """The sum of all tuples of all windows so far, and the window's own."""

    def declareOutputFields(self, declarer):
        declarer.declare(Fields("total", "window"))

    def prepare(self, conf, context, collector):
        self.collector = collector

    def initState(self, state):
        self.totals = state

    def execute(self, window):
        values = [tup["value"] for tup in window.get()]
        self.totals["total"] = self.totals.get("total", 0) + sum(values)
        self.collector.emit(Values(self.totals["total"], values))


def windowed(bolt, mode):
    feeder = FeederSpout(["id", "value"])
    builder = TopologyBuilder()
    builder.setSpout("feeder", feeder)
    builder.setBolt("windows", bolt).shuffleGrouping("feeder")
    return feeder, LocalCluster(builder, config={"topology.reliability.mode": mode})


def feed(feeder, cluster, *values):
    for value in values:
        feeder.feed([value, value], value)
    cluster.run()


HOW = {
    "by the tuples' numbers": (lambda bolt: bolt.withMessageIdField("id"), "ATLEAST_ONCE"),
    "with its window": (lambda bolt: bolt.withPersistence().withMaxEventsInMemory(10), "ATLEAST_ONCE"),
    "effectively once": (lambda bolt: bolt, "EFFECTIVELY_ONCE"),
}
CUTS = {
    "tumbling": (lambda bolt: bolt.withTumblingWindow(Count(3)), [[6, [1, 2, 3]], [21, [4, 5, 6]], [45, [7, 8, 9]]]),
    "sliding": (
        lambda bolt: bolt.withWindow(Count(3), Count(2)),
        [[3, [1, 2]], [12, [2, 3, 4]], [27, [4, 5, 6]], [48, [6, 7, 8]]],
    ),
    "by their own time": (
        lambda bolt: bolt.withTumblingWindow(Duration(3)).withTimestampField("value"),
        [[6, [1, 2, 3]], [21, [4, 5, 6]], [45, [7, 8, 9]]],
    ),
}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("how", HOW)
def test_no_window_changes_the_state_twice(how, cut):
    (known, mode), (cutting, expected) = HOW[how], CUTS[cut]
    feeder, cluster = windowed(known(cutting(Total())), mode)
    feed(feeder, cluster, 1, 2, 3, 4, 5)
    cluster.advance(10)  # what it has is saved
    cluster.kill("windows")
    if mode == "ATLEAST_ONCE":  # as a spout would that reads from where all is acked
        feed(feeder, cluster, *(value for value in (1, 2, 3, 4, 5) if value not in feeder.acked))
    feed(feeder, cluster, 6, 7, 8, 9)
    cluster.advance(10)
    assert cluster.emitted["windows", "default"] == expected


def test_a_window_that_is_saved_lets_its_tuples_go_and_may_be_longer_than_their_time_out():
    feeder, cluster = windowed(Total().withTumblingWindow(Duration.minutes(10)).withPersistence(), "ATLEAST_ONCE")
    cluster.advance(0.5)
    feed(feeder, cluster, 1, 2)
    cluster.advance(1)
    assert feeder.acked == [1, 2]
    cluster.advance(600)
    assert cluster.emitted["windows", "default"] == [[3, [1, 2]]]


def test_a_window_without_state_goes_back_too_when_all_do():
    class Plain(BaseWindowedBolt):
        def declareOutputFields(self, declarer):
            declarer.declare(Fields("values"))

        def prepare(self, conf, context, collector):
            self.collector = collector

        def execute(self, window):
            self.collector.emit(Values([tup["value"] for tup in window.get()]))

    feeder, cluster = windowed(Plain().withTumblingWindow(Count(3)), "EFFECTIVELY_ONCE")
    feed(feeder, cluster, 1, 2)
    cluster.advance(10)
    cluster.kill("windows")
    feed(feeder, cluster, 3)
    assert cluster.emitted["windows", "default"] == [[[1, 2, 3]]]


def test_at_least_once_it_must_be_able_to_tell_which_tuples_it_has_had():
    with pytest.raises(InvalidTopologyException) as raised:
        windowed(Total().withTumblingWindow(Count(3)), "ATLEAST_ONCE")
    assert raised.value.fix == "say .withMessageIdField(…) or .withPersistence()"
