"""Storm's own acceptance cases: the numbers of its integration tests."""

from __future__ import annotations

from collections import Counter

import pytest

from headrace.storm import (
    BaseRichBolt,
    Bolt,
    FeederSpout,
    Fields,
    Grouping,
    LocalCluster,
    Spout,
    Stream,
    Topology,
    TopologyBuilder,
    complete_topology,
)


class Words(Spout):
    outputs = ("word",)


class WordCount(Bolt):
    outputs = ("word", "count")

    def initialize(self, conf, ctx):
        self.counts = Counter()

    def process(self, tup):
        self.counts[tup["word"]] += 1
        self.emit([tup["word"], self.counts[tup["word"]]])


class GlobalCount(Bolt):
    outputs = ("total",)

    def initialize(self, conf, ctx):
        self.total = 0

    def process(self, tup):
        self.total += 1
        self.emit([self.total])


class Identity(Bolt):
    outputs = ("value",)

    def process(self, tup):
        self.emit(list(tup.values))


class Branching(BaseRichBolt):
    """So many tuples for each one."""

    def __init__(self, amount: int) -> None:
        self.amount = amount

    def declareOutputFields(self, declarer):
        declarer.declare(Fields("value"))

    def prepare(self, conf, context, collector):
        self.collector = collector

    def execute(self, tup):
        for i in range(self.amount):
            self.collector.emit(tup, [i])
        self.collector.ack(tup)


class Aggregating(BaseRichBolt):
    """Waits for so many tuples, then emits one that is anchored to all of them."""

    def __init__(self, amount: int) -> None:
        self.amount = amount

    def declareOutputFields(self, declarer):
        declarer.declare(Fields("value"))

    def prepare(self, conf, context, collector):
        self.collector, self.waiting = collector, []

    def execute(self, tup):
        self.waiting.append(tup)
        if len(self.waiting) == self.amount:
            self.collector.emit(self.waiting, [1])
            for each in self.waiting:
                self.collector.ack(each)
            self.waiting = []


class Acking(BaseRichBolt):
    def prepare(self, conf, context, collector):
        self.collector = collector

    def execute(self, tup):
        self.collector.ack(tup)


def test_words_are_counted_by_fields_and_in_total_by_one_task():
    class Counting(Topology):
        words = Words.spec(par=3)
        count = WordCount.spec(inputs={words: Grouping.fields("word")}, par=4)
        total = GlobalCount.spec(inputs={words: Grouping.GLOBAL})
        doubled = GlobalCount.spec(inputs={total: Grouping.SHUFFLE})

    results = complete_topology(Counting, {"words": [["nathan"], ["bob"], ["joey"], ["nathan"]]})
    assert sorted(results["count"]) == [["bob", 1], ["joey", 1], ["nathan", 1], ["nathan", 2]]
    assert results["total"] == [[1], [2], [3], [4]]
    assert results["doubled"] == [[1], [2], [3], [4]]
    assert sorted(results["words"]) == [["bob"], ["joey"], ["nathan"], ["nathan"]]


def test_all_grouping_brings_one_tuple_to_each_of_six_tasks():
    class Copies(Topology):
        words = Words.spec()
        copies = Identity.spec(inputs={words: Grouping.ALL}, par=3, tasks=6)

    assert complete_topology(Copies, {"words": [["hello"]]})["copies"] == [["hello"]] * 6


def test_a_custom_grouping_chooses_the_first_two_of_four_tasks():
    class FirstTasks:
        def prepare(self, context, stream, target_tasks):
            self.tasks = target_tasks[:2]

        def choose_tasks(self, task, values):
            return self.tasks

    class Custom(Topology):
        words = Words.spec()
        copies = Identity.spec(inputs={words: Grouping.custom_object(FirstTasks())}, par=4)

    results = complete_topology(Custom, {"words": [["a"], ["b"]]})
    assert sorted(results["copies"]) == [["a"], ["a"], ["b"], ["b"]]


def test_branches_that_meet_are_acked_together():
    feeder = FeederSpout(["value"])
    builder = TopologyBuilder()
    builder.setSpout("feeder", feeder)
    builder.setBolt("left", Identity()).shuffleGrouping("feeder")
    builder.setBolt("right", Identity()).shuffleGrouping("feeder")
    builder.setBolt("meet", Aggregating(4)).shuffleGrouping("left").shuffleGrouping("right")
    cluster = LocalCluster(builder)
    counted = []
    for number in (1, 2):
        feeder.feed([1], number)
        cluster.run()
        counted.append(len(feeder.acked))
    assert counted == [0, 2]


