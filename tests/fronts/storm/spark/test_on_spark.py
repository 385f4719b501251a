"""Topologies on Spark: the same tasks and routing as in a test, spread over processes, some of which are killed."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter

import pytest
from confluent_kafka import Consumer, Producer

from headrace.fronts.storm.spark.acker import acker
from headrace.fronts.storm.spark.saved import saved_in
from headrace.fronts.storm.spark.wire import ROW, rows
from headrace.fronts.storm.tasks.acking import Acker, Note
from headrace.kernel.scan import scan
from headrace.storm import (
    Bolt,
    Fields,
    Grouping,
    KafkaBolt,
    KafkaSpout,
    LocalCluster,
    Spout,
    StatefulBolt,
    Topology,
    TopologyBuilder,
    submit,
)


class Split(Bolt):
    outputs = ("number", "word")

    def process(self, tup):
        number, sentence = tup["value"].split(":")
        for word in sentence.split(" "):
            self.emit([int(number), word])


class Count(Bolt):
    """Counts, fails the first tuple of number 7 that it sees, and forgets to ack the first of number 9."""

    outputs = ("number", "word", "n", "task", "pid")
    auto_ack = False

    def initialize(self, conf, ctx):
        self.counts, self.seen, self.task = Counter(), set(), ctx.getThisTaskId()

    def process(self, tup):
        first = (tup["number"], tup["word"]) not in self.seen
        self.seen.add((tup["number"], tup["word"]))
        if first and tup["number"] == 7:
            self.fail(tup)
            return
        self.counts[tup["word"]] += 1
        self.emit([tup["number"], tup["word"], self.counts[tup["word"]], self.task, os.getpid()])
        if not (first and tup["number"] == 9):
            self.ack(tup)


def word_count(sentences, counts):
    builder = TopologyBuilder()
    builder.setSpout("sentences", KafkaSpout(sentences), 5)
    builder.setBolt("split", Split(), 8).shuffleGrouping("sentences")
    builder.setBolt("count", Count(), 12).fieldsGrouping("split", Fields("word"))
    builder.setBolt("out", KafkaBolt(counts)).shuffleGrouping("count")
    return builder.createTopology({"topology.workers": 1, "topology.message.timeout.secs": 3})


class Reader:
    """All records of a topic, as they come."""

    def __init__(self, servers, topic):
        self.consumer = Consumer({"bootstrap.servers": servers, "group.id": topic, "auto.offset.reset": "earliest", "log_level": 0})
        self.consumer.subscribe([topic])
        self.records = []

    def until(self, condition, running, seconds=90):
        deadline = time.monotonic() + seconds
        while not condition(self.records):
            assert time.monotonic() < deadline, f"{len(self.records)} records: {self.records[-3:]}; {running.restarted}"
            assert not running.wait(0)
            self.records += [json.loads(m.value()) for m in self.consumer.consume(500, 0.1) if m.error() is None]
        return self.records


def numbers(records):
    return {record["number"] for record in records}


@pytest.mark.usefixtures("spark", "short_batches")
def test_word_count_with_5_8_and_12_tasks_loses_nothing_when_its_processes_are_killed(kafka, topic):
    sentences, counts = topic(partitions=2), topic()
    producer = Producer({"bootstrap.servers": kafka, "log_level": 0})

    def say(start, end):
        for number in range(start, end):
            producer.produce(sentences, f"{number}:my dog has fleas", partition=number % 2)
        producer.flush()

    say(0, 100)
    reader = Reader(kafka, counts)
    with submit(word_count(sentences, counts), f"words-{counts}", trigger="500 milliseconds") as running:
        records = reader.until(lambda records: numbers(records) >= set(range(100)), running)
        words = ("my", "dog", "has", "fleas")
        reader.until(lambda records: {r["word"] for r in records if r["number"] == 7} == set(words), running)  # it failed, and came again
        by_word = {word: {r["task"] for r in records if r["word"] == word} for word in words}
        assert all(len(tasks) == 1 for tasks in by_word.values())  # fields grouping: one task for each word
        twice = lambda records: sum(r["number"] == 9 and r["word"] == "dog" for r in records) >= 2  # noqa: E731
        reader.until(twice, running)  # it was not acked, timed out, and came again
        # The memory of a bolt outlives the batches, which are half a second long: counts go on in one process.
        assert max(r["n"] for r in records) >= 100
        assert len({r["pid"] for r in records}) == 1

        os.kill(records[-1]["pid"], signal.SIGKILL)
        say(100, 150)
        reader.until(lambda records: numbers(records) == set(range(150)), running)
        assert running.restarted in ([], ["query"])  # between two batches nobody but the bolt's memory is missed
        assert len({r["pid"] for r in reader.records}) == 2

        os.kill(running.feeder.pid, signal.SIGKILL)
        say(150, 200)
        reader.until(lambda records: numbers(records) == set(range(200)), running)
        assert running.restarted[-1:] == ["feeder"]
        metrics = running.metrics()
        assert metrics["count"].executed >= 50 * 4


class Numbers(Spout):
    outputs = ("n",)

    def initialize(self, conf, ctx):
        self.left = list(range(20)) if ctx.getThisTaskIndex() == 0 else []

    def next_tuple(self):
        if self.left:
            self.emit([self.left.pop()])


class Square(Bolt):
    outputs = ("number", "ticks")

    def initialize(self, conf, ctx):
        self.ticks = 0

    def process(self, tup):
        self.emit([tup["n"] ** 2, self.ticks])

    def process_tick(self, tup):
        self.ticks += 1
        self.emit([-1, self.ticks])


class Sum(StatefulBolt):
    outputs = ("number", "ticks")

    def process(self, tup):
        self.state["sum"] = self.state.get("sum", 0) + tup["n"]
        self.emit([1000 + self.state["sum"], 0])


@pytest.mark.usefixtures("spark")
def test_without_ackers_and_in_micro_batches_there_are_ticks_and_states_that_outlive_the_topology(kafka, topic):
    out = topic()

    class Squares(Topology):
        config = {"topology.acker.executors": 0, "topology.state.checkpoint.interval.ms": 200}
        numbers = Numbers.spec(par=2)
        square = Square.spec(inputs={numbers: Grouping.LOCAL_OR_SHUFFLE}, par=2, config={"topology.tick.tuple.freq.secs": 1})
        total = Sum.spec(inputs=[numbers])
        end = KafkaBolt(out).spec(inputs=[square, total])

    reader, name = Reader(kafka, out), f"squares-{out}"
    for total in (190, 380):  # the numbers to 19, and the same again
        with submit(Squares, name, mode="micro-batch") as running:
            records = reader.until(lambda records, total=total: 1000 + total in numbers(records), running)
            if total == 190:
                reader.until(lambda records: any(r["ticks"] >= 2 for r in records), running)
            task, deadline = running.layout.tasks["total"][0], time.monotonic() + 60
            while saved_in(f"storm.{name}.state", kafka, running.layout.secret, [task]) != {task: {("sum",): total}}:
                assert time.monotonic() < deadline
    assert numbers(records) >= {-1} | {n**2 for n in range(20)}


@pytest.mark.usefixtures("spark")
def test_the_acker_on_spark_gives_the_verdicts_of_the_acker_in_python(spark):
    """Random trees, their notes shuffled, some failed and some unfinished."""
    chance = random.Random(7)
    layout = LocalCluster(_Any).layout
    notes, verdicts = [], []
    for root in range(1, 201):
        ids = [chance.getrandbits(63) for _ in range(chance.randint(1, 6))]
        tree = [Note(root, ids[0], spout=1 + root % 3)]
        for parent, child in zip(ids, [*ids[1:], 0], strict=True):
            tree.append(Note(root, parent ^ child))
        if root % 5 == 0:
            tree[chance.randrange(1, len(tree))] = Note(root, fails=True)
        if root % 7 == 0:
            tree.pop()
        chance.shuffle(tree)
        notes += tree
    plain = Acker(lambda spout, root, verdict: verdicts.append((str(spout), f"{root},{verdict}")))
    for note in notes:
        plain.take(note)
    table = spark.createDataFrame([tuple(row) for note in notes for row in rows([note], layout)], ROW)
    made = scan(table.coalesce(1), keys="root", **acker("acks", 1e6)).collect()
    assert sorted((bytes(row.key).decode(), bytes(row.value).decode()) for row in made) == sorted(verdicts)
    assert {text.split(",")[1] for _, text in verdicts} == {"ack", "fail"}
    assert len(verdicts) < 200  # the others are unfinished


class _Any(Topology):
    numbers = Numbers.spec()
    square = Square.spec(inputs=[numbers])
