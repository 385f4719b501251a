"""Joins for the laws: of two streams, of tables that change, with a table that stays."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from tests.laws.records import DELAY, NOT_CLOSING

from headrace.ops import windows
from headrace.ops.features import latest, with_features
from headrace.ops.joins import foreign, rules, windowed
from headrace.ops.joins.as_of import nearest
from headrace.ops.joins.intervals import matched
from headrace.ops.joins.sides import Side, Sides
from headrace.testing.microbatches import Operator
from headrace.testing.tables import table


def sides(df: DataFrame, delay: str = DELAY) -> Sides:
    """Amounts, and the places of the customer, which are the negative amounts: two streams out of one, and in one."""
    other = F.col("amount") < 0
    ts = F.col("ts").alias("ts", metadata={})
    records = df.withWatermark("ts", delay).select(
        F.col("customer").alias("key_0"), F.col("ts").alias("at"),
        F.when(F.coalesce(~other, F.lit(True)), F.struct("amount", ts)).alias("own"),
        F.when(other, F.struct(F.col("amount").alias("place"), ts.alias("seen"))).alias("other"),
    )  # fmt: skip
    there = df.withColumnsRenamed({"amount": "place", "ts": "seen"})
    return Sides(records, Side("own", df.schema, ("customer",), "ts"), Side("other", there.schema, ("customer",), "seen"))


def paired(how: str) -> Operator:
    """Amounts with the places of the customer within some seconds, and what is alone."""
    return lambda df: matched(sides(df), how, -3_000_000, 2_000_000).where(NOT_CLOSING)  # those of both sides would be a pair


def nearest_place(df: DataFrame) -> DataFrame:
    return nearest(sides(df), "nearest", tolerance=2_000_000).where(NOT_CLOSING)


def in_the_same_window(df: DataFrame) -> DataFrame:
    return windowed.join(sides(df), windows.sliding("4 seconds", "2 seconds"), "full").where(NOT_CLOSING)


def in_the_same_session(df: DataFrame) -> DataFrame:
    return windowed.cogroup(sides(df), windows.sessions("2 seconds"), ("amounts", "places")).where(NOT_CLOSING)


def of_tables(df: DataFrame, *, by_time: bool) -> Sides:
    """The same two, as tables: an amount of more than four, and a place below minus two, delete their rows."""
    both = sides(df)
    gone = F.coalesce(F.col("own.amount") > 4, F.col("other.place") < -2)
    if by_time:
        return replace(both, df=both.df.withColumn("gone", gone))
    arrived = both.df.withColumn("gone", gone).select("key_0", "own", "other", "gone")
    return replace(both, df=arrived, own=replace(both.own, time=None), other=replace(both.other, time=None))


def ruled(df: DataFrame) -> DataFrame:
    """Amounts with all places, whose keys are the places themselves."""
    both = sides(df)
    places = F.when(both.is_own, F.array(F.pmod(F.xxhash64("key_0"), F.lit(3)).cast("int"))).otherwise(F.array(*map(F.lit, range(3))))
    spread = both.df.withColumn("key_0", F.explode(places))
    return rules.seen(replace(both, df=spread), ["place"], "places").where("main IS NULL OR main.ts < timestamp'2026-01-02'")


def named_by(df: DataFrame) -> DataFrame:
    """Amounts, by their time, with the newest negative amount of the customer that they name."""
    spent = df.where("amount >= 0 OR amount IS NULL").where("ts IS NOT NULL")
    places = df.where("amount < 0").select("customer", F.col("amount").alias("place"))
    return foreign.changes(spent, places, keys=["ts"], on=["customer"], how="left", deleted=(F.col("amount") > 4, None))


def joined(df: DataFrame) -> DataFrame:
    names = table(df.sparkSession, [("ann", "Ann"), ("ann", "Anna"), ("bob", "Bob")], "customer string, name string")
    return df.join(F.broadcast(names), "customer", "left")


def located(df: DataFrame) -> DataFrame:
    """Amounts with the last place of the customer, where places are the negative amounts: two streams out of one."""
    places = df.where("amount < 0")
    spent = df.where("amount >= 0 OR amount IS NULL")
    features = {"place": latest(places, "amount")}
    return with_features(spent, keys="customer", features=features, event_time="ts", delay=DELAY).select("main.*")
