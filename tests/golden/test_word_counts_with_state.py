"""`updateStateByKey` and `mapWithState` of Spark Streaming, batch by batch, as a scan.

Three micro-batches: a; then a and b; then b. `mapWithState` puts out the keys of the batch, which is what a scan does. `updateStateByKey`
puts out every key at every batch, which is the state itself.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.kernel.scan import scan
from headrace.testing.microbatches import MicroBatches
from headrace.testing.tables import assert_table, table

BATCHES = [
    # messages, what mapWithState puts out, the state after it
    (["a"], {"a": 1}, {"a": 1}),
    (["a", "b"], {"a": 2, "b": 1}, {"a": 2, "b": 1}),
    (["b"], {"b": 2}, {"a": 2, "b": 2}),
]


def count(messages: DataFrame) -> DataFrame:
    total = F.col("state.sum") + 1
    return scan(messages, keys="word", state={"sum": F.lit(0)}, update={"sum": total}, output=["word", total.alias("sum")])


def test_each_batch_gives_its_own_keys_and_the_state_holds_them_all(spark: SparkSession) -> None:
    with MicroBatches(count, table(spark, [], "word string").schema, spark=spark) as stream:
        for messages, out, state in BATCHES:
            rows = stream.feed(table(spark, [(word,) for word in messages], "word string")).rows
            assert {row.word: row["sum"] for row in rows} == out
            stored = spark.read.format("statestore").option("path", str(stream.checkpoint)).option("stateVarName", "state").load()
            assert_table(stored.select("key.word", "value.sum"), "\n".join(["word | sum", *(f"{k} | {v}" for k, v in state.items())]))
