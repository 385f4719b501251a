"""Count words as they arrive in a Kafka topic, in real-time mode: the smallest stream there is.

make demo
"""

from __future__ import annotations

import tempfile
import time

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.embedded import kafka
from headrace.run.session import session

SENTENCE = "NE Scala 2016 Apache Apache Spark Storm Apache Trident Flink Streaming Samza Scala 2016 Streaming"


def word_counts(sentences: DataFrame) -> DataFrame:
    words = sentences.select(F.explode(F.split(F.col("value").cast("string"), " ")).alias("key"))
    return words.groupBy("key").count().select("key", F.col("count").cast("string").alias("value"))


def main() -> None:
    address = kafka.ensure()
    run = f"{time.time():.0f}"  # topics of this run's own: counts start at one
    sentences, counts = f"sentences-{run}", f"counts-{run}"
    admin = AdminClient({"bootstrap.servers": address})
    for created in admin.create_topics([NewTopic(sentences, 1), NewTopic(counts, 1)]).values():
        created.result()
    print(f"a Kafka broker at {address}")

    spark = session()
    source = spark.readStream.format("kafka").options(
        **{"kafka.bootstrap.servers": address}, subscribe=sentences, startingOffsets="earliest"
    )
    sink = word_counts(source.load()).writeStream.format("kafka").options(**{"kafka.bootstrap.servers": address}, topic=counts)
    with tempfile.TemporaryDirectory() as checkpoint:
        query = sink.outputMode("update").option("checkpointLocation", checkpoint).trigger(realTime="5 minutes").start()
        say_and_watch(address, sentences, counts)
        query.stop()


def say_and_watch(address: str, sentences: str, counts: str) -> None:
    """Send the sentence a few times, a second apart; print every count that comes back, with the time since it was sent."""
    producer = Producer({"bootstrap.servers": address, "linger.ms": 0})
    consumer = Consumer({"bootstrap.servers": address, "group.id": counts, "auto.offset.reset": "earliest"})
    consumer.subscribe([counts])
    for turn in range(4):
        sent = time.monotonic()
        producer.produce(sentences, SENTENCE)
        producer.flush()
        for _ in SENTENCE.split():
            message = consumer.poll(60)
            if message is None:
                raise SystemExit("no count came back within a minute")
            word, count = message.key().decode(), message.value().decode()
            took = f"after {(time.monotonic() - sent) * 1000:.0f} ms" if turn else "(the query was starting)"
            print(f"{word:>10} {count:>3}  {took}")
        time.sleep(1)
    consumer.close()


if __name__ == "__main__":
    main()
