"""Heron's Python: streamlets, its builder, its windows, and its way with groupings."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from types import SimpleNamespace

import pytest

from headrace.heron import (
    ArrayLooper,
    Bolt,
    Builder,
    Config,
    Generator,
    Grouping,
    KeyedWindow,
    KeyValueState,
    SlidingWindowBolt,
    Spout,
    StatefulComponent,
    Stream,
    TopologyBuilder,
    TransformOperator,
    TumblingWindowBolt,
    Window,
    WindowConfig,
    api_constants,
)
from headrace.storm import FeederSpout, InvalidTopologyException, LocalCluster, Reliability, complete_topology


def run(builder, sources, seconds=0, config=None):
    return complete_topology(builder, sources, config=(config or Config()).settings, seconds=seconds)


def elements(results, name):
    return [element for (element,) in results[name]]


def source():
    builder = Builder()
    return builder, builder.new_source(lambda: None)


def lines(*texts):
    return {"supplier-1": [[text] for text in texts]}


def plus(one, other):
    return one + other


EACH = {
    "map": (lambda numbers: numbers.map(lambda n: n * 2), "map-1", [2, 4, 6]),
    "flat_map": (lambda numbers: numbers.flat_map(range), "flatmap-1", [0, 0, 1, 0, 1, 2]),
    "filter": (lambda numbers: numbers.filter(lambda n: n != 2), "filter-1", [1, 3]),
    "union": (lambda numbers: numbers.map(str).union(numbers.map(float)), "union-1", ["1", 1.0, "2", 2.0, "3", 3.0]),
    "clone": (lambda numbers: numbers.clone(2), "repartition-2", [1, 2, 3]),
    "set_name": (lambda numbers: numbers.map(str).set_name("texts"), "texts", ["1", "2", "3"]),
}


@pytest.mark.parametrize("case", EACH)
def test_an_operation_makes_elements_of_elements(case):
    made, name, expected = EACH[case]
    builder, numbers = source()
    made(numbers)
    assert elements(run(builder, lines(1, 2, 3)), name) == expected


def test_elements_of_a_window_become_one_and_of_a_key_one_each():
    builder, words = source()
    window = WindowConfig.create_sliding_window(10, 2)
    words.map(lambda word: (word, 1)).reduce_by_key_and_window(window, plus)
    words.reduce_by_window(window, plus)
    results = run(builder, lines("lamb", "a", "lamb"), seconds=2)
    assert dict(elements(results, "reducebykeyandwindow-1")) == {
        KeyedWindow("lamb", Window(-8.0, 2.0)): 2,
        KeyedWindow("a", Window(-8.0, 2.0)): 1,
    }
    assert elements(results, "reducebywindow-1") == [(Window(-8.0, 2.0), "lambalamb")]


JOINS = {
    "join": [("b", ("y", 2))],
    "outer_left_join": [("a", ("x", None)), ("b", ("y", 2))],
    "outer_right_join": [("b", ("y", 2)), ("c", (None, 3))],
    "outer_join": [("a", ("x", None)), ("b", ("y", 2)), ("c", (None, 3))],
}


@pytest.mark.parametrize("how", JOINS)
def test_a_join_pairs_elements_of_a_key_and_window(how):
    builder, left = source()
    right = builder.new_source(lambda: None)
    getattr(left, how)(right, WindowConfig.create_sliding_window(10, 2), lambda one, other: (one, other))
    pairs = {"supplier-1": [[("a", "x")], [("b", "y")]], "supplier-2": [[("b", 2)], [("c", 3)]]}
    results = run(builder, pairs, seconds=2)
    assert sorted((window.key, value) for window, value in elements(results, "join-1")) == JOINS[how]


def test_elements_go_to_the_partitions_that_a_function_says():
    builder, numbers = source()
    numbers.repartition(3, lambda n, partitions: [n % partitions, 0] if n == 4 else n % partitions)
    cluster = LocalCluster(builder, sources=lines(1, 2, 3, 4, 5))
    cluster.run()
    assert [cluster.bolts[task].counts.executed for task in cluster.layout.tasks["repartition-1"]] == [2, 2, 2]


def test_an_operator_of_ones_own_has_a_state_and_emits():
    class Running(TransformOperator):
        def setup(self, context):
            self.context = context

        def transform(self, tup):
            state = self.context.get_state()
            state["sum"] = state.get("sum", 0) + tup.values[0]
            self.context.emit((self.context.get_partition_index(), self.context.get_num_partitions(), state["sum"]))

    builder, numbers = source()
    numbers.transform(Running())
    assert elements(run(builder, lines(1, 2, 3)), "transform-1") == [(0, 1, 1), (0, 1, 3), (0, 1, 6)]


def test_ends_consume_and_log(caplog):
    taken = []
    builder, words = source()
    words.consume(taken.append)
    words.log()
    with caplog.at_level("INFO", "headrace.storm"):
        run(builder, lines("lamb"))
    assert (taken, caplog.messages) == (["lamb"], ["lamb"])


class Letters(Generator):
    def setup(self, context):
        self.state = context.get_state()

    def get(self):
        at = self.state.get("at", 0)
        self.state["at"] = at + 1
        return "abc"[at] if at < 3 else None


def test_a_generator_goes_on_where_it_was_when_all_go_back():
    builder, config = Builder(), Config()
    config.set_delivery_semantics(Config.EFFECTIVELY_ONCE)
    builder.new_source(Letters()).map(str)
    cluster = LocalCluster(builder, config=config.settings)
    cluster.advance(10)
    cluster.kill("map-1")
    cluster.run()
    assert cluster.emitted["map-1", "default"] == [["a"], ["b"], ["c"]]


def test_an_array_looper_begins_again_at_its_end_and_goes_on_where_it_was():
    looper, state = ArrayLooper(["a", "b", "c"]), KeyValueState({"at": 1})
    looper.setup(SimpleNamespace(get_state=lambda: state))
    assert [looper.get() for _ in range(4)] == ["b", "c", "a", "b"]
    assert state["at"] == 2


MISTAKES = {
    "no source": (lambda: Builder().new_source(7), "7 is no source"),
    "half a second": (lambda: WindowConfig.create_tumbling_window(timedelta(seconds=0.5)), "a window of 0.5 seconds"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_in_streamlets_is_told_with_its_line(case):
    mistake, words = MISTAKES[case]
    with pytest.raises(InvalidTopologyException, match=words) as raised:
        mistake()
    assert raised.value.where.startswith(__file__)


def test_what_has_no_key_cannot_be_reduced_by_key():
    builder, words = source()
    words.reduce_by_key_and_window(WindowConfig.create_tumbling_window(2), plus)
    with pytest.raises(ValueError, match=r"is a pair \(key, value\), not 'lamb'"):
        run(builder, lines("lamb"))


class Words(Spout, StatefulComponent):
    outputs = [Stream(fields=["word"], name="default"), Stream(fields=["message"], name="errors")]


class Count(Bolt, StatefulComponent):
    outputs = ["word", "count"]

    def initialize(self, config, context):
        self.counter = Counter()

    def process(self, tup):
        self.counter[tup.values[0]] += 1
        self.emit([tup.values[0], self.counter[tup.values[0]]])


class Echo(Bolt):
    def process(self, tup):
        self.emit(tup.values)


class Last:
    def prepare(self, context, component, stream, target_tasks):
        self.tasks = [component, target_tasks[-1]]

    def choose_tasks(self, values):
        return self.tasks[1:]


def test_herons_builder_describes_a_topology():
    builder = TopologyBuilder("words")
    spout = builder.add_spout("words", Words, par=2)
    builder.add_bolt("count", Count, par=2, inputs={spout: Grouping.fields("word")})
    builder.add_bolt("errors", Echo, par=3, inputs={spout["errors"]: Grouping.LOWEST}, optional_outputs=["text"])
    builder.add_bolt("last", Echo, par=3, inputs={spout: Grouping.custom(Last())}, optional_outputs=["text"])
    builder.set_config({api_constants.TOPOLOGY_RELIABILITY_MODE: api_constants.TopologyReliabilityMode.EFFECTIVELY_ONCE})
    made = builder.createTopology()
    assert (made.name, made.reliability) == ("words", Reliability.EFFECTIVELY_ONCE)
    results = complete_topology(builder, {"words": [["a"], ["b"], ["a"], ("errors", ["oh"])]})
    assert sorted(results["count"]) == [["a", 1], ["a", 2], ["b", 1]]
    assert results["errors"] == [["oh"]]
    bolts = results.cluster.bolts
    assert [bolts[task].counts.executed for task in made.tasks["last"]] == [0, 0, 3]


@pytest.mark.parametrize(
    ("kind", "settings", "expected"),
    [
        (SlidingWindowBolt, {"DURATION": 10, "SLIDEINTERVAL": 5}, [[-5.0, 5.0, ["a"]], [0.0, 10.0, ["a", "b"]], [5.0, 15.0, ["b"]]]),
        (TumblingWindowBolt, {"DURATION": 6}, [[0.0, 6.0, ["a"]], [6.0, 12.0, ["b"]]]),
    ],
)
def test_herons_windowed_bolts_go_by_the_clock(kind, settings, expected):
    class Windows(kind):
        outputs = ["start", "end", "words"]

        def processWindow(self, window_info, tuples):
            self.emit([window_info.start, window_info.end, [tup[0] for tup in tuples]])

    builder, feeder = TopologyBuilder("windows"), FeederSpout(["word"])
    config = {getattr(kind, f"WINDOW_{name}_SECS"): seconds for name, seconds in settings.items()}
    builder.add_bolt("windows", Windows, inputs=[builder.add_spout("words", feeder)], config=config)
    cluster = LocalCluster(builder)
    cluster.advance(1)
    for word in "ab":
        feeder.feed([word])
        cluster.run()
        cluster.advance(6)
    cluster.advance(3)
    assert cluster.emitted["windows", "default"] == expected


def test_a_window_of_herons_needs_its_length():
    class Windows(SlidingWindowBolt):
        pass

    builder = TopologyBuilder("windows")
    builder.add_bolt("windows", Windows, inputs=[builder.add_spout("words", Words)])
    with pytest.raises(InvalidTopologyException, match="has no window"):
        LocalCluster(builder)