def test_three_feeders_that_branch_into_groups_of_three_are_acked_when_their_trees_are():
    feeders = [FeederSpout(["value"]) for _ in range(3)]
    builder = TopologyBuilder()
    for number, (feeder, branches) in enumerate(zip(feeders, (2, 4, 1), strict=True), start=1):
        builder.setSpout(f"feeder{number}", feeder)
        builder.setBolt(f"branch{number}", Branching(branches)).shuffleGrouping(f"feeder{number}")
    group = builder.setBolt("group", Aggregating(3))
    for number in (1, 2, 3):
        group.shuffleGrouping(f"branch{number}")
    builder.setBolt("twice", Branching(2)).shuffleGrouping("group")
    builder.setBolt("end", Acking()).shuffleGrouping("twice")
    cluster = LocalCluster(builder)
    seen = []
    for which in (0, 1, 0, 0, 2):
        feeders[which].feed([1], object())
        cluster.run()
        seen.append(tuple(len(feeder.acked) for feeder in feeders))
        for feeder in feeders:
            feeder.acked.clear()
    assert seen == [(0, 0, 0), (1, 1, 0), (0, 0, 0), (1, 0, 0), (0, 0, 0)]


@pytest.mark.parametrize(
    ("tasks", "sent", "low", "high"),
    [(2, 100_000, 49_000, 51_000), (3, 9, 3, 3), (4, 8, 2, 2)],
)
def test_shuffle_gives_each_task_as_many(tasks, sent, low, high):
    class Even(Topology):
        words = Words.spec()
        copies = Identity.spec(inputs=[words], par=tasks)

    cluster = LocalCluster(Even, sources={"words": [[i] for i in range(sent)]})
    cluster.run()
    executed = [cluster.bolts[task].counts.executed for task in cluster.layout.tasks["copies"]]
    assert all(low <= count <= high for count in executed)
    assert sum(executed) == sent


def test_partial_key_splits_a_key_between_two_tasks():
    class Split(Topology):
        words = Words.spec()
        copies = Identity.spec(inputs={words: Grouping.partial_key("word")}, par=5)

    cluster = LocalCluster(Split, sources={"words": [["only"]] * 100})
    cluster.run()
    assert sorted(task.counts.executed for task in cluster.bolts.values()) == [0, 0, 0, 50, 50]


def test_a_direct_stream_goes_to_the_task_that_the_producer_names():
    class Chooser(Bolt):
        outputs = (Stream(["word"], "chosen", direct=True),)

        def initialize(self, conf, ctx):
            self.tasks = ctx.getComponentTasks("copies")

        def process(self, tup):
            self.emit([tup["word"]], stream="chosen", direct_task=self.tasks[len(tup["word"]) % 3])

    class Direct(Topology):
        words = Words.spec()
        choose = Chooser.spec(inputs=[words])
        copies = Identity.spec(inputs={choose["chosen"]: Grouping.DIRECT}, par=3)

    cluster = LocalCluster(Direct, sources={"words": [["a"], ["bb"], ["cc"], ["ddd"]]})
    cluster.run()
    assert [cluster.bolts[task].counts.executed for task in cluster.layout.tasks["copies"]] == [1, 1, 2]


@pytest.mark.parametrize(("workers", "expected"), [(1, [1, 1, 1, 1]), (2, [0, 2, 0, 2])])
def test_local_or_shuffle_stays_in_the_worker_if_it_can(workers, expected):
    class Local(Topology):
        words = Words.spec()
        relay = Identity.spec(inputs=[words])
        copies = Identity.spec(inputs={relay: Grouping.LOCAL_OR_SHUFFLE}, par=4)

    cluster = LocalCluster(Local, sources={"words": [[i] for i in range(4)]}, config={"topology.workers": workers})
    cluster.run()
    assert [cluster.bolts[task].counts.executed for task in cluster.layout.tasks["copies"]] == expected


def test_executors_are_dealt_to_workers_evenly():
    class Parallel(Topology):
        config = {"topology.workers": 2}
        blue = Words.spec(par=2)
        green = Identity.spec(inputs=[blue], par=2, tasks=4)
        yellow = Identity.spec(inputs=[green], par=6)

    layout = LocalCluster(Parallel).layout
    workers = Counter(layout.worker[tasks[0]] for tasks in layout.executors)
    assert (len(layout.executors), workers) == (10, {0: 5, 1: 5})
    assert [len(tasks) for tasks in layout.executors] == [1, 1, 2, 2, 1, 1, 1, 1, 1, 1]
