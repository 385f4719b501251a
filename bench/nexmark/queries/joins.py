"""Joins that have no bound of time: each side waits for the other. One scan over both sides of a key, in every mode.

Who comes first is kept: a row of the state, if there can be but one, else rows of a bag, which go when their partner has come.
"""

from __future__ import annotations

from datetime import UTC, datetime

from pyspark.sql import Column
from pyspark.sql import functions as F

from bench.nexmark.events import struct, struct_type
from bench.nexmark.generator import AUCTION, PERSON
from bench.nexmark.query import Queries, Query
from headrace import Bag, Each, Stream

SELLERS = ("name", "city", "state")
ITEM = ("itemName", "description", "initialBid", "reserve", "expires", "seller", "category", "extra")
BID = ("bidder", "price", "channel", "url", "extra")

FIRST = datetime(1970, 1, 1, tzinfo=UTC)


def all_of(when: Column) -> tuple[Column, None]:
    """All rows of a bag, for these records."""
    return F.when(when, F.lit(FIRST)), None


def q3(events: Stream) -> Stream:
    """A person of these states is kept, and an auction until its seller has come."""
    is_person, known, seller = F.col("event_type") == PERSON, F.col("state.seller"), F.col("person")
    wanted = F.col("seller_state").isin("OR", "ID", "CA")

    def row(of: Column, auction: Column) -> list[Column]:
        return [*(of[field].alias(field) for field in SELLERS), auction.alias("id")]

    sides = events.where("event_type = 0 OR auction_category = 10").select(
        F.coalesce("person_id", "auction_seller").alias("seller"), struct("person", *SELLERS).alias("person"),
        F.col("person_state").alias("seller_state"), "event_type", "auction_id", "dateTime",
    )  # fmt: skip
    waiting = Bag(
        add=["auction_id", "dateTime"], when=~is_person & ~F.col("state.seen"), time="dateTime",
        each=Each(between=all_of(is_person), remove=True, output=row(seller, F.col("bag.auction_id")), when=wanted),
    )  # fmt: skip
    return sides.key_by("seller").scan(
        state={"seen": False, "seller": struct_type("person", *SELLERS)},
        update={"seen": F.col("state.seen") | is_person, "seller": F.when(is_person & wanted, seller).otherwise(known)},
        output=row(known, F.col("auction_id")), when=~is_person & known.isNotNull(), bags={"waiting": waiting},
    )  # fmt: skip


def q20(events: Stream) -> Stream:
    """An auction is kept if it is of the category, and a bid until its auction has come."""
    is_auction, known, item = F.col("event_type") == AUCTION, F.col("state.item"), F.col("item")
    wanted = F.col("auction_category") == 10

    def row(bid: Column, item: Column) -> list[Column | str]:
        return [
            "auction", *(bid[name].alias(name) for name in BID[:-1]),
            bid["dateTime"].alias("bid_dateTime"), bid["extra"].alias("bid_extra"), *(item[name].alias(name) for name in ITEM[:-1]),
            item["dateTime"].alias("auction_dateTime"), item["extra"].alias("auction_extra"),
        ]  # fmt: skip

    sides = events.where("event_type > 0").select(
        F.coalesce("auction_id", "bid_auction").alias("auction"), struct("auction", *ITEM).alias("item"), struct("bid", *BID).alias("bid"),
        "event_type", "auction_category", "dateTime",
    )  # fmt: skip
    waiting = Bag(
        add=["bid", "dateTime"], when=~is_auction & ~F.col("state.seen"), time="dateTime",
        each=Each(between=all_of(is_auction), remove=True, output=row(F.col("bag.bid"), item), when=wanted),
    )  # fmt: skip
    return sides.key_by("auction").scan(
        state={"seen": False, "item": struct_type("auction", *ITEM)},
        update={"seen": F.col("state.seen") | is_auction, "item": F.when(is_auction & wanted, item).otherwise(known)},
        output=row(F.col("bid"), known), when=~is_auction & known.isNotNull(), bags={"waiting": waiting},
    )  # fmt: skip


QUERIES: Queries = {
    "q3": Query(
        "who sells in some states", q3,
        """SELECT p.name, p.city, p.state, a.id FROM auction a JOIN person p ON a.seller = p.id
           WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
    ),
    "q20": Query(
        "bids with their auction", q20,
        """SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.dateTime, b.extra, a.itemName, a.description, a.initialBid, a.reserve,
             a.expires, a.seller, a.category, a.dateTime, a.extra
           FROM bid b JOIN auction a ON b.auction = a.id WHERE a.category = 10""",
    ),
}  # fmt: skip
