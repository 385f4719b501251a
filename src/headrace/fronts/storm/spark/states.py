"""The states of all bolts as the one state of the query, effectively once: saved with the batch, and read again when the query begins.

A scan keyed by task and key holds the newest value of each. It only keeps: the bolts have their states in memory, and are given them at the
start through the state topic, which then holds nothing else.
"""

from __future__ import annotations

from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from headrace.fronts.storm.spark.stages import Restored
from headrace.fronts.storm.spark.topics import Topics
from headrace.fronts.storm.spark.wire import NOBODY
from headrace.kernel.scan import ScanOptions
from headrace.run.checkpoints.places import Place

ID_HEADER = "storm-id"
"""The header of a Kafka bolt's records by which one that is written again is known."""


def key(topics: Topics) -> Column:
    """What the scan is keyed by. Rows that are no change of a state pass it, in groups of one task each."""
    return F.when(F.col("topic") == topics.state, F.col("key")).otherwise(F.col("spout").cast("string").cast("binary"))


def keeper(topics: Topics) -> ScanOptions:
    """A scan over rows (wire.py) that keeps changes of states and gives all others as (topic, key, value, id).

    State: a row for each key of each bolt's state, and one for each task.
    """
    change = F.col("topic") == topics.state
    number = F.concat_ws("-", F.col("spout").cast("string"), F.col("value").cast("string"))
    record = F.struct("topic", "key", F.col("payload").alias("value"), F.when(F.col("spout") != NOBODY, number).alias("id"))
    return {
        "state": {"payload": F.lit(None).cast("binary")},
        "update": {"payload": F.when(change, F.col("payload"))},
        "output": F.filter(F.array(record), lambda row: row["topic"] != topics.state),
        "forget": ~change | F.col("payload").isNull(),
    }


def restored(place: Place, query: str, topics: Topics, servers: str) -> Restored:
    """What the states were after the last batch that was carried out, put into the state topic for the bolts' processes to read."""
    checkpoint = place.of(query)
    if (batch := checkpoint.carried_out) is None:
        return Restored(-1, (0, 0))
    first = _end(topics.state, servers)
    reader = SparkSession.active().read.format("statestore").option("stateVarName", "state").option("batchId", batch)
    pairs = reader.load(checkpoint.location).select(F.col("key.state").alias("key"), F.col("value.payload").alias("value"))
    pairs.write.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", topics.state).save()
    return Restored(batch, (first, _end(topics.state, servers)))


def _end(topic: str, servers: str) -> int:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": f"{topic}.driver", "log_level": 0})
    try:
        return int(consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)[1])
    finally:
        consumer.close()
