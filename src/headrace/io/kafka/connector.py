"""Kafka, both ways.

Read   every committed record, in the order of its partition. Positions are in the job's checkpoint, not in a consumer group. A record that
       retention removed before it was read stops the job (`failOnDataLoss` stays true), and so does, when the job starts, a topic that was
       deleted and made again (of topics by pattern, those that were there when the job was started before).
Write  at-least-once in every mode: what was written since the last completed batch is written again after a crash. In real time a batch
       lasts a minute, or what `every` says. A stop on purpose completes it first. As micro-batch exactly-once for readers of what is
       committed, if the job asks for it: each batch is one transaction (transactions.py), by way of the driver, with librdkafka's client.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructType

from headrace.decoding import encoding
from headrace.definitions import secrets
from headrace.definitions.guarantees import Guarantee, Modes, Yes, promised
from headrace.embedded import kafka as broker
from headrace.errors import DefinitionError, JobError, user_line
from headrace.io.arrow_batches import stored
from headrace.io.connectors import Calls, Run, Sink, Source, Writer, positive, struct
from headrace.io.kafka import options as kafka_options
from headrace.io.kafka.log import KafkaLog
from headrace.io.kafka.topics import Topic, command, in_utc, missing
from headrace.kernel import origins
from headrace.kernel.expressions.record_age import millis_since

Offsets = Mapping[str, Mapping[int, int]]

COLUMNS = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int"
HEADERS = "headers array<struct<key: string, value: binary>>"

_ROUTED = {
    "topic": "string", "key": "binary", "value": "binary", "headers": "array<struct<key: string, value: binary>>", "partition": "int",
}  # fmt: skip
"""A row that says itself where it goes."""

WAITED = "headrace-waited-"
"""What an observation of a stream's source is called, which Spark reports with its progress: median and 99th percentile of the milliseconds
that records had been in the log when they were read."""

ID = "headrace-id"
"""The header by which a record is known that was written again after a crash: what its row was made from, and the output."""

_numbers = itertools.count()

# Without a cap the first micro-batch after a pause takes the whole backlog, and a failure repeats all of it.
DEFAULT_CAP = 500_000


_READING = {
    "kafka.isolation.level": "read_committed",
    # After each poll Spark asks the broker where the log begins and ends: few large ones are cheaper (Kafka's default is 500).
    "kafka.max.poll.records": "10000",
    # One answer of the broker then holds a poll's worth of records of 800 bytes: less to wait for (Kafka's default is 1 MiB).
    "kafka.max.partition.fetch.bytes": str(8 << 20),
}

# Kafka's reader asks for more ahead of need. At the end of the log the broker lets that wait (by default for 500 ms), and behind it waits
# Spark's question for the log's end. In real time there is no such question, and a request that waits brings a record at once.
_TO_AN_END = {"kafka.fetch.max.wait.ms": "10"}


@dataclass(frozen=True, eq=False)
class Cluster:
    """An address (none: HEADRACE_KAFKA, else the broker that headrace brings) and Kafka's own client options."""

    servers: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.servers == "" or "kafka.bootstrap.servers" in self.options:
            raise DefinitionError(
                "the cluster's address is empty" if self.servers == "" else "the cluster's address is among the options",
                fix=f'give it as servers="host:port", or in {broker.ADDRESS}',
                where=user_line(),
            )
        secrets.refuse_literals(self.options)

    def resolve(self) -> dict[str, str]:
        """Spark's options for it, secrets included: not to be printed."""
        return {"kafka.bootstrap.servers": self.servers or broker.ensure(), **secrets.resolve(self.options)}

    def log(self) -> KafkaLog:
        return KafkaLog({name.removeprefix("kafka."): value for name, value in self.resolve().items()})


