"""Queries that add up and rank bids as they come, and put out what changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from bench.nexmark.events import bids
from bench.nexmark.query import SEVERAL_STATES, Queries, Query
from headrace import Stream, running

RANKS = {"total": "true", "rank1": "price < 10000", "rank2": "price >= 10000 AND price < 1000000", "rank3": "price >= 1000000"}


def with_day(events: Stream) -> Stream:
    return bids(events).with_columns(day=F.date_format("dateTime", "yyyy-MM-dd"), minute=F.date_format("dateTime", "HH:mm"))


def first_of(stream: Stream, keys: Sequence[str], column: str) -> Stream:
    """Each record with flags: whether it is the first of this column's value among all, and among those of each rank."""
    before: dict[str, Any] = {f"{column}_{rank}": running(F.count_if(F.expr(when))) for rank, when in RANKS.items()}
    seen = stream.key_by(*keys, column).with_features(**before)
    return seen.with_columns(**{f"{column}_{rank}": (F.col(f"{column}_{rank}") == 0) & F.expr(when) for rank, when in RANKS.items()})


def distinct_totals(events: Stream, keys: Sequence[str], *more: str) -> Stream:
    """Counted exactly: who is the first of the day is found by bidder and by auction, and the firsts are added up."""
    marked = first_of(first_of(with_day(events), keys, "bidder"), keys, "auction")

    def total(condition: Column) -> Column:
        return F.count_if(condition)

    sums: dict[str, Any] = {
        **({"minute_": running(F.max("minute"), inclusive=True)} if more else {}),
        **{f"{rank}_bids": running(total(F.expr(when)), inclusive=True) for rank, when in RANKS.items()},
        **{
            f"{rank}_{column}s": running(total(F.col(f"{column}_{rank}")), inclusive=True)
            for column in ("bidder", "auction")
            for rank in RANKS
        },
    }
    return marked.key_by(*keys).with_features(**sums).select(*keys, *sums)


def q15(events: Stream) -> Stream:
    return distinct_totals(events, ["day"])


def q16(events: Stream) -> Stream:
    return distinct_totals(events, ["channel", "day"], "minute")


def q17(events: Stream) -> Stream:
    ranks = [F.count_if(F.expr(when)).alias(f"{rank}_bids") for rank, when in RANKS.items()]
    prices = [each("price").alias(f"{name}_price") for name, each in {"min": F.min, "max": F.max, "avg": F.avg, "sum": F.sum}.items()]
    return with_day(events).key_by("auction", "day").agg(*ranks, *prices)


def q18(events: Stream) -> Stream:
    newest = bids(events).key_by("bidder", "auction").with_features(newest=running(F.max("dateTime")))
    return newest.where("newest IS NULL OR dateTime >= newest").drop("newest")


def q19(events: Stream) -> Stream:
    return bids(events).key_by("auction").top(10, by="price", rank=True)


COUNTS = ", ".join(f"count(*) FILTER (WHERE {when})" for when in RANKS.values())
DISTINCT = ", ".join(f"count(DISTINCT {column}) FILTER (WHERE {when})" for column in ("bidder", "auction") for when in RANKS.values())
DAY = "strftime(dateTime, '%Y-%m-%d')"

QUERIES: Queries = {
    "q15": Query(
        "a day's bids, bidders and auctions", q15, f"SELECT {DAY} AS d, {COUNTS}, {DISTINCT} FROM bid GROUP BY d", ("day",), SEVERAL_STATES
    ),
    "q16": Query(
        "the same of a channel", q16,
        f"SELECT channel, {DAY} AS d, max(strftime(dateTime, '%H:%M')), {COUNTS}, {DISTINCT} FROM bid GROUP BY channel, d",
        ("channel", "day"), SEVERAL_STATES,
    ),
    "q17": Query(
        "a day's bids of an auction", q17,
        f"SELECT auction, {DAY} AS d, {COUNTS}, min(price), max(price), avg(price), sum(price) FROM bid GROUP BY auction, d",
        ("auction", "day"),
    ),
    "q18": Query(
        "the last bid of a user on an auction", q18,
        """SELECT dateTime, auction, bidder, price, channel, url, extra FROM bid
           QUALIFY row_number() OVER (PARTITION BY bidder, auction ORDER BY dateTime DESC, arrival DESC) = 1""", ("bidder", "auction"),
    ),
    "q19": Query(
        "the ten highest bids of an auction", q19,
        """SELECT dateTime, auction, bidder, price, channel, url, extra,
             row_number() OVER (PARTITION BY auction ORDER BY price DESC, arrival) AS r FROM bid QUALIFY r <= 10""", ("auction", "rank"),
    ),
}  # fmt: skip
