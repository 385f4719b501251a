"""One word count, in headrace's own words and in those of each system: sentences from a Kafka topic, each word's new count to another.

A way is started by `WAYS[name](given, result, mode)`, which gives what `with` stops. By word in headrace, Storm, Samza and Summingbird, by
batch in Trident and DStreams: that is what these models put out.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from operator import add
from typing import Any

from confluent_kafka import Producer
from pyspark.sql import functions as F

import headrace as hr
from headrace import dstreams, samza, storm, summingbird, trident
from headrace.embedded import kafka
from headrace.planning.table import Mode

Way = Callable[[str, str, Mode], AbstractContextManager[Any]]

_LINGER = {"kafka.linger.ms": "2"}
_LONG = "5 minutes"  # no batch of real time ends while it is measured


def _words(source: str) -> hr.Stream:
    return hr.read.kafka(source).select(F.explode(F.split(F.col("value").cast("string"), " ")).alias("word"))


def _job(counts: hr.Stream, result: str, mode: Mode) -> Any:
    job = hr.Job("bench-words", counts.to.kafka(result, key="word", options=_LINGER), checkpoint=tempfile.mkdtemp(prefix="headrace-bench-"))
    return job.start(mode, trigger=_trigger(mode))


def _trigger(mode: Mode) -> Any:
    return hr.every(_LONG) if mode == "real-time" else None


def native(source: str, result: str, mode: Mode) -> Any:
    """headrace's own words."""
    counted = _words(source).key_by("word").with_features(count=hr.running(F.count("*"), inclusive=True))
    return _job(counted, result, mode)


def python(source: str, result: str, mode: Mode) -> Any:
    """headrace's own words, with a Python function for the count."""

    def count(state: dict[str, Any], record: dict[str, Any]) -> Any:
        n = (state["n"] or 0) + 1
        return {"n": n}, [{"word": record["word"], "count": n}]

    counted = _words(source).key_by("word").scan_python(state="n bigint", function=count, output="word string, count bigint")
    return _job(counted, result, mode)


def of_storm(source: str, result: str, mode: Mode) -> Any:
    """Two levels of bolts, acked."""

    class Split(storm.Bolt):
        outputs = ("word",)

        def process(self, tup: Any) -> None:
            for word in tup["value"].split(" "):
                self.emit([word])

    class Count(storm.KafkaBolt):
        def initialize(self, conf: Any, ctx: Any) -> None:  # noqa: ARG002
            self.counts: dict[str, int] = {}

        def process(self, tup: Any) -> None:
            word = tup["word"]
            self.counts[word] = self.counts.get(word, 0) + 1
            self._task.write(self.topic, word.encode(), json.dumps({"word": word, "count": self.counts[word]}).encode())

    class WordCount(storm.Topology):
        sentences = storm.KafkaSpout(source).spec(par=2)
        split = Split.spec(inputs=[sentences], par=2)
        count = Count(result).spec(inputs={split: storm.Grouping.fields("word")}, par=2)

    return storm.submit(WordCount, f"bench-{time.time_ns()}", mode=mode, config={"topology.workers": 1})


class _WordCountTask(samza.StreamTask, samza.InitableTask):
    def init(self, *context: Any) -> None:
        (of,) = context
        self.store, self.out = of.getTaskContext().getStore("counts"), of.getJobContext().getConfig()["out"]
        self.task = of.getTaskContext().getPartition().getPartitionId()

    def process(self, envelope: Any, collector: Any, coordinator: Any) -> None:  # noqa: ARG002
        for word in envelope.getMessage().split(" "):
            count = (self.store.get(word) or 0) + 1
            self.store.put(word, count)
            message = json.dumps({"word": f"{word}@{self.task}", "count": count})  # a task has a partition, and counts what is in it
            collector.send(samza.OutgoingMessageEnvelope(samza.SystemStream("kafka", self.out), word, message))


