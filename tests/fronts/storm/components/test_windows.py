"""Windowed bolts, with a clock of the test's own; first of all the worked example of Storm's documentation."""

from __future__ import annotations

from datetime import datetime

import pytest

from headrace.storm import (
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


class Whole(BaseWindowedBolt):
    def declareOutputFields(self, declarer):
        declarer.declare(Fields("end", "values", "new", "expired"))

    def prepare(self, conf, context, collector):
        self.collector = collector

    def execute(self, window):
        values = [[tup[0] for tup in part] for part in (window.get(), window.getNew(), window.getExpired())]
        self.collector.emit(Values(window.getEndTimestamp(), *values))


def windowed(bolt, **config):
    feeder = FeederSpout(["value", "at"])
    builder = TopologyBuilder()
    builder.setSpout("feeder", feeder)
    builder.setBolt("windows", bolt).shuffleGrouping("feeder")
    cluster = LocalCluster(builder, config={"topology.message.timeout.secs": 3600, **config})
    return feeder, cluster


def windows(cluster):
    return cluster.emitted.get(("windows", "default"), [])


def at(text):
    return datetime.strptime(f"2026-01-01 {text} +0000", "%Y-%m-%d %H:%M:%S %z")


def test_the_worked_example_of_storms_documentation():
    bolt = Whole().withWindow(Duration.seconds(20), Duration.seconds(10)).withTimestampField("at").withLag(Duration.seconds(5))
    feeder, cluster = windowed(bolt)
    given = []
    for batch in (
        ["6:00:03", "6:00:05", "6:00:07", "6:00:18", "6:00:26", "6:00:36"],
        ["8:00:25", "8:00:26", "8:00:27", "8:00:39"],
    ):
        for time in batch:
            feeder.feed([time, at(time)], time)
        cluster.run()
        cluster.advance(1)
        given.append([(datetime.fromtimestamp(end / 1000).strftime("%-H:%M:%S"), values) for end, values, _, _ in windows(cluster)])
        cluster.emitted.clear()
    assert given == [
        [
            ("6:00:10", ["6:00:03", "6:00:05", "6:00:07"]),
            ("6:00:20", ["6:00:03", "6:00:05", "6:00:07", "6:00:18"]),
            ("6:00:30", ["6:00:18", "6:00:26"]),
        ],
        [
            ("6:00:40", ["6:00:26", "6:00:36"]),
            ("6:00:50", ["6:00:36"]),
            ("8:00:30", ["8:00:25", "8:00:26", "8:00:27"]),
        ],
    ]


BY_COUNT = {
    "every tuple": (Count(2), None, [([1], [1], []), ([1, 2], [2], []), ([2, 3], [3], [1]), ([3, 4], [4], [2]), ([4, 5], [5], [3])]),
    "sliding": (Count(3), Count(2), [([1, 2], [1, 2], []), ([2, 3, 4], [3, 4], [1])]),
    "tumbling": (Count(2), Count(2), [([1, 2], [1, 2], []), ([3, 4], [3, 4], [1, 2])]),
}


@pytest.mark.parametrize("case", BY_COUNT)
def test_windows_by_count_have_the_last_tuples_what_is_new_and_what_has_left(case):
    length, slide, expected = BY_COUNT[case]
    feeder, cluster = windowed(Whole().withWindow(length, slide))
    for value in range(1, 6):
        feeder.feed([value, None], value)
    cluster.run()
    assert [tuple(window[1:]) for window in windows(cluster)] == expected


def test_a_tuple_is_acked_when_it_leaves_the_window():
    feeder, cluster = windowed(Whole().withTumblingWindow(Count(2)))
    acked = []
    for value in range(1, 7):
        feeder.feed([value, None], value)
        cluster.run()
        acked.append(list(feeder.acked))
    assert acked == [[], [], [], [1, 2], [1, 2], [1, 2, 3, 4]]


def test_windows_by_the_clock_move_with_it():
    feeder, cluster = windowed(Whole().withWindow(Duration.seconds(10), Duration.seconds(5)))
    for value in range(1, 5):
        feeder.feed([value, None], value)
        cluster.run()
        cluster.advance(3)
    cluster.advance(20)
    assert [window[1] for window in windows(cluster)] == [[1, 2], [2, 3, 4], [3, 4]]
    assert sorted(feeder.acked) == [1, 2, 3, 4]


def test_a_late_tuple_goes_to_its_stream_and_is_acked():
    bolt = Whole().withTumblingWindow(Duration.seconds(10)).withTimestampField("at").withLateTupleStream("late")
    feeder, cluster = windowed(bolt)
    for value, millis in [("a", 1_000), ("b", 25_000)]:
        feeder.feed([value, millis], value)
    cluster.run()
    cluster.advance(1)
    feeder.feed(["c", 2_000], "c")
    cluster.run()
    assert [window[1] for window in windows(cluster)] == [["a"]]
    assert cluster.emitted["windows", "late"] == [[["c", 2_000]]]
    assert "c" in feeder.acked


def test_windows_by_count_in_the_order_of_their_own_time():
    feeder, cluster = windowed(Whole().withTumblingWindow(Count(2)).withTimestampField("at"))
    for value, millis in [("b", 2), ("a", 1), ("d", 4), ("c", 3), ("e", 5)]:
        feeder.feed([value, millis], value)
    cluster.run()
    cluster.advance(1)
    assert [window[1] for window in windows(cluster)] == [["a", "b"], ["c", "d"]]
    cluster.advance(1)
    feeder.feed(["f", 6], "f")
    cluster.run()
    cluster.advance(1)
    assert [window[1] for window in windows(cluster)][2:] == [["e", "f"]]


@pytest.mark.parametrize(
    ("bolt", "config", "words"),
    [
        (Whole(), {}, "has no window"),
        (Whole().withWindow(Duration.seconds(20), Duration.seconds(11)), {"topology.message.timeout.secs": 30}, "has a window of 31 s"),
        (Whole().withWindow(Count(8), Count(3)), {"topology.max.spout.pending": 10}, "has a window of 11 tuples"),
        (Whole().withTumblingWindow(Count(2)).withLateTupleStream("late"), {}, "goes by the clock"),
    ],
)
def test_a_window_whose_tuples_could_never_be_acked_in_time_is_refused(bolt, config, words):
    with pytest.raises(InvalidTopologyException, match=words):
        windowed(bolt, **config)
