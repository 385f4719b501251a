"""Count words as they arrive in a Kafka topic, in real-time mode: the smallest stream with state.

make demo
"""

from __future__ import annotations

import tempfile
import time

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import functions as F

import headrace as hr
from headrace.embedded import kafka

SENTENCE = "NE Scala 2016 Apache Apache Spark Storm Apache Trident Flink Streaming Samza Scala 2016 Streaming"


def word_count(sentences: str, counts: str, checkpoint: str) -> hr.Job:
    """Each word of topic `sentences`, with how often it came so far, to topic `counts`."""
    words = hr.read.kafka(sentences).select(F.explode(F.split(F.col("value").cast("string"), " ")).alias("word"))
    totals = words.key_by("word").agg(F.count("*").alias("count"))
    return hr.Job("word-count", totals.to.kafka(counts, key="word", value=F.col("count").cast("string")), checkpoint=checkpoint)


def main() -> None:
    address = kafka.ensure()
    run = f"{time.time():.0f}"  # topics of this run's own, so that the counts start at one
    sentences, counts = f"sentences-{run}", f"counts-{run}"
    admin = AdminClient({"bootstrap.servers": address})
    for created in admin.create_topics([NewTopic(sentences, 1), NewTopic(counts, 1)]).values():
        created.result()
    print(f"a Kafka broker at {address}; starting Spark")
    with tempfile.TemporaryDirectory() as checkpoint, word_count(sentences, counts, checkpoint).start("real-time"):
        say_and_watch(address, sentences, counts)


def say_and_watch(address: str, sentences: str, counts: str) -> None:
    """Send the sentence a few times, a second apart; print every count that comes back, with the time since it was sent."""
    producer = Producer({"bootstrap.servers": address, "linger.ms": 0})
    consumer = Consumer({"bootstrap.servers": address, "group.id": counts, "auto.offset.reset": "earliest"})
    consumer.subscribe([counts])
    for turn in range(1, 6):
        print(f"\nsentence {turn}: {SENTENCE}")
        sent = time.monotonic()
        producer.produce(sentences, SENTENCE)
        producer.flush()
        for _ in SENTENCE.split():
            message = consumer.poll(120)
            if message is None:
                raise SystemExit("no count came back within two minutes")
            took = f"{(time.monotonic() - sent) * 1000:4.0f} ms" if turn > 1 else "while the query was starting"
            print(f"{message.key().decode():>12} {message.value().decode():>3}  {took}")
        time.sleep(1)
    consumer.close()


if __name__ == "__main__":
    main()
