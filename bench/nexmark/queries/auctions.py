"""Queries about what an auction fetched: its highest bid from its beginning to its end, both included; of equal ones the earliest.

Events are taken in the order of their time, an auction before the bids of the same moment. An alarm at the end of the auction lets it out.
"""

from __future__ import annotations

from pyspark.sql import functions as F

from bench.nexmark.events import struct, struct_type
from bench.nexmark.generator import AUCTION, DELAY
from bench.nexmark.query import SEVERAL_STATES, Queries, Query
from headrace import Stream, Timer, last_n, running

ITEM = ("itemName", "description", "initialBid", "reserve", "expires", "seller", "category", "extra")
BID = ("bidder", "price", "extra")


def sold(events: Stream, *columns: str) -> Stream:
    """Each auction that had a bid, when it is over: these columns of it, and of the bid the price. Without any, all of both."""
    item_fields, bid_fields = (("expires", *columns), ("price",)) if columns else (ITEM, BID)
    is_auction, item, best, bid = F.col("event_type") == AUCTION, F.col("state.item"), F.col("state.best"), F.col("bid")
    counts = ~is_auction & (F.col("dateTime") <= item["expires"]) & (best.isNull() | (bid["price"] > best["price"]))
    sides = events.where("event_type > 0").select(
        F.coalesce("auction_id", "bid_auction").alias("id"), struct("auction", *item_fields).alias("item"),
        struct("bid", *bid_fields).alias("bid"), "event_type", "dateTime",
    )  # fmt: skip
    return sides.key_by("id").scan(
        event_time="dateTime", delay=DELAY, order="event_type", time_out="expires",
        state={"item": struct_type("auction", *item_fields), "best": struct_type("bid", *bid_fields)},
        update={"item": F.coalesce("item", item), "best": F.when(F.coalesce(counts, F.lit(False)), bid).otherwise(best)},
        forget=~is_auction & item.isNull(),  # a bid on what is not there yet, or is over
        timer=Timer(
            at=item["expires"], when=best.isNotNull(), forget=True,
            output=[
                "id", *(item[name].alias(name) for name in item_fields), item["dateTime"].alias("dateTime"), best["price"].alias("price"),
                best["dateTime"].alias("bid_dateTime"), *(best[name].alias(f"bid_{name}") for name in bid_fields if name != "price"),
            ],
        ),
    )  # fmt: skip


def q4(events: Stream) -> Stream:
    prices = sold(events, "category").key_by("category").with_features(average=running(F.avg("price"), inclusive=True))
    return prices.select("category", "average")


def q6(events: Stream) -> Stream:
    """The definition has the last ten; Nexmark's SQL, which no engine runs, has eleven."""
    mean = last_n(10, F.avg("price"), inclusive=True)
    return (
        sold(events, "seller")
        .key_by("seller")
        .with_features(average=mean, event_time="expires", order="id")
        .select("seller", "id", "average")
    )


def q9(events: Stream) -> Stream:
    return sold(events)


SOLD = """SELECT a.id, a.itemName, a.description, a.initialBid, a.reserve, a.expires, a.seller, a.category, a.extra, a.dateTime,
            b.price, b.dateTime AS bid_dateTime, b.bidder AS bid_bidder, b.extra AS bid_extra
          FROM auction a JOIN bid b ON a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires
          QUALIFY row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.dateTime, b.arrival) = 1"""

QUERIES: Queries = {
    "q4": Query(
        "the average price of a category", q4, f"SELECT category, avg(price) FROM ({SOLD}) GROUP BY category", ("category",), SEVERAL_STATES
    ),
    "q6": Query(
        "the average of a seller's last ten auctions", q6,
        f"""SELECT seller, id, avg(price) OVER (PARTITION BY seller ORDER BY expires, id ROWS BETWEEN 9 PRECEDING AND CURRENT ROW)
            FROM ({SOLD})""", real_time=SEVERAL_STATES,
    ),
    "q9": Query("each auction with its winning bid", q9, SOLD),
}  # fmt: skip
