"""Kafka, by the names that `pyspark.streaming.kafka` had while it existed (Spark 1.3 to 2.4), and the way out, which it never had.

Read   exactly-once in: a batch's offsets are logged before it runs, so a batch that is run again has the same records. A partition of a
topic
       is a partition of the RDD, in its order, read by a task. Positions are in the checkpoint, not in a consumer group. Committed records
       only. Records that retention removed before they were read fail the batch.
Write  at-least-once: a batch that is run again is written again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark import SparkContext
from pyspark.core.rdd import PipelinedRDD

from headrace.definitions import secrets
from headrace.errors import DefinitionError, UnknownNameError, user_line
from headrace.fronts.dstreams.sources.inputs import Input, Part
from headrace.fronts.dstreams.sources.kafka_tasks import KafkaMessageAndMetadata, fetched, sent
from headrace.fronts.dstreams.sources.rates import Rate
from headrace.fronts.dstreams.streams.nodes import AnyRDD, Node

if TYPE_CHECKING:
    from headrace.fronts.dstreams.context import StreamingContext
    from headrace.fronts.dstreams.streams.dstream import DStream
    from headrace.io.kafka.administration import KafkaTopics

Decoder = Callable[[bytes | None], Any]

# By which the older consumer went, and what there is in its place.
_OLD = {"metadata.broker.list": "bootstrap.servers"}
_ELSEWHERE = ("group.id", "auto.offset.reset", "enable.auto.commit", "key.deserializer", "value.deserializer")
_STARTS = {"smallest": "earliest", "earliest": "earliest", "largest": "latest", "latest": "latest"}


def utf8_decoder(s: bytes | None) -> str | None:
    """Bytes as text, None as None: what keys and values are decoded with if nothing else is said."""
    return None if s is None else s.decode("utf-8")


class TopicAndPartition(NamedTuple):
    """One partition of a topic, as a key of `fromOffsets`."""

    topic: str
    partition: int


class OffsetRange(NamedTuple):
    """Records of one partition: from `fromOffset` up to, and without, `untilOffset`."""

    topic: str
    partition: int
    fromOffset: int
    untilOffset: int


class KafkaRDD(PipelinedRDD[Any, Any]):
    """The records of a batch, and where they are in Kafka."""

    ranges: Sequence[OffsetRange] = ()

    def offsetRanges(self) -> list[OffsetRange]:
        """What each partition of this RDD holds, in the order of the partitions. Only of the RDD as it comes from `createDirectStream`."""
        return list(self.ranges)


class Decoding(NamedTuple):
    """What is made of a record."""

    key: Decoder
    value: Decoder
    handler: Callable[[KafkaMessageAndMetadata], Any] | None


class Direct(Input):
    kind = "createDirectStream"
    counts = True
    transient = ("next", "rate", "most", "_topics")

    def __init__(
        self, ssc: StreamingContext, topics: list[str], params: dict[str, str], starts: Mapping[TopicAndPartition, int], decoding: Decoding
    ) -> None:
        super().__init__(ssc._interval)
        self.topics, self.decoding = topics, decoding
        self.start, self.servers, self.options = _taken_apart(params)
        self.starts = {f"{topic}/{partition}": offset for (topic, partition), offset in starts.items()}

    def open(self, node: Node, last: Part | None) -> Part | None:
        conf = node._ssc._sc.getConf()
        self.rate = Rate(conf, self.slide, "spark.streaming.kafka.maxRatePerPartition")
        self.most = conf.get("spark.streaming.kafka.maxRatePerPartition")
        if last is not None:
            self.next = {f"{topic}/{partition}": until for topic, partition, _, until in last}
        else:
            now = {place: (begin if self.start == "earliest" else end) for place, (begin, end) in self._ends().items()}
            self.next = now | {place: offset for place, offset in self.starts.items() if place in now or not self.topics}
        return [[*_place(place), offset, offset] for place, offset in sorted(self.next.items())]

    def part(self, time: int, node: Node) -> Part:
        part = []
        ends = self._ends()
        waiting = {place: max(0, end - self.next.get(place, begin)) for place, (begin, end) in ends.items()}
        for place, (begin, _) in sorted(ends.items(), key=lambda item: _place(item[0])):
            start = self.next.get(place, begin)  # a partition that is new is read from its beginning
            until = start + min(waiting[place], self._most(waiting[place], sum(waiting.values())))
            part.append([*_place(place), start, until])
        self.next.update({f"{topic}/{partition}": until for topic, partition, _, until in part})
        return part

    def _most(self, waiting: int, all_waiting: int) -> int:
        """How many records of a partition a batch may have: by the cap, and by its share of what back-pressure allows."""
        seconds = self.slide / 1000
        caps = [float(self.most) * seconds] if self.most else []
        if self.rate.estimator is not None and self.rate.current is not None and all_waiting:
            caps.append(self.rate.current * seconds * waiting / all_waiting)
        return max(1, int(min(caps))) if caps else waiting

    def _ends(self) -> dict[str, tuple[int, int]]:
        described = self._cluster().describe(self.topics, config=False)
        return {f"{topic.name}/{part.number}": (part.begin, part.end) for topic in described for part in topic.partitions}

    def _cluster(self) -> KafkaTopics:
        from headrace.io.kafka.administration import KafkaTopics  # a client that takes a while to import

        if not hasattr(self, "_topics"):
            self._topics = KafkaTopics(self.servers, self.options)
        return self._topics

    def rdd(self, part: Part, node: Node) -> AnyRDD:
        ranges = [OffsetRange(*each) for each in part]
        return kafka_rdd(node._ssc._sc, self._cluster().client.servers, self.options, ranges, self.decoding)

    def records(self, part: Part) -> int:
        return sum(until - start for _, _, start, until in part)

    def completed(self, part: Part, records: int, processing: int, scheduling: int, now: int) -> None:
        self.rate.completed(now, records, processing, scheduling)


def kafka_rdd(sc: SparkContext, servers: str, options: Mapping[str, str], ranges: Sequence[OffsetRange], decoding: Decoding) -> KafkaRDD:
    """The records of these ranges, one partition each."""
    client = {"bootstrap.servers": servers, **secrets.resolve(options)}
    places = [tuple(each) for each in ranges]
    decode_key, decode_value, handler = decoding

    def read(_: int, mine: Iterable[Any]) -> Iterator[Any]:
        for place in mine:
            for message in fetched(client, *place):
                yield (decode_key(message[3]), decode_value(message[4])) if handler is None else handler(KafkaMessageAndMetadata(*message))

    rdd = KafkaRDD(sc.parallelize(places, max(1, len(places))), read)
    rdd.ranges = ranges
    return rdd


class KafkaUtils:
    """Kafka in and out: `from headrace.dstreams import KafkaUtils`."""

    @staticmethod
    def createDirectStream(
        ssc: StreamingContext, topics: Sequence[str], kafkaParams: Mapping[str, str],
        fromOffsets: Mapping[TopicAndPartition, int] | None = None,
        keyDecoder: Decoder = utf8_decoder, valueDecoder: Decoder = utf8_decoder,
        messageHandler: Callable[[KafkaMessageAndMetadata], Any] | None = None,
    ) -> DStream:  # fmt: skip
        """(key, value) of each record that comes to the topics, or what `messageHandler` makes of it (topic, partition, offset, key,
        message).

        kafkaParams  options of Kafka's client (librdkafka's names). `bootstrap.servers`, or `metadata.broker.list` as it once was;
        without an
                     address HEADRACE_KAFKA's, or the broker that headrace brings. `auto.offset.reset`: where a new stream begins, "largest"
                     (what comes from now on, the default) or "smallest" (all there is). Secrets as `env:NAME` or `file:path`
        fromOffsets  where to begin: {TopicAndPartition("orders", 0): 17}

        A partition that is added later is read from its beginning. `spark.streaming.kafka.maxRatePerPartition` caps the records a second of
        each partition; `spark.streaming.backpressure.enabled` adapts the rate. `rdd.offsetRanges()` says where a batch is in Kafka."""
        if isinstance(topics, str):
            raise DefinitionError("createDirectStream: topics is one text", fix=f"give a list: [{topics!r}]", where=user_line())
        decoding = Decoding(keyDecoder, valueDecoder, messageHandler)
        from headrace.fronts.dstreams.streams.dstream import DStream

        return DStream(ssc, Direct(ssc, list(topics), dict(kafkaParams), fromOffsets or {}, decoding))

    @staticmethod
    def createRDD(
        sc: SparkContext, kafkaParams: Mapping[str, str], offsetRanges: Sequence[OffsetRange], leaders: Any = None,  # noqa: ARG004
        keyDecoder: Decoder = utf8_decoder, valueDecoder: Decoder = utf8_decoder,
        messageHandler: Callable[[KafkaMessageAndMetadata], Any] | None = None,
    ) -> KafkaRDD:  # fmt: skip
        """The records of these ranges as an RDD, without a stream. `leaders` is taken, and changes nothing."""
        from headrace.embedded import kafka as broker

        _, servers, options = _taken_apart(dict(kafkaParams))
        return kafka_rdd(sc, servers or broker.ensure(), options, offsetRanges, Decoding(keyDecoder, valueDecoder, messageHandler))

    @staticmethod
    def saveToKafka(stream: DStream, topic: str, kafkaParams: Mapping[str, str] | None = None) -> None:
        """Write each element to a topic: a pair as key and value, anything else as a value. Bytes and None go as they are, text as UTF-8,
        the rest as JSON. One producer a partition. At-least-once."""
        from headrace.embedded import kafka as broker

        _, servers, options = _taken_apart(dict(kafkaParams or {}))

        def write(_: Any, rdd: AnyRDD) -> None:
            client = {"bootstrap.servers": servers or broker.ensure(), **secrets.resolve(options)}
            rdd.foreachPartition(lambda elements: sent(client, topic, elements))

        stream._output("saveToKafka", write)

    @staticmethod
    def createStream(*_: Any, **__: Any) -> DStream:
        """Refused: it read through ZooKeeper, which Kafka no longer has. Use `createDirectStream`."""
        raise UnknownNameError(
            "KafkaUtils.createStream read through ZooKeeper, which Kafka no longer has",
            fix='KafkaUtils.createDirectStream(ssc, ["topic"], {"bootstrap.servers": "host:port"})', where=user_line(),
        )  # fmt: skip


def _taken_apart(params: dict[str, str]) -> tuple[str, str | None, dict[str, str]]:
    """Where to begin, the address, and the client's options."""
    params = {_OLD.get(name, name): value for name, value in params.items()}
    start = params.get("auto.offset.reset", "largest")
    if start not in _STARTS:
        raise DefinitionError(
            f"auto.offset.reset: {start!r} is no place to begin",
            fix='give "smallest" (all there is) or "largest" (what comes)',
            where=user_line(),
        )
    servers = params.pop("bootstrap.servers", None)
    options = {name: value for name, value in params.items() if name not in _ELSEWHERE}
    secrets.refuse_literals(options)
    return _STARTS[start], servers, options


def _place(name: str) -> tuple[str, int]:
    topic, _, partition = name.rpartition("/")
    return topic, int(partition)
