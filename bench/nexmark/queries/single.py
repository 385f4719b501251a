"""Queries that look at one bid at a time, and at a table."""

from __future__ import annotations

from pyspark.sql import functions as F

from bench.nexmark.events import bids
from bench.nexmark.query import Queries, Query
from headrace import Stream, session

DOLLARS = "0.908 * price"
CHANNEL_ID = "nullif(regexp_extract(url, '(&|^)channel_id=([^&]*)', 2), '')"


def q0(events: Stream) -> Stream:
    return bids(events)


def q1(events: Stream) -> Stream:
    return bids(events).select("auction", "bidder", F.expr(DOLLARS).alias("price"), "dateTime", "extra")


def q2(events: Stream) -> Stream:
    return bids(events).where("auction % 123 = 0").select("auction", "price")


def q10(events: Stream) -> Stream:
    """To files it goes with `.to.files(path, partition_by=["dt", "hm"])`."""
    day, minute = F.date_format("dateTime", "yyyy-MM-dd").alias("dt"), F.date_format("dateTime", "HH:mm").alias("hm")
    return bids(events).select("auction", "bidder", "price", "dateTime", "extra", day, minute)


def q13(events: Stream) -> Stream:
    side = session().range(10_000).select(F.col("id").alias("key"), F.col("id").cast("string").alias("value"))
    return (
        bids(events)
        .with_columns(key=F.col("auction") % 10_000)
        .join(side, on="key")
        .select("auction", "bidder", "price", "dateTime", "value")
    )


def q14(events: Stream) -> Stream:
    hour = F.hour("dateTime")
    kind = F.when(hour.between(8, 18), "dayTime").when((hour <= 6) | (hour >= 20), "nightTime").otherwise("otherTime")
    letters = (F.length("extra") - F.length(F.replace("extra", F.lit("c"), F.lit("")))).alias("c_counts")
    some = bids(events).where(f"{DOLLARS} > 1000000 AND {DOLLARS} < 50000000")
    return some.select("auction", "bidder", F.expr(DOLLARS).alias("price"), kind.alias("bidTimeType"), "dateTime", "extra", letters)


def q21(events: Stream) -> Stream:
    known = F.expr("CASE lower(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3' END")
    id = F.coalesce(known, F.expr(CHANNEL_ID)).alias("channel_id")
    return bids(events).select("auction", "bidder", "price", "channel", id).where("channel_id IS NOT NULL")


def q22(events: Stream) -> Stream:
    parts = F.split("url", "/")
    return bids(events).select("auction", "bidder", "price", "channel", *(F.get(parts, i + 2).alias(f"dir{i}") for i in (1, 2, 3)))


QUERIES: Queries = {
    "q0": Query("all bids", q0, "SELECT dateTime, auction, bidder, price, channel, url, extra FROM bid"),
    "q1": Query("prices in another currency", q1, f"SELECT auction, bidder, {DOLLARS}, dateTime, extra FROM bid"),
    "q2": Query("bids on some auctions", q2, "SELECT auction, price FROM bid WHERE auction % 123 = 0"),
    "q10": Query(
        "all bids to files by day and minute", q10,
        "SELECT auction, bidder, price, dateTime, extra, strftime(dateTime, '%Y-%m-%d'), strftime(dateTime, '%H:%M') FROM bid",
        real_time="files take whole batches",
    ),
    "q13": Query(
        "bids with a value of a table", q13, "SELECT auction, bidder, price, dateTime, CAST(auction % 10000 AS VARCHAR) FROM bid"
    ),
    "q14": Query(
        "dear bids, by the time of day, with a count of letters", q14,
        f"""SELECT auction, bidder, {DOLLARS},
              CASE WHEN hour(dateTime) BETWEEN 8 AND 18 THEN 'dayTime' WHEN hour(dateTime) <= 6 OR hour(dateTime) >= 20 THEN 'nightTime'
                ELSE 'otherTime' END, dateTime, extra, length(extra) - length(replace(extra, 'c', ''))
            FROM bid WHERE {DOLLARS} > 1000000 AND {DOLLARS} < 50000000""",
    ),
    "q21": Query(
        "the channel's number, of the name or of the url", q21,
        f"""SELECT * FROM (SELECT auction, bidder, price, channel, coalesce(CASE lower(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1'
              WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3' END, {CHANNEL_ID}) AS id FROM bid) WHERE id IS NOT NULL""",
    ),
    "q22": Query(
        "the directories of the url", q22,
        "SELECT auction, bidder, price, channel, " + ", ".join(f"split_part(url, '/', {i})" for i in (4, 5, 6)) + " FROM bid",
    ),
}  # fmt: skip
