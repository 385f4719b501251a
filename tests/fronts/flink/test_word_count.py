"""The Flink samples of the talks and lectures run: word count, counting with state, windows with allowed lateness."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.fronts.flink.running import BATCH, PAIR, STREAMING, environment, pairs

import headrace as hr
from headrace.flink import (
    DataStream,
    JsonRowSerializationSchema,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    RuntimeExecutionMode,
    SimpleStringSchema,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    Types,
    WatermarkStrategy,
)
from headrace.planning.triggers import Trigger

TEXT = "NE Scala 2016 Apache Apache Spark Storm Apache Trident Flink Streaming Samza Scala 2016 Streaming"
COUNTS = {"Apache": 3, "Streaming": 2, "Scala": 2, "2016": 2, "Spark": 1, "Storm": 1, "Trident": 1, "Flink": 1, "Samza": 1, "NE": 1}


def counted(text: DataStream) -> DataStream:
    """The talk's word count: flatMap, map, keyBy(0), sum(1)."""
    return text.flat_map(lambda line: line.split(" ")).map(lambda word: (word, 1), output_type=PAIR).key_by(0).sum(1)


@pytest.mark.usefixtures("spark")
def test_the_talks_word_count_is_final_as_batch_and_running_as_a_stream(capsys: pytest.CaptureFixture[str]) -> None:
    env = environment(BATCH)
    counted(env.from_elements(TEXT)).print()
    env.execute("word count")
    assert sorted(capsys.readouterr().out.split()) == sorted(f"({word},{count})" for word, count in COUNTS.items())
    running = list(counted(environment(STREAMING).from_elements(TEXT)).execute_and_collect())
    assert sorted(running) == sorted((word, n) for word, count in COUNTS.items() for n in range(1, count + 1))


@pytest.mark.usefixtures("spark")
def test_the_talks_mapwithstate_counts_each_word_as_it_comes() -> None:
    def count(word: str, known: int | None) -> tuple[Any, int]:
        return (word, (known or 0) + 1), (known or 0) + 1

    words = environment(STREAMING).from_elements(TEXT).flat_map(lambda line: line.split(" "))
    assert dict(words.key_by(lambda word: word).map_with_state(count).execute_and_collect()) == COUNTS


@pytest.mark.usefixtures("spark")
def test_the_lectures_window_with_allowed_lateness_fires_again_for_a_late_element() -> None:
    input = pairs(environment(STREAMING), [("a", 1), ("a", 5)], [("a", 11)], [("a", 3)], [("a", 40)], [("a", 4)])
    windowed = input.key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of(Time.milliseconds(10))).allowed_lateness(20)
    sums = list(windowed.reduce(lambda one, other: (one[0], one[1] + other[1])).execute_and_collect())
    assert sums == [("a", 6), ("a", 9), ("a", 11), ("a", 40)]


def test_word_count_from_kafka_to_kafka_in_real_time(kafka: str, topic: Callable[..., str], short_batches: Trigger, tmp_path: Path) -> None:
    lines, out = topic(), topic()
    source = KafkaSource.builder().set_bootstrap_servers(kafka).set_topics(lines).set_group_id("any")
    source = source.set_starting_offsets(KafkaOffsetsInitializer.earliest()).set_value_only_deserializer(SimpleStringSchema()).build()
    named = JsonRowSerializationSchema.builder().with_type_info(Types.ROW_NAMED(["word", "n"], [Types.STRING(), Types.INT()])).build()
    record = KafkaRecordSerializationSchema.builder().set_topic(out).set_value_serialization_schema(named).build()
    env = StreamExecutionEnvironment.get_execution_environment().set_runtime_mode(RuntimeExecutionMode.REAL_TIME)
    env.enable_checkpointing(500).set_checkpoint_directory(tmp_path)
    text = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
    counted(text).sink_to(KafkaSink.builder().set_bootstrap_servers(kafka).set_record_serializer(record).build())
    assert short_batches.interval == "500 milliseconds"
    with env.execute_async("word-count"):
        hr.topics.send(lines, [TEXT])
        following = hr.topics.read(out, follow=True)
        rows = [json.loads(next(following).value) for _ in range(sum(COUNTS.values()))]
    assert {row["word"]: max(each["n"] for each in rows if each["word"] == row["word"]) for row in rows} == COUNTS
