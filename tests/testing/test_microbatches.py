"""The memory source, the clock, and a query driven one micro-batch at a time."""

from datetime import UTC, datetime

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.testing import FedSource, ManualClock, MicroBatches, assert_table

SCHEMA = "customer string, amount double"


def count(df: DataFrame) -> DataFrame:
    return df.groupBy("customer").count()


def test_a_memory_source_is_a_streaming_dataframe_of_its_schema(spark: SparkSession) -> None:
    memory = FedSource(spark, SCHEMA)
    assert memory.df.isStreaming
    assert memory.df.schema.simpleString() == "struct<customer:string,amount:double>"


def test_a_memory_source_keeps_the_order_added_and_deals_rows_to_partitions(spark: SparkSession) -> None:
    memory = FedSource(spark, "n int", partitions=2)
    memory.add([(1,), (2,), (3,)])
    memory.add([(4,)])
    query = memory.df.withColumn("partition", F.spark_partition_id()).writeStream.format("memory").queryName("dealt").start()
    query.processAllAvailable()
    query.stop()
    assert_table(spark.table("dealt"), "n | partition\n 1 | 0\n 3 | 0\n 2 | 1\n 4 | 1", ordered=True)


def test_two_memory_sources_are_not_one(spark: SparkSession) -> None:
    one, two = FedSource(spark, "n int"), FedSource(spark, "n int")
    one.add([(1,)])
    two.add([(2,)])
    query = one.df.union(two.df).writeStream.format("memory").queryName("both").start()
    query.processAllAvailable()
    query.stop()
    assert_table(spark.table("both"), "n\n 1\n 2")


def test_each_feed_is_one_batch_and_gives_what_it_put_out(spark: SparkSession) -> None:
    with MicroBatches(count, SCHEMA, spark=spark) as stream:
        assert_table(stream.feed([("ann", 1.0), ("ann", None)]), "customer | count\n ann | 2")
        assert_table(stream.feed([(None, 1.0), ("ann", 1.0)]), "customer | count\n ann | 3\n - | 1")
        assert_table(stream.tick(), "customer | count")
        assert [batch["batchId"] for batch in stream.progress] == [0, 1, 2]


def test_text_tables_can_be_fed(spark: SparkSession) -> None:
    with MicroBatches(lambda df: df, SCHEMA, spark=spark) as stream:
        assert_table(stream.feed("customer | amount\n ann | 1"), "customer | amount\n ann | 1.0")


def test_a_restart_goes_on_from_the_checkpoint(spark: SparkSession) -> None:
    with MicroBatches(count, SCHEMA, spark=spark) as stream:
        stream.feed([("ann", 1.0)])
        assert_table(stream.restart(), "customer | count")
        assert_table(stream.feed([("ann", 1.0)]), "customer | count\n ann | 2")


def test_after_a_crash_the_last_batch_runs_again(spark: SparkSession) -> None:
    with MicroBatches(count, SCHEMA, spark=spark) as stream:
        stream.feed([("ann", 1.0)])
        stream.feed([("ann", 1.0), ("bob", 1.0)])
        assert_table(stream.restart(crashed=True), "customer | count\n ann | 2\n bob | 1")
        assert_table(stream.feed([("ann", 1.0)]), "customer | count\n ann | 3")


def test_the_query_sees_the_time_of_the_clock(spark: SparkSession) -> None:
    clock = ManualClock("2026-01-01 10:00:00")
    with MicroBatches(lambda df: df.select(F.current_timestamp().alias("now")), SCHEMA, spark=spark, clock=clock) as stream:
        assert_table(stream.feed([("ann", 1.0)]), "now\n 2026-01-01 10:00:00")
        clock.advance("1 minute 30 seconds")
        assert_table(stream.feed([("ann", 1.0)]), "now\n 2026-01-01 10:01:30")
        stream.restart()
        clock.advance("1 hour")
        assert_table(stream.feed([("ann", 1.0)]), "now\n 2026-01-01 11:01:30")
    assert clock.now == datetime(2026, 1, 1, 11, 1, 30, tzinfo=UTC)


def test_windows_behind_the_watermark_come_out_with_the_next_batch(spark: SparkSession) -> None:
    def per_minute(df: DataFrame) -> DataFrame:
        return df.withWatermark("ts", "0 seconds").groupBy(F.window("ts", "1 minute")).count().select("window.start", "count")

    with MicroBatches(per_minute, "ts timestamp", spark=spark, output_mode="append") as stream:
        assert_table(stream.feed("ts\n 10:00:10\n 10:00:20"), "start | count")
        assert_table(stream.feed("ts\n 10:02:00"), "start | count")
        assert_table(stream.tick(), "start | count\n 10:00:00 | 2")


def test_an_operator_that_throws_throws_in_the_test(spark: SparkSession) -> None:
    with MicroBatches(lambda df: df.select(F.raise_error("no")), SCHEMA, spark=spark) as stream, pytest.raises(StreamingQueryException):
        stream.feed([("ann", 1.0)])


def test_the_checkpoint_is_gone_and_the_settings_are_back_afterwards(spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    with MicroBatches(count, SCHEMA, spark=spark, partitions=1) as stream:
        assert stream.checkpoint.exists()
        assert spark.conf.get("spark.sql.shuffle.partitions") == before
    assert not stream.checkpoint.exists()