def of_samza(source: str, result: str, mode: Mode) -> Any:
    """A task with a store."""
    config = {
        "job.name": "bench-words", "task.inputs": f"kafka.{source}", "systems.kafka.samza.key.serde": "string",
        "systems.kafka.samza.msg.serde": "string", f"streams.{source}.samza.offset.default": "oldest",
        "stores.counts.key.serde": "string", "stores.counts.msg.serde": "long", "out": result,
    }  # fmt: skip
    place = tempfile.mkdtemp(prefix="headrace-bench-")
    runner = samza.LocalApplicationRunner(_WordCountTask, config, checkpoint=place, trigger=_trigger(mode))
    runner.run(mode)
    return runner


def of_summingbird(source: str, result: str, mode: Mode) -> Any:
    """The online half, in a compacted topic."""
    store = summingbird.KafkaStore(result, summingbird.SUM, summingbird.Batcher("36500 days"))
    lines = hr.read.kafka(source).select(F.col("value").cast("string").alias("line"), F.col("timestamp").alias("at"))
    words = summingbird.source(lines, time="at").flat_map(lambda record: [(word, 1) for word in record["line"].split(" ")])
    online: Any = "real-time" if mode == "real-time" else "micro-batch"
    place = tempfile.mkdtemp(prefix="headrace-bench-")
    return summingbird.start_online("bench-words", words.sum_by_key(store), online, trigger=_trigger(mode), checkpoint=place)


class _Send:
    """What is done with the new counts of a batch, on the driver, where the state is."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.producer: Any = None

    def __call__(self, values: Any) -> None:
        if self.producer is None:
            self.producer = Producer({"bootstrap.servers": kafka.ensure(), "linger.ms": 2})
        self.producer.produce(self.topic, json.dumps({"word": values["word"], "count": values["count"]}).encode(), values["word"])
        self.producer.poll(0)


def of_trident(source: str, result: str, mode: Mode) -> Any:  # noqa: ARG001
    """A state in the driver's memory."""
    topology = trident.TridentTopology()
    lines = topology.newStream("sentences", hr.read.kafka(source).select(F.col("value").cast("string").alias("sentence")))
    words = lines.each(["sentence"], trident.Split(), ["word"]).groupBy(["word"])
    counts = words.persistentAggregate(trident.MemoryMapState.Factory(), trident.Count(), ["count"]).parallelismHint(2)
    counts.newValuesStream().peek(_Send(result))
    place = tempfile.mkdtemp(prefix="headrace-bench-")
    return trident.StormSubmitter.submitTopology("bench-words", {}, topology, checkpoint=place)


@contextmanager
def of_dstreams(source: str, result: str, mode: Mode) -> Iterator[Any]:  # noqa: ARG001
    """Batches of a second, with mapWithState."""
    ssc = dstreams.StreamingContext(hr.session().sparkContext, 1)
    ssc.checkpoint(tempfile.mkdtemp(prefix="headrace-bench-"))
    lines = dstreams.KafkaUtils.createDirectStream(ssc, [source], {"auto.offset.reset": "smallest"})

    def track(word: str, some: int | None, state: Any) -> tuple[str, str]:
        count = (some or 0) + (state.getOption() or 0)
        state.update(count)
        return word, json.dumps({"word": word, "count": count})

    words = lines.flatMap(lambda pair: [(word, 1) for word in pair[1].split(" ")]).reduceByKey(add, 2)
    counted = words.mapWithState(dstreams.StateSpec.function(track).numPartitions(2))
    dstreams.KafkaUtils.saveToKafka(counted, result)
    ssc.start()
    try:
        yield ssc
    finally:
        ssc.stop(stopSparkContext=False)


WAYS: dict[str, Way] = {
    "headrace": native,
    "headrace, Python": python,
    "Storm": of_storm,
    "Samza": of_samza,
    "Summingbird": of_summingbird,
    "Trident": of_trident,
    "DStreams": of_dstreams,
}
