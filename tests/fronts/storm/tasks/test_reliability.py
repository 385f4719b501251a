"""Anchors, acks, fails, time-outs and replay, with a clock of the test's own."""

from __future__ import annotations

import pytest

from headrace.fronts.storm.tasks.acking import RotatingMap
from headrace.storm import (
    BaseRichBolt,
    BatchingBolt,
    Bolt,
    FailedException,
    FeederSpout,
    Fields,
    LocalCluster,
    ReliableSpout,
    Topology,
    TopologyBuilder,
)


class Holding(BaseRichBolt):
    """Acks nothing; keeps what it gets."""

    def prepare(self, conf, context, collector):
        self.collector, self.held = collector, []

    def execute(self, tup):
        self.held.append(tup)


def fed(*bolts, **config):
    """A feeder, and a cluster with one or two bolts behind it, one after the other."""
    feeder = FeederSpout(["value"])
    builder = TopologyBuilder()
    builder.setSpout("feeder", feeder)
    before = "feeder"
    for name, bolt in zip(("bolt", "end"), bolts, strict=False):
        builder.setBolt(name, bolt).shuffleGrouping(before)
        before = name
    return feeder, LocalCluster(builder, config={f"topology.{name.replace('_', '.')}": value for name, value in config.items()})


def test_a_tuple_that_is_not_acked_fails_between_one_and_two_time_outs():
    feeder, cluster = fed(Holding(), message_timeout_secs=10)
    cluster.advance(1)
    feeder.feed([1], "a")
    cluster.run()
    cluster.advance(9)
    assert feeder.failed == []
    cluster.advance(12)
    assert feeder.failed == ["a"]


def test_a_reset_lets_the_time_out_begin_anew():
    feeder, cluster = fed(Holding(), message_timeout_secs=10)
    feeder.feed([1], "a")
    cluster.run()
    for _ in range(5):
        cluster.advance(8)
        bolt = cluster.task("bolt")
        bolt.collector.resetTimeout(bolt.held[0])
        cluster._messages.extend(cluster.bolts[2].taken())
        cluster.run()
    assert feeder.failed == []
    cluster.advance(21)
    assert feeder.failed == ["a"]


def test_a_failed_tuple_fails_at_once_and_the_roots_of_all_its_anchors_with_it():
    class Pairs(Holding):
        def declareOutputFields(self, declarer):
            declarer.declare(Fields("pair"))

        def execute(self, tup):
            self.held.append(tup)
            if len(self.held) == 2:
                self.collector.emit(self.held, ["both"])
                for each in self.held:
                    self.collector.ack(each)

    class Failing(Holding):
        def execute(self, tup):
            self.collector.fail(tup)

    feeder, cluster = fed(Pairs(), Failing())
    feeder.feed([1], "a")
    feeder.feed([2], "b")
    cluster.run()
    assert (sorted(feeder.failed), feeder.acked) == (["a", "b"], [])


def test_the_failure_of_an_unanchored_tuple_is_nobodys():
    class Loose(Bolt):
        outputs = ("value",)

        def process(self, tup):
            self.emit([1], anchors=[])

    class Failing(Bolt):
        def process(self, tup):
            raise FailedException

    feeder, cluster = fed(Loose(), Failing())
    feeder.feed([1], "a")
    cluster.run()
    assert (feeder.acked, feeder.failed) == (["a"], [])


def test_the_same_anchor_twice_is_fine():
    class Twice(Bolt):
        outputs = ("value",)

        def process(self, tup):
            self.emit([1], anchors=[tup, tup])

    class End(Bolt):
        def process(self, tup):
            pass

    feeder, cluster = fed(Twice(), End())
    feeder.feed([1], "a")
    cluster.run()
    assert feeder.acked == ["a"]


@pytest.mark.parametrize(("ackers", "tup_id", "acked"), [(0, "a", ["a"]), (1, "a", []), (1, None, []), (0, None, [])])
def test_without_ackers_a_tuple_is_acked_at_once_and_without_an_id_never(ackers, tup_id, acked):
    feeder, cluster = fed(Holding(), acker_executors=ackers)
    feeder.feed([1], tup_id)
    cluster.run()
    cluster.advance(100)
    assert feeder.acked == acked
    assert feeder.failed == (["a"] if ackers and tup_id else [])