@dataclass(frozen=True, eq=False)
class KafkaSource(Source):
    """Records of some topics, of all whose name matches a pattern, or of some partitions of one topic, from a position on.

    `start` counts only when the job has no checkpoint yet: "earliest", "latest", a time (in UTC if it does not know its zone), or
    {topic: {partition: offset}}. `pattern` is a regular expression of Java's, for the whole name.
    """

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    start: str | datetime | Offsets = "earliest"
    cluster: Cluster = field(default_factory=Cluster)
    cap: int = DEFAULT_CAP
    headers: bool = False
    only: tuple[int, ...] = ()
    kind: ClassVar[str] = "kafka"
    modes: ClassVar[Modes] = {
        "batch": Yes("up to the end of the log"),
        "micro-batch": Yes("replayed after a crash"),
        "real-time": Yes("replayed after a crash"),
    }

    def __post_init__(self) -> None:
        if bool(self.topics) == bool(self.pattern):
            raise DefinitionError("a Kafka source needs topics or a pattern, and not both", fix='read.kafka("orders")', where=user_line())
        if self.only and len(self.topics) != 1:
            raise DefinitionError("partitions= is of one topic", fix='read.kafka("orders", partitions=[0])', where=user_line())
        if isinstance(self.start, str) and self.start not in ("earliest", "latest"):
            raise DefinitionError(
                f"start={self.start!r} is no position",
                fix='"earliest", "latest", a datetime, or {topic: {partition: offset}}',
                where=user_line(),
            )
        positive(cap=self.cap)
        kafka_options.check(self.cluster.options, "consumer")
        if self.pattern:
            _java_pattern(self.pattern)

    def schema(self) -> StructType:
        return struct(f"{COLUMNS}, {HEADERS}" if self.headers else COLUMNS)

    def check(self) -> None:
        self._found(self.cluster.log())
        if absent := self._absent():
            raise JobError(f"the topic '{self.topics[0]}' has no partition {absent[0]}", fix="name one that it has; they begin at 0")

    def _absent(self) -> list[int]:
        there = self.cluster.log().partitions(list(self.topics))[self.topics[0]] if self.only else 0
        return [partition for partition in self.only if partition >= there]

    def _found(self, log: KafkaLog) -> list[str]:
        there = log.topics()
        if self.pattern:
            pattern = _java_pattern(self.pattern)
            return sorted(topic for topic in there if pattern.matcher(topic).matches())
        for topic in self.topics:
            if topic not in there:
                raise missing(topic, there, log.servers, f"create it: {command('create', topic, self.cluster.servers)}")
        return list(self.topics)

    def _options(self, *, real_time: bool = False) -> dict[str, str]:
        options = {**_READING, **({} if real_time else _TO_AN_END), **self.cluster.resolve(), "failOnDataLoss": "true"}
        if self.headers:
            options["includeHeaders"] = "true"
        if isinstance(self.start, datetime):
            millis = int(in_utc(self.start).timestamp() * 1000)
            return options | {"startingTimestamp": str(millis), "startingOffsetsByTimestampStrategy": "latest"}
        return options | {"startingOffsets": self.start if isinstance(self.start, str) else _as_json(self.start)}

    def table(self) -> DataFrame:
        # The end is fixed here: each sink of the job, and each evaluation, must see the same rows.
        log = self.cluster.log()
        topics = self._found(log)
        if not topics:
            raise JobError(f"no topic at {log.servers} matches {self.pattern!r}", fix="mend the pattern, or create a topic that it matches")
        ends = json.dumps({topic: self._wanted(offsets) for topic, offsets in log.ends(topics).items()})
        begin = {"startingOffsets": ends} if self.start == "latest" else {}  # Spark does not take the word in a batch
        options = self._options() | begin | self._subscription(topics) | {"endingOffsets": ends}
        return SparkSession.active().read.format("kafka").options(**options).load()

    def stream(self, *, real_time: bool) -> DataFrame:
        subscription = {"subscribePattern": self.pattern} if self.pattern else self._subscription(self.topics)
        reader = SparkSession.active().readStream.format("kafka").options(**self._options(real_time=real_time), **subscription)
        records = (reader if real_time else reader.option("maxOffsetsPerTrigger", self.cap)).load()
        measured = records.withColumn("_waited", millis_since(SparkSession.active(), F.col("timestamp")))
        observed = F.percentile_approx("_waited", [0.5, 0.99], 1000).alias("millis")
        return measured.observe(f"{WAITED}{next(_numbers)}", observed).drop("_waited")

    def _subscription(self, topics: Sequence[str]) -> dict[str, str]:
        return {"assign": json.dumps({self.topics[0]: list(self.only)})} if self.only else {"subscribe": ",".join(topics)}

    def _wanted(self, offsets: Mapping[str, int]) -> dict[str, int]:
        return {partition: end for partition, end in offsets.items() if not self.only or int(partition) in self.only}

    def partitions(self) -> int:
        if self.only:
            return len(self.only)
        log = self.cluster.log()
        return sum(log.partitions(self._found(log)).values())

    def remote(self) -> KafkaLog:
        return self.cluster.log()

    def identity(self) -> dict[str, Any]:
        log = self.cluster.log()
        if self.pattern:  # the topics may become more, and those of before are known
            return {"kind": self.kind, "pattern": self.pattern, "cluster": log.cluster(), "topics": log.ids(self._found(log))}
        return {"kind": self.kind, "topics": log.ids(list(self.topics))}


