"""On PyFlink, its DataStream API: state in RocksDB, a checkpoint every ten seconds; for latency, a bundle for Python is 5 ms long."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator

from pyflink.common import Configuration, SimpleStringSchema, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.base import DeliveryGuarantee
from pyflink.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaRecordSerializationSchema, KafkaSink, KafkaSource
from pyflink.datastream.functions import KeyedProcessFunction, RuntimeContext
from pyflink.datastream.state import ValueStateDescriptor

from bench.peers.programs import work


class Step(KeyedProcessFunction):  # type: ignore[misc]
    def __init__(self, name: str) -> None:
        self._name = name

    def open(self, context: RuntimeContext) -> None:
        self._step = work.STEPS[self._name]
        self._state = context.get_state(ValueStateDescriptor("memory", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, record: work.Record, context: KeyedProcessFunction.Context) -> Iterator[str]:  # noqa: ARG002
        memory, row = self._step(self._state.value(), record)
        self._state.update(memory)
        yield json.dumps(row)


def run(name: str, servers: str, source: str, result: str, place: str) -> None:
    settings = Configuration()
    options = {
        "python.executable": sys.executable,
        "state.backend.type": "rocksdb",
        "execution.checkpointing.dir": f"file://{place}",
        "execution.checkpointing.incremental": "true",
        "execution.checkpointing.interval": f"{work.EVERY} s",
        "execution.buffer-timeout.interval": "5 ms" if name == "count" else "100 ms",
        "python.fn-execution.bundle.time": "5" if name == "count" else "1000",
        "parallelism.default": "2",
        "rest.bind-address": "127.0.0.1",
    }
    for option, value in options.items():
        settings.set_string(option, value)
    flink = StreamExecutionEnvironment.get_execution_environment(settings)
    flink.add_jars(*(f"file://{jar}" for jar in os.environ["PEER_JARS"].split(os.pathsep)))
    reader = (
        KafkaSource.builder().set_bootstrap_servers(servers).set_topics(source).set_group_id(source)
        .set_starting_offsets(KafkaOffsetsInitializer.earliest()).set_value_only_deserializer(SimpleStringSchema()).build()
    )  # fmt: skip
    write = KafkaRecordSerializationSchema.builder().set_topic(result).set_value_serialization_schema(SimpleStringSchema()).build()
    sink = (
        KafkaSink.builder().set_bootstrap_servers(servers).set_record_serializer(write)
        .set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE).set_property("linger.ms", str(work.LINGER[name])).build()
    )  # fmt: skip
    records = flink.from_source(reader, WatermarkStrategy.no_watermarks(), "given").map(json.loads, Types.PICKLED_BYTE_ARRAY())
    records.key_by(lambda record: record["customer"], Types.STRING()).process(Step(name), Types.STRING()).sink_to(sink)
    flink.execute(name)


if __name__ == "__main__":
    run(*sys.argv[1:])
