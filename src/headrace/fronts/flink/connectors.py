"""Kafka, in the words of Flink's connector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from typing import Any, NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as F

from headrace.decoding import encoding
from headrace.definitions import arguments
from headrace.errors import DefinitionError, user_line
from headrace.fronts import read
from headrace.fronts.flink.streams.parts import Part
from headrace.fronts.flink.types import TypeInformation, Types, declared
from headrace.planning.recipe import Output


class DeliveryGuarantee(Enum):
    """What a sink promises: AT_LEAST_ONCE, whatever is asked for less; EXACTLY_ONCE into Kafka is refused."""

    NONE = 0
    AT_LEAST_ONCE = 1
    EXACTLY_ONCE = 2


class SimpleStringSchema:
    """Text in UTF-8."""


@dataclass(frozen=True)
class JsonRowDeserializationSchema:
    """JSON objects as rows: `JsonRowDeserializationSchema.builder().type_info(Types.ROW_NAMED(…)).build()`. They are decoded natively; what
    is no such object goes to no stream, and is counted by the job."""

    kind: TypeInformation | None = None

    @staticmethod
    def builder() -> JsonRowDeserializationSchema:
        """A schema to say the type of."""
        return JsonRowDeserializationSchema()

    def type_info(self, type_info: TypeInformation) -> JsonRowDeserializationSchema:
        """The fields: a `Types.ROW_NAMED`."""
        if not declared("type_info", type_info).names:
            raise _refused(f"type_info: {type_info} has no names", "give Types.ROW_NAMED(['name', …], [Types.STRING(), …])")
        return replace(self, kind=type_info)

    with_type_info = type_info

    def build(self) -> JsonRowDeserializationSchema:
        """The schema."""
        if self.kind is None:
            raise _refused(
                "JsonRowDeserializationSchema: it is not said which fields there are", "call type_info(Types.ROW_NAMED(…)) before build()"
            )
        return self


class JsonRowSerializationSchema(JsonRowDeserializationSchema):
    """The other way round."""

    @staticmethod
    def builder() -> JsonRowSerializationSchema:
        """A schema to say the type of."""
        return JsonRowSerializationSchema()


class KafkaTopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


@dataclass(frozen=True)
class KafkaOffsetsInitializer:
    """Where a program without a checkpoint begins."""

    start: Any = "earliest"

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """With the oldest record."""
        return KafkaOffsetsInitializer("earliest")

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """With what comes from now on."""
        return KafkaOffsetsInitializer("latest")

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """With the first record of that time or later, in milliseconds."""
        return KafkaOffsetsInitializer(datetime.fromtimestamp(timestamp / 1000, UTC))

    @staticmethod
    def offsets(offsets: Mapping[KafkaTopicPartition, int]) -> KafkaOffsetsInitializer:
        """With these offsets."""
        by_topic: dict[str, dict[int, int]] = {}
        for (topic, partition), offset in offsets.items():
            by_topic.setdefault(topic, {})[partition] = offset
        return KafkaOffsetsInitializer(by_topic)

    @staticmethod
    def committed_offsets(*_: Any) -> KafkaOffsetsInitializer:
        """Refused: positions are in the checkpoint, and in no consumer group."""
        raise _refused(
            "committed_offsets: a job's positions are in its checkpoint, together with its state, and not in a consumer group",
            "say where a job without a checkpoint begins: KafkaOffsetsInitializer.earliest()",
        )


@dataclass(frozen=True)
class KafkaSource:
    """Topics as a source: `KafkaSource.builder().set_topics("in").set_value_only_deserializer(SimpleStringSchema()).build()`. The time of a
    record is Kafka's, unless the watermark strategy has an assigner."""

    servers: str | None = None
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    start: Any = "earliest"
    schema: Any = None
    bounded: bool = False
    options: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def builder() -> KafkaSource:
        """A source to say more of."""
        return KafkaSource()

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSource:
        """The cluster's address; HEADRACE_KAFKA if it is not said, else the broker that headrace brings."""
        return replace(self, servers=arguments.text("set_bootstrap_servers", bootstrap_servers))

    def set_topics(self, *topics: str) -> KafkaSource:
        """Their names."""
        return replace(self, topics=tuple(arguments.names("set_topics", topics)))

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSource:
        """All topics whose whole name matches this regular expression."""
        return replace(self, pattern=topic_pattern)

    def set_group_id(self, group_id: str) -> KafkaSource:
        """Nothing: a job's positions are in its checkpoint."""
        arguments.text("set_group_id", group_id)
        return self

    def set_client_id_prefix(self, prefix: str) -> KafkaSource:
        """Nothing."""
        arguments.text("set_client_id_prefix", prefix)
        return self

    def set_starting_offsets(self, starting_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSource:
        """Where a program without a checkpoint begins; "earliest" if it is not said."""
        return replace(self, start=_initializer("set_starting_offsets", starting_offsets_initializer).start)

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSource:
        """It ends with the newest record of now: `KafkaOffsetsInitializer.latest()`, and no other place."""
        if _initializer("set_bounded", stopping_offsets_initializer).start != "latest":
            raise _refused("set_bounded: a topic can end only where it ends now", "give KafkaOffsetsInitializer.latest()")
        return replace(self, bounded=True)

    def set_value_only_deserializer(self, deserialization_schema: Any) -> KafkaSource:
        """What the records' values are: `SimpleStringSchema()`, or a `JsonRowDeserializationSchema`."""
        if not isinstance(deserialization_schema, SimpleStringSchema | JsonRowDeserializationSchema):
            raise _refused(
                f"set_value_only_deserializer: {arguments.shown(deserialization_schema)} is not known",
                "give SimpleStringSchema(), or a JsonRowDeserializationSchema; other formats: env.from_stream(hr.read.kafka(…, format=…))",
            )
        return replace(self, schema=deserialization_schema)

    def set_property(self, key: str, value: str) -> KafkaSource:
        """A client option of Kafka's; secrets as "env:NAME" or "file:/path"."""
        return replace(self, options={**self.options, f"kafka.{key}": value})

    def build(self) -> KafkaSource:
        """The source."""
        if not self.topics and self.pattern is None:
            raise _refused("KafkaSource: no topic is named", "call set_topics('name') before build()")
        if self.schema is None:
            raise _refused(
                "KafkaSource: it is not said what the values are", "call set_value_only_deserializer(SimpleStringSchema()) before build()"
            )
        return self

    def _part(self, type_info: TypeInformation | None) -> Part:
        json = isinstance(self.schema, JsonRowDeserializationSchema)
        kind: Any
        kind = self.schema.kind if json else declared("from_source: type_info", type_info or Types.STRING())
        records = read.kafka(
            *self.topics, pattern=self.pattern, start=self.start, servers=self.servers, options=self.options or None,
            schema=kind.spark if json else None, keep=["timestamp"] if json else (),
        )  # fmt: skip
        value = F.struct(*(F.col(f"`{name}`") for name in kind.names)) if json else F.col("value").cast("string")
        rows = records.select(F.col("timestamp").alias("time"), value.alias("value"))
        return Part(rows, kind, has_time=True)


@dataclass(frozen=True)
class KafkaRecordSerializationSchema:
    """How a value becomes a record: its topic, key and value."""

    topic: str | None = None
    value: Any = None
    key: Any = None

    @staticmethod
    def builder() -> KafkaRecordSerializationSchema:
        """A schema to say more of."""
        return KafkaRecordSerializationSchema()

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchema:
        """The topic, which must exist."""
        return replace(self, topic=arguments.text("set_topic", topic))

    def set_value_serialization_schema(self, value_serialization_schema: Any) -> KafkaRecordSerializationSchema:
        """`SimpleStringSchema()` for values of text, or a `JsonRowSerializationSchema`."""
        return replace(self, value=value_serialization_schema)

    def set_key_serialization_schema(self, key_serialization_schema: Any) -> KafkaRecordSerializationSchema:
        """The same for the key: as the value is written."""
        return replace(self, key=key_serialization_schema)

    def build(self) -> KafkaRecordSerializationSchema:
        """The schema."""
        if self.topic is None or self.value is None:
            raise _refused(
                "KafkaRecordSerializationSchema: topic and value are needed",
                "call set_topic('name') and set_value_serialization_schema(SimpleStringSchema()) before build()",
            )
        return self


@dataclass(frozen=True)
class KafkaSink:
    """A topic as a sink, at-least-once: `KafkaSink.builder().set_record_serializer(…).build()`."""

    servers: str | None = None
    record: KafkaRecordSerializationSchema | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def builder() -> KafkaSink:
        """A sink to say more of."""
        return KafkaSink()

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSink:
        """The cluster's address; HEADRACE_KAFKA if it is not said, else the broker that headrace brings."""
        return replace(self, servers=arguments.text("set_bootstrap_servers", bootstrap_servers))

    def set_record_serializer(self, record_serializer: KafkaRecordSerializationSchema) -> KafkaSink:
        """How a value becomes a record."""
        return replace(self, record=record_serializer)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSink:
        """AT_LEAST_ONCE, which it is anyway."""
        if delivery_guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            raise _refused(
                "set_delivery_guarantee: EXACTLY_ONCE into Kafka is not to be had: Spark's writer has no transactions",
                "ask for AT_LEAST_ONCE, and let readers drop what they have seen; into a database: docs/guide/databases.md",
            )
        return self

    def set_transactional_id_prefix(self, prefix: str) -> KafkaSink:
        """Nothing: there are no transactions."""
        arguments.text("set_transactional_id_prefix", prefix)
        return self

    def set_property(self, key: str, value: str) -> KafkaSink:
        """A client option of Kafka's; secrets as "env:NAME" or "file:/path"."""
        return replace(self, options={**self.options, f"kafka.{key}": value})

    def build(self) -> KafkaSink:
        """The sink."""
        if self.record is None:
            raise _refused("KafkaSink: it is not said how a value becomes a record", "call set_record_serializer(…) before build()")
        return self

    def _output(self, part: Part, name: str) -> Output:
        assert self.record is not None
        assert self.record.topic is not None
        write = {schema: _written(part.type, schema) for schema in (self.record.value, self.record.key) if schema is not None}
        key = None if self.record.key is None else write[self.record.key]
        return part.stream.to.kafka(
            self.record.topic, key=key, value=write[self.record.value], servers=self.servers, options=self.options or None, name=name
        )


def _written(kind: TypeInformation, schema: Any) -> Column:
    if isinstance(schema, JsonRowSerializationSchema | JsonRowDeserializationSchema):
        if not kind.has_fields:
            raise _refused(
                f"sink_to: values of {kind} are no rows", "declare the type of the function before: output_type=Types.ROW_NAMED(…)"
            )
        names = schema.kind.names if schema.kind is not None else kind.spark.names  # type: ignore[attr-defined]
        fields = zip(names, kind.spark.names, strict=True)  # type: ignore[attr-defined]
        return encoding.json(F.struct(*(F.col(f"value.`{own}`").alias(name) for name, own in fields)))
    if kind.kind != "STRING":
        raise _refused(
            f"sink_to: SimpleStringSchema writes text, and the values are of {kind}",
            "map(str, output_type=Types.STRING()) before, or a JsonRowSerializationSchema",
        )
    return F.col("value")


def _initializer(at: str, argument: object) -> KafkaOffsetsInitializer:
    if not isinstance(argument, KafkaOffsetsInitializer):
        raise _refused(f"{at}: {arguments.shown(argument)} is no position", "give KafkaOffsetsInitializer.earliest() or .latest()")
    return argument


def _refused(what: str, fix: str) -> DefinitionError:
    return DefinitionError(what, fix=fix, where=user_line())
