"""What is wrong with a topology is told when it is made, in Storm's words, with the line of the program."""

from __future__ import annotations

import pytest

from headrace.storm import (
    BaseBasicBolt,
    BaseRichSpout,
    Bolt,
    Fields,
    Grouping,
    InvalidTopologyException,
    LocalCluster,
    Spout,
    Stream,
    Topology,
    TopologyBuilder,
    Values,
    complete_topology,
)


class Words(Spout):
    outputs = ("word",)


class Echo(Bolt):
    outputs = ("word",)

    def process(self, tup):
        self.emit([tup["word"]])


def built(*calls):
    builder = TopologyBuilder()
    builder.setSpout("words", Words())
    for call in calls:
        call(builder)
    return builder


MISTAKES = {
    "unknown component": (
        lambda b: b.setBolt("echo", Echo()).shuffleGrouping("wrods"),
        "Component: [echo] subscribes from non-existent component [wrods]",
        "did you mean [words]?",
    ),
    "unknown stream": (
        lambda b: b.setBolt("echo", Echo()).shuffleGrouping("words", "errors"),
        "Component: [echo] subscribes from non-existent stream: [errors] of component [words]",
        "there is default",
    ),
    "undeclared field": (
        lambda b: b.setBolt("echo", Echo()).fieldsGrouping("words", Fields("wrd")),
        "Component: [echo] subscribes from stream: [default] of component [words] with non-existent fields: ['wrd']",
        "did you mean [word]?",
    ),
    "nobody feeds it": (
        lambda b: b.setBolt("echo", Echo()),
        "Component: [echo] is a bolt that nobody feeds",
        "give it inputs, or leave it out",
    ),
    "direct grouping of a stream that is not": (
        lambda b: b.setBolt("echo", Echo()).directGrouping("words"),
        "Component: [echo] subscribes from stream: [default] of component [words] by direct grouping, and the stream is not direct",
        "use direct grouping for direct streams, Stream(fields, name, direct=True), and for no others",
    ),
    "a name twice": (lambda b: b.setSpout("words", Words()), "Duplicate component ids: [words]", "give one of them another name"),
    "a circle": (
        lambda b: (
            b.setBolt("one", Echo()).shuffleGrouping("words").shuffleGrouping("two"),
            b.setBolt("two", Echo()).shuffleGrouping("one"),
        ),
        "topology [topology] has a circle: one -> two -> one",
        "let the last one write to a Kafka topic and a spout read that: a Spark query is a graph without circles",
    ),
    "more executors than tasks": (
        lambda b: b.setBolt("echo", Echo(), 4).setNumTasks(2).shuffleGrouping("words"),
        "Component: [echo] has 4 executors for 2 tasks",
        "have at least one executor, and no more of them than tasks",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_in_a_topology_is_told_with_its_line(case):
    mistake, what, fix = MISTAKES[case]
    builder = built(mistake)
    with pytest.raises(InvalidTopologyException) as raised:
        builder.createTopology()
    assert (raised.value.what, raised.value.fix) == (what, fix)
    assert raised.value.where.startswith(__file__)


SETTINGS = {
    "topology.workers": ("many", "topology.workers is 'many'; it is a whole number from 1 on"),
    "topology.acker.executors": (-1, "topology.acker.executors is -1; it is a whole number from 0 on"),
    "topology.message.timeout.secs": (0, "topology.message.timeout.secs is 0; it is a number greater than 0"),
    "topology.reliability.mode": ("ONCE", "topology.reliability.mode is 'ONCE'; there is ATMOST_ONCE, ATLEAST_ONCE, EFFECTIVELY_ONCE"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_that_cannot_be_is_refused_before_anything_is_laid_out(name):
    value, words = SETTINGS[name]
    with pytest.raises(InvalidTopologyException) as raised:
        built().createTopology({name: value})
    assert raised.value.what == f"topology [topology]: {words}"
    assert raised.value.where.startswith(__file__)


def test_a_setting_of_a_component_is_told_with_its_line():
    builder = built(lambda b: b.setBolt("echo", Echo()).addConfiguration("topology.tick.tuple.freq.secs", "often").shuffleGrouping("words"))
    with pytest.raises(InvalidTopologyException, match=r"Component: \[echo\]: topology.tick.tuple.freq.secs is 'often'"):
        LocalCluster(builder)


def test_a_topology_without_a_spout_is_refused():
    with pytest.raises(InvalidTopologyException, match="has no spout"):
        TopologyBuilder().createTopology()


def test_a_class_describes_the_same_topology_as_a_builder():
    class Classy(Topology):
        words = Words.spec(par=2)
        echo = Echo.spec(inputs={words: Grouping.fields("word")}, par=3)

    builder = TopologyBuilder()
    builder.setSpout("words", Words(), 2)
    builder.setBolt("echo", Echo(), 3).fieldsGrouping("words", Fields("word"))
    one, other = LocalCluster(Classy).layout, LocalCluster(builder).layout
    assert (one.tasks, one.level, one.worker) == (other.tasks, other.level, other.worker)
    assert {name: part.inputs for name, part in one.parts.items()} == {name: part.inputs for name, part in other.parts.items()}


@pytest.mark.parametrize(
    ("emit", "words"),
    [
        (lambda bolt: bolt.emit([1, 2]), "emits 2 values, [1, 2]; its stream 'default' has word"),
        (lambda bolt: bolt.emit([1], stream="nope"), "emits to the stream 'nope', but declares default, errors"),
        (lambda bolt: bolt.emit([1], direct_task=1), "is not direct"),
    ],
)
def test_what_was_not_declared_is_not_emitted(emit, words):
    class Wrong(Bolt):
        outputs = (Stream(["word"]), Stream(["reason"], name="errors"))

        def process(self, tup):
            emit(self)

    builder = built(lambda b: b.setBolt("wrong", Wrong()).shuffleGrouping("words"))
    cluster = LocalCluster(builder, sources={"words": [["a"]]})
    cluster.run()
    assert words in cluster.bolts[2].counts.error


def test_a_named_stream_goes_only_to_who_reads_it():
    class Sorting(Bolt):
        outputs = (Stream(["word"]), Stream(["word"], name="long"))

        def process(self, tup):
            self.emit([tup["word"]], stream="long" if len(tup["word"]) > 3 else "default")

    class Sorted(Topology):
        words = Words.spec()
        sort = Sorting.spec(inputs=[words])
        short = Echo.spec(inputs=[sort])
        long = Echo.spec(inputs=[sort["long"]])

    results = complete_topology(Sorted, {"words": [["my"], ["dog"], ["has"], ["fleas"]]})
    assert (results["short"], results["long"]) == ([["my"], ["dog"], ["has"]], [["fleas"]])
    assert results["sort", "long"] == [["fleas"]]


def test_a_function_is_a_bolt():
    builder = built(
        lambda b: b.setBolt("twice", lambda tup, out: out.emit(Values(tup.getString(0) * 2)), 2, ["word"]).shuffleGrouping("words")
    )
    assert complete_topology(builder, {"words": [["ha"]]})["twice"] == [["haha"]]


def test_the_collector_of_a_basic_bolt_and_of_a_spout_read_as_in_java():
    class Sentence(BaseRichSpout):
        def declareOutputFields(self, declarer):
            declarer.declare(Fields("sentence"))

        def open(self, conf, context, collector):
            self.collector, self.left, self.acked = collector, ["my dog has fleas"], []

        def nextTuple(self):
            if self.left:
                self.collector.emit(Values(self.left.pop()), 7)

        def ack(self, message_id):
            self.acked.append(message_id)

    class Split(BaseBasicBolt):
        def declareOutputFields(self, declarer):
            declarer.declare(Fields("word"))

        def execute(self, tup, collector):
            for word in tup.getStringByField("sentence").split(" "):
                collector.emit(Values(word))

    builder = TopologyBuilder()
    builder.setSpout("sentence", Sentence())
    builder.setBolt("split", Split()).shuffleGrouping("sentence")
    results = complete_topology(builder)
    assert results["split"] == [["my"], ["dog"], ["has"], ["fleas"]]
    assert results.cluster.task("sentence").acked == [7]
