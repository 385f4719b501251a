"""Operators without state, for the laws."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.decoding.records import decode


def stateless(df: DataFrame) -> DataFrame:
    many = F.explode(F.array("amount", F.lit(None), F.lit(1.0))).alias("one")
    return df.where("amount IS NULL OR amount <> 5").select("customer", (F.col("amount") * 2).alias("twice"), many)


def decoded(df: DataFrame) -> DataFrame:
    """Some of the records as JSON, some broken; some lack what is required."""
    text = F.when(F.col("amount") < 0, F.lit("{")).otherwise(F.to_json(F.struct("customer", "amount")))
    return decode(df.select(text.alias("value")), schema="customer STRING NOT NULL, amount DOUBLE")