def _java_pattern(pattern: str) -> Any:
    """Compiled as Spark will do it: Python's expressions are others."""
    jvm: Any = SparkSession.active()._jvm
    try:
        return jvm.java.util.regex.Pattern.compile(pattern)
    except PySparkException as error:
        reason = str(error).split("\n")[0]
        raise DefinitionError(
            f"pattern={pattern!r} is no regular expression: {reason}", fix="mend it; '.*' stands for anything", where=user_line()
        ) from None


def _as_json(offsets: Offsets) -> str:
    return json.dumps(
        {topic: {str(partition): offset for partition, offset in by_partition.items()} for topic, by_partition in offsets.items()}
    )


@dataclass(frozen=True, eq=False)
class KafkaSink(Sink):
    """Rows as records of one topic.

    `key` is a column. `value` is a column that is written as it is, or names of columns that become a JSON object; all of them if none
    is given. `headers` are columns too, written as text; one that is null is left out. `partition` is a column with the number of a row's
    partition; where that is null, or there is none, Kafka chooses. A topic that does not exist is refused before the job starts, or made as
    `create` says.

    With `origins` a header has a place for what each row was made of.

    With a `route`, a column that names each row's own topic, there may be several: how fronts write what other systems send to topics by
    name. A row for which it is null is not written.
    """

    topics: tuple[str, ...]
    key: str | Column | None
    value: str | Column | Sequence[str] | None
    name: str
    cluster: Cluster = field(default_factory=Cluster)
    headers: Mapping[str, str | Column] = field(default_factory=dict)
    create: Topic | None = None
    partition: str | Column | None = None
    route: str | None = None
    origins: bool = False
    kind: ClassVar[str] = "kafka"
    modes: ClassVar[Modes] = {
        "batch": Guarantee.AT_LEAST_ONCE,
        "micro-batch": promised(Guarantee.AT_LEAST_ONCE, asked=Guarantee.EXACTLY_ONCE),
        "real-time": Guarantee.AT_LEAST_ONCE,
    }

    def __post_init__(self) -> None:
        kafka_options.check(self.cluster.options, "producer")

    def shape(self, frame: DataFrame) -> DataFrame:
        value = _text(frame, self.value) if isinstance(self.value, str | Column) else self._json(frame)
        columns = [value.alias("value")]
        if self.key is not None:
            columns.append(_text(frame, self.key).alias("key"))
        if self.headers:
            columns.append(self._headers(frame).alias("headers"))
        if self.partition is not None:
            columns.append((F.col(self.partition) if isinstance(self.partition, str) else self.partition).cast("int").alias("partition"))
        if self.route is None:
            return frame.select(*columns)
        topic = _text(frame, self.route)
        # A name that is none of the topics is a mistake in the program: better a job that stops than rows in a topic that nobody reads.
        wrong = F.raise_error(F.concat(F.lit("no row may go to the topic "), topic)).cast("string")
        return frame.where(topic.isNotNull()).select(*columns, F.when(topic.isin(*self.topics), topic).otherwise(wrong).alias("topic"))

    def _json(self, frame: DataFrame) -> Column:
        assert not isinstance(self.value, str | Column)
        return encoding.json(F.struct(*(self.value or frame.columns)))

    def _headers(self, frame: DataFrame) -> Column:
        pairs = [
            F.struct(F.lit(name).alias("key"), _text(frame, column).cast("binary").alias("value")) for name, column in self.headers.items()
        ]
        return F.filter(F.array(*pairs), lambda header: header["value"].isNotNull())

    def check(self, *, ends: range | None) -> None:
        if self.create is None:
            log = self.cluster.log()
            for topic in self._absent(log):
                create = command("create", topic, self.cluster.servers)
                raise missing(topic, log.topics(), log.servers, f"create it: {create}, or to.kafka({topic!r}, create=True)")

    def prepare(self) -> None:
        if self.create is not None:
            log = self.cluster.log()
            for topic in self._absent(log):
                log.create(topic, self.create)

    def _absent(self, log: KafkaLog) -> list[str]:
        there = log.topics()
        return [topic for topic in self.topics if topic not in there]

    def remote(self) -> KafkaLog:
        return self.cluster.log()

    def open(self, run: Run) -> Writer:
        if run.mode == "micro-batch" and run.guarantee is Guarantee.EXACTLY_ONCE:
            return TransactionalWriter(self, run)
        options = self._options()
        return Calls(lambda frame, _: self.complete(self.shape(frame)).write.format("kafka").options(**options).save())

    def complete(self, shaped: DataFrame) -> DataFrame:
        """The rows as they are sent."""
        return origins.placed(shaped) if self.origins else shaped

    def spark_writer(self, frame: DataFrame) -> DataStreamWriter:
        return self.complete(self.shape(frame)).writeStream.format("kafka").options(**self._options())

    @property
    def company(self) -> object:
        return KafkaSink, self.cluster.servers, tuple(sorted(self.cluster.options.items()))

    def routed(self, frame: DataFrame) -> DataFrame:
        shaped = self.shape(frame)
        columns = {"topic": F.lit(self.topics[0]), "key": F.lit(None), "headers": F.lit(None), "partition": F.lit(None)} | {
            name: F.col(name) for name in shaped.columns
        }
        return shaped.select(*(columns[name].cast(kind).alias(name) for name, kind in _ROUTED.items()))

    def write_routed(self, frame: DataFrame) -> DataStreamWriter:
        return origins.placed(frame).writeStream.format("kafka").options(**self.cluster.resolve(), includeHeaders="true")

    def _options(self) -> dict[str, str]:
        return self.cluster.resolve() | ({"topic": self.topics[0]} if self.route is None else {}) | self._with_headers()

    def _with_headers(self) -> dict[str, str]:
        return {"includeHeaders": "true"} if self.headers else {}


class TransactionalWriter(Writer):
    """Rows through the driver, in one transaction for each batch; see transactions.py."""

    def __init__(self, sink: KafkaSink, run: Run) -> None:
        # Here, for few programs need this client, which takes a while to import.
        from headrace.io.kafka import transactions
        from headrace.io.kafka.client import KafkaClient

        options = {name.removeprefix("kafka."): value for name, value in sink.cluster.options.items()}
        self._sink = sink
        self._output = transactions.Output(KafkaClient(sink.cluster.servers, options), None if sink.route else sink.topics[0], run)
        self.committed = self._output.open()

    def write(self, frame: DataFrame, batch: int) -> None:
        with stored(self._sink.complete(self._sink.shape(frame))) as batches:
            self._output.commit(batch, batches)
            self.committed = batch

    def close(self) -> None:
        self._output.close()


def _text(frame: DataFrame, column: str | Column) -> Column:
    """A column as Kafka takes it: bytes as they are, anything else as text."""
    value = F.col(column) if isinstance(column, str) else column
    binary = frame.select(value).schema[0].dataType.typeName() == "binary"
    return value if binary else value.cast("string")
