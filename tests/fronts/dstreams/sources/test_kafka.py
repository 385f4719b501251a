"""Kafka by the names of `pyspark.streaming.kafka`: in, exactly-once, and out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext

import headrace as hr
from headrace.dstreams import KafkaUtils, ManualClock, OffsetRange, StreamingContext, TopicAndPartition, TwitterUtils
from headrace.errors import DefinitionError


@pytest.fixture
def params(kafka: str) -> dict[str, str]:
    return {"metadata.broker.list": kafka, "auto.offset.reset": "smallest"}


def send(topic: str, *values: str, partition: int = 0, key: str | None = None) -> None:
    hr.topics.send(topic, values, key=key, partition=partition)


def test_a_batch_has_the_records_that_came_a_partition_each(
    ssc: StreamingContext, clock: ManualClock, params: dict[str, str], topic: Callable[..., str]
) -> None:
    orders = topic(partitions=2)
    batches: list[Any] = []

    def note(rdd: Any) -> None:
        batches.append((rdd.offsetRanges(), rdd.glom().collect()))

    KafkaUtils.createDirectStream(ssc, [orders], params).foreachRDD(note)
    send(orders, "a", "b", key="k")
    ssc.start()
    clock.advance(1)
    send(orders, "c", partition=1)
    clock.advance(2)
    ssc.awaitTerminationOrTimeout(0)
    ranges = [[(each.partition, each.fromOffset, each.untilOffset) for each in each_range] for each_range, _ in batches]
    assert ranges == [[(0, 0, 2), (1, 0, 0)], [(0, 2, 2), (1, 0, 1)], [(0, 2, 2), (1, 1, 1)]]
    assert [elements for _, elements in batches] == [[[("k", "a"), ("k", "b")], []], [[], [(None, "c")]], [[], []]]


def test_a_new_stream_begins_where_it_is_told(
    ssc: StreamingContext, clock: ManualClock, kafka: str, params: dict[str, str], topic: Callable[..., str]
) -> None:
    orders = topic()
    send(orders, "a", "b", "c")
    starts = {TopicAndPartition(orders, 0): 1}
    told = KafkaUtils.createDirectStream(ssc, [orders], params, starts, messageHandler=lambda m: (m.offset, m.message))
    latest = KafkaUtils.createDirectStream(ssc, [orders], {"bootstrap.servers": kafka})
    out: list[Any] = []
    told.foreachRDD(lambda rdd: out.append(rdd.collect()))
    latest.map(lambda pair: pair[1]).foreachRDD(lambda rdd: out.append(rdd.collect()))
    ssc.start()
    send(orders, "d")
    clock.advance(1)
    ssc.awaitTerminationOrTimeout(0)
    assert out == [[(1, b"b"), (2, b"c"), (3, b"d")], ["d"]]


def test_the_rate_is_capped_for_each_partition(
    ssc: StreamingContext, clock: ManualClock, params: dict[str, str], topic: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = ssc.sparkContext.getConf().set("spark.streaming.kafka.maxRatePerPartition", "2")
    monkeypatch.setattr(SparkContext, "getConf", lambda _: conf)
    orders = topic(partitions=2)
    send(orders, *"abc")
    send(orders, "x", partition=1)
    out: list[Any] = []
    KafkaUtils.createDirectStream(ssc, [orders], params).foreachRDD(lambda rdd: out.append([value for _, value in rdd.collect()]))
    ssc.start()
    clock.advance(2)
    ssc.awaitTerminationOrTimeout(0)
    assert out == [["a", "b", "x"], ["c"]]


def test_a_batch_that_is_run_again_has_the_same_records(
    sc: SparkContext, clock: ManualClock, params: dict[str, str], topic: Callable[..., str], tmp_path: Path
) -> None:
    orders, seen, trap = topic(), str(tmp_path / "seen"), str(tmp_path / "trap")

    def setup() -> StreamingContext:
        ssc = StreamingContext(sc, 1, clock=clock)

        def note(rdd: Any) -> None:
            with Path(seen).open("a") as file:
                file.write("".join(value for _, value in rdd.collect()) + "\n")
            if Path(trap).exists():
                raise OSError("after the output, before the end of the batch")

        KafkaUtils.createDirectStream(ssc, [orders], params).foreachRDD(note)
        return ssc

    def get_or_create() -> StreamingContext:
        return StreamingContext.getOrCreate(str(tmp_path / "checkpoint"), setup, clock=clock)

    ssc = get_or_create()
    ssc.start()
    send(orders, "a", "b")
    Path(trap).touch()
    clock.advance(1)
    ssc.stop(stopSparkContext=False)
    Path(trap).unlink()
    send(orders, "c")
    ssc = get_or_create()
    ssc.start()
    clock.advance(1)
    assert Path(seen).read_text().split() == ["ab", "ab", "c"]


def test_elements_are_written_with_their_keys(
    ssc: StreamingContext, clock: ManualClock, params: dict[str, str], topic: Callable[..., str]
) -> None:
    counts = topic()
    KafkaUtils.saveToKafka(ssc.queueStream([[("a", 1), "text", b"bytes", ("k", {"n": 2})]]), counts, params)
    ssc.start()
    clock.advance(1)
    ssc.awaitTerminationOrTimeout(0)
    records = {(record.key, record.value) for record in hr.topics.read(counts)}
    assert records == {(b"a", b"1"), (None, b"text"), (None, b"bytes"), (b"k", b'{"n": 2}')}


def test_a_range_of_offsets_is_an_rdd(sc: SparkContext, params: dict[str, str], topic: Callable[..., str]) -> None:
    orders = topic()
    send(orders, *"abcd")
    ranges = [OffsetRange(orders, 0, 1, 3), OffsetRange(orders, 0, 3, 4)]
    rdd = KafkaUtils.createRDD(sc, params, ranges, valueDecoder=lambda value: value)
    assert rdd.glom().collect() == [[(None, b"b"), (None, b"c")], [(None, b"d")]]
    assert rdd.offsetRanges() == ranges


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda ssc: KafkaUtils.createStream(ssc, "zk:2181", "group", {"t": 1}), "read through ZooKeeper"),
        (lambda ssc: TwitterUtils.createStream(ssc, None), "an API of Twitter's that is gone"),
        (lambda ssc: KafkaUtils.createDirectStream(ssc, "t", {}), "topics is one text"),
        (lambda ssc: KafkaUtils.createDirectStream(ssc, ["t"], {"auto.offset.reset": "now"}), "'now' is no place to begin"),
        (lambda ssc: KafkaUtils.createDirectStream(ssc, ["t"], {"sasl.password": "hunter2"}), "sasl.password is a secret"),
    ],
)
def test_what_is_gone_or_was_never_there_is_refused(ssc: StreamingContext, call: Callable[[StreamingContext], Any], what: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        call(ssc)
    assert what in refused.value.what
    assert str(refused.value.where).startswith(__file__)
