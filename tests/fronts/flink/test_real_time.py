"""Flink's functions in real time: keyed state and a timer by the clock; of side outputs and the main one, one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.errors import DefinitionError
from headrace.flink import (
    DataStream,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KeyedProcessFunction,
    OutputTag,
    RuntimeExecutionMode,
    SimpleStringSchema,
    StreamExecutionEnvironment,
    Types,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from headrace.planning.triggers import Trigger

REPEATED = OutputTag("repeated", Types.STRING())


class Quiet(KeyedProcessFunction):
    """How often a word came, when it has not come for a while; each time but the first goes aside."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))
        self.due = runtime_context.get_state(ValueStateDescriptor("due", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        timers, seen = ctx.timer_service(), (self.seen.value() or 0) + 1
        if self.due.value() is not None:
            timers.delete_processing_time_timer(self.due.value())
            yield REPEATED, f"{value} {seen}"
        self.seen.update(seen)
        self.due.update(timers.current_processing_time() + 3_000)
        timers.register_processing_time_timer(self.due.value())

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield f"{ctx.get_current_key()} {self.seen.value()}"
        self.seen.clear()
        self.due.clear()


def sink(kafka: str, topic: str) -> KafkaSink:
    record = KafkaRecordSerializationSchema.builder().set_topic(topic).set_value_serialization_schema(SimpleStringSchema()).build()
    return KafkaSink.builder().set_bootstrap_servers(kafka).set_record_serializer(record).build()


def program(kafka: str, words: str, place: Path) -> tuple[StreamExecutionEnvironment, DataStream]:
    source = KafkaSource.builder().set_bootstrap_servers(kafka).set_topics(words).set_group_id("any")
    source = source.set_starting_offsets(KafkaOffsetsInitializer.earliest()).set_value_only_deserializer(SimpleStringSchema()).build()
    env = StreamExecutionEnvironment.get_execution_environment().set_runtime_mode(RuntimeExecutionMode.REAL_TIME)
    env.enable_checkpointing(500).set_checkpoint_directory(place)
    read = env.from_source(source, WatermarkStrategy.no_watermarks(), "words")
    return env, read.key_by(lambda word: word).process(Quiet(), Types.STRING())


@pytest.mark.usefixtures("spark")
def test_state_and_timers_by_the_clock(kafka: str, topic: Callable[..., str], short_batches: Trigger, tmp_path: Path) -> None:
    words, counts = topic(), topic()
    env, quiet = program(kafka, words, tmp_path)
    quiet.sink_to(sink(kafka, counts))
    assert short_batches.interval == "500 milliseconds"
    with env.execute_async("quiet"):
        hr.topics.send(words, ["a", "b", "a", "a"])
        assert sorted(record.value for record in hr.topics.read(counts, limit=2, follow=True)) == [b"a 3", b"b 1"]


@pytest.mark.usefixtures("spark")
def test_a_side_output_beside_the_main_is_refused(kafka: str, topic: Callable[..., str], short_batches: Trigger, tmp_path: Path) -> None:
    """They would be one query that parts behind its state, and Flink's values become bytes in Python there."""
    words, counts = topic(), topic()
    env, quiet = program(kafka, words, tmp_path)
    quiet.sink_to(sink(kafka, counts))
    quiet.get_side_output(REPEATED).sink_to(sink(kafka, counts))
    assert short_batches.interval == "500 milliseconds"
    with pytest.raises(DefinitionError, match="cannot stand behind the place where several outputs part"):
        env.execute_async("quiet")
