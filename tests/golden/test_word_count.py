"""The word count that every streaming system shows first: one sentence, and the table that must come out, in all three modes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.testing import assert_table

SENTENCE = "NE Scala 2016 Apache Apache Spark Storm Apache Trident Flink Streaming Samza Scala 2016 Streaming"
TABLE = """
    word      | n
    Apache    | 3
    Streaming | 2
    Scala     | 2
    2016      | 2
    Spark     | 1
    Storm     | 1
    Trident   | 1
    Flink     | 1
    Samza     | 1
    NE        | 1
"""


def _counts(kafka: str, topic: str, complete: Callable[[dict[str, int]], bool]) -> dict[str, int]:
    """The last count of each word in a topic, once they are complete."""
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "golden", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    counts: dict[str, int] = {}
    while not complete(counts):
        message = consumer.poll(60)
        assert message is not None, f"only {counts} came"
        counts |= {record["word"]: record["n"] for record in [json.loads(message.value())]}
    consumer.close()
    return counts


QUERY = """
    SELECT word, count(*) AS n FROM (SELECT explode(split(CAST(value AS string), ' ')) AS word FROM sentences) GROUP BY word
"""


def _program(sentences: hr.Stream) -> hr.Stream:
    words = sentences.select(F.explode(F.split(F.col("value").cast("string"), " ")).alias("word"))
    return words.key_by("word").agg(F.count("*").alias("n"))


def _sql(sentences: hr.Stream) -> hr.Stream:
    counts: hr.Stream = hr.sql(QUERY, sentences=sentences)
    return counts


@pytest.mark.parametrize("written", [_program, _sql])
@pytest.mark.parametrize("mode", ["batch", "micro-batch", "real-time"])
def test_word_count(
    written: Callable[[hr.Stream], hr.Stream], mode: Any, kafka: str, topic: Callable[..., str], spark: SparkSession, tmp_path: Path
) -> None:
    sentences, counts = topic(), topic()
    producer = Producer({"bootstrap.servers": kafka, "log_level": 0})
    producer.produce(sentences, SENTENCE)
    producer.flush()

    job = hr.Job("words", written(hr.read.kafka(sentences)).to.kafka(counts, key="word"), checkpoint=tmp_path)

    if mode == "real-time":
        with job.start(mode):
            found = _counts(kafka, counts, lambda counts: sum(counts.values()) == len(SENTENCE.split()))
    else:
        job.run(mode, trigger=hr.once)
        found = _counts(kafka, counts, lambda counts: sum(counts.values()) == len(SENTENCE.split()))
    assert_table(spark.createDataFrame(list(found.items()), "word string, n int"), TABLE)