@pytest.mark.parametrize(("limit", "under_way"), [(None, 10), (3, 3), (1, 1)])
def test_no_more_tuples_are_under_way_than_max_spout_pending(limit, under_way):
    feeder, cluster = fed(Holding(), max_spout_pending=limit)
    for number in range(10):
        feeder.feed([number], number)
    cluster.run()
    assert cluster.pending == under_way == len(cluster.task("bolt").held)


class Once(ReliableSpout):
    outputs = ("value",)

    def initialize(self, conf, ctx):
        self.left = [1, 2, 3]

    def next_tuple(self):
        if self.left:
            value = self.left.pop(0)
            self.emit([value], tup_id=value)


@pytest.mark.parametrize(("times", "seen"), [(0, 1), (2, 3), (3, 4), (9, 4)])
def test_a_reliable_spout_emits_a_failed_tuple_again_up_to_three_times(times, seen):
    class FailsTwo(Bolt):
        outputs = ("value",)

        def initialize(self, conf, ctx):
            self.tries = []

        def process(self, tup):
            self.tries.append(tup["value"])
            if tup["value"] == 2 and self.tries.count(2) <= times:
                raise ValueError("not yet")

    class Replayed(Topology):
        once = Once.spec()
        bolt = FailsTwo.spec(inputs=[once])

    cluster = LocalCluster(Replayed)
    cluster.run()
    assert cluster.task("bolt").tries.count(2) == seen
    assert cluster.task("bolt").tries.count(1) == 1
    assert (cluster.task("once").unacked_tuples, cluster.pending) == ({}, 0)
    assert ("not yet" in (cluster.bolts[2].counts.error or "")) == (times > 0)


def test_a_bolt_that_does_not_fail_its_tuples_raises_its_errors():
    class Strict(Bolt):
        auto_fail = False

        def process(self, tup):
            raise ValueError("broken")

    feeder, cluster = fed(Strict())
    feeder.feed([1], "a")
    with pytest.raises(ValueError, match="broken"):
        cluster.run()


def test_what_a_killed_bolt_held_times_out_and_comes_again():
    class Sums(BatchingBolt):
        outputs = ("sum",)

        def process_batch(self, key, tups):
            self.emit([sum(tup["value"] for tup in tups)], anchors=tups)

    class Killed(Topology):
        config = {"topology.message.timeout.secs": 10}
        once = Once.spec()
        sums = Sums.spec(inputs=[once], config={"topology.tick.tuple.freq.secs": 5})

    cluster = LocalCluster(Killed)
    cluster.run()
    cluster.kill("sums")
    cluster.advance(5)
    assert cluster.emitted.get(("sums", "default")) is None
    cluster.advance(30)
    assert cluster.emitted["sums", "default"] == [[6]]
    assert cluster.pending == 0


def test_a_batching_bolt_hands_each_group_over_at_its_tick():
    class Grouped(BatchingBolt):
        outputs = ("even", "values")
        ticks_between_batches = 2

        def group_key(self, tup):
            return tup["value"] % 2 == 0

        def process_batch(self, key, tups):
            self.emit([key, [tup["value"] for tup in tups]], anchors=tups)

    class Batches(Topology):
        once = Once.spec()
        grouped = Grouped.spec(inputs=[once])

    cluster = LocalCluster(Batches)
    cluster.run()
    cluster.advance(1)
    assert ("grouped", "default") not in cluster.emitted
    cluster.advance(1)
    assert sorted(cluster.emitted["grouped", "default"]) == [[False, [1, 3]], [True, [2]]]
    assert cluster.pending == 0


def test_what_is_put_again_in_a_rotating_map_is_as_good_as_new():
    kept = RotatingMap(2)
    kept.put("a", 1)
    assert kept.rotate() == {}
    kept.put("a", 1)
    assert kept.rotate() == {}
    assert kept.rotate() == {"a": 1}
    assert len(kept) == 0
