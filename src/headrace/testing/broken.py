"""Operators that are wrong on purpose, over columns `customer` and `amount`. Each law must reject those that `BROKEN` lists for it."""

from __future__ import annotations

import uuid

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.testing.microbatches import Operator


def counts_once_a_batch(df: DataFrame) -> DataFrame:
    """Puts out a row for each customer of a micro-batch, where it should for each record: how many there are depends on the cuts."""
    return df.groupBy("customer").count()


def reads_the_clock(df: DataFrame) -> DataFrame:
    """Says when a record was processed, which depends on when that was."""
    return df.withColumn("at", F.current_timestamp())


def draws_at_random(df: DataFrame) -> DataFrame:
    """Gives another answer each time it is asked."""
    return df.withColumn("chance", F.rand())


def forgets_at_restart(df: DataFrame) -> DataFrame:
    """Counts for each customer and *program start*: right in every shape, until the program starts again."""
    start = F.concat_ws("-", "customer", F.lit(uuid.uuid4().hex))
    return df.groupBy("customer", start.alias("start")).count().drop("start")


def guesses_until_it_is_sure(df: DataFrame) -> DataFrame:
    """Counts, and guesses while it has seen few records: its last word is right, but after a crash it does not say the same again."""
    count = F.col("count")
    return df.groupBy("customer").count().select("customer", F.when(count < 3, F.rand()).otherwise(count).alias("count"))


def keeps_every_amount(df: DataFrame) -> DataFrame:
    """One row of state for a customer, which gets longer with each record."""
    return df.groupBy("customer").agg(F.size(F.collect_list("amount")).alias("n"))


def keeps_every_record(df: DataFrame) -> DataFrame:
    """One row of state for each record that differs."""
    return df.dropDuplicates()


def throws_on_null(df: DataFrame) -> DataFrame:
    """Takes for granted that there is an amount."""
    return df.withColumn("amount", F.when(F.col("amount").isNull(), F.raise_error(F.lit("no amount"))).otherwise(F.col("amount")))


def throws_on_nothing(df: DataFrame) -> DataFrame:
    """Divides by the number of records."""
    return df.agg(F.expr("count(*) DIV count(*)").alias("one"))


def drops_without_a_word(df: DataFrame) -> DataFrame:
    """Leaves out records that it cannot use."""
    return df.where("amount IS NOT NULL")


def repeats(df: DataFrame) -> DataFrame:
    """Puts each record out twice."""
    return df.select("*", F.explode(F.array(F.lit(1), F.lit(2))).alias("copy")).drop("copy")


def reads_one_partition(df: DataFrame) -> DataFrame:
    """Right as long as all records are in one partition."""
    return df.where(F.spark_partition_id() == 0)


BROKEN: dict[str, tuple[Operator, ...]] = {
    "same_in_every_shape": (counts_once_a_batch, reads_the_clock, draws_at_random),
    "restart_loses_and_repeats_nothing": (forgets_at_restart, guesses_until_it_is_sure, draws_at_random),
    "state_stays_within": (keeps_every_amount, keeps_every_record),
    "bears_nulls_and_nothing": (throws_on_null, throws_on_nothing),
    "conserves_records": (drops_without_a_word, repeats),
}
