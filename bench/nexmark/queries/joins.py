"""Joins that have no bound of time: each side waits for the other, for ever."""

from __future__ import annotations

from pyspark.sql import functions as F

from bench.nexmark.events import view
from bench.nexmark.query import SEVERAL_STATES, Queries, Query
from headrace import Stream


def q3(events: Stream) -> Stream:
    sellers = view(events, "person").where("state IN ('OR', 'ID', 'CA')").select(F.col("id").alias("seller"), "name", "city", "state")
    items = view(events, "auction").where("category = 10").select("seller", "id")
    return items.join(sellers, on="seller").select("name", "city", "state", "id")


def q20(events: Stream) -> Stream:
    items = view(events, "auction").where("category = 10").rename(id="auction", dateTime="auction_dateTime", extra="auction_extra")
    offers = view(events, "bid").rename(dateTime="bid_dateTime", extra="bid_extra")
    return offers.join(items, on="auction")


def q23(events: Stream) -> Stream:
    persons = view(events, "person").drop("dateTime").rename(id="bidder", extra="person_extra")
    items = view(events, "auction").drop("id").rename(seller="bidder", dateTime="auction_dateTime", extra="auction_extra")
    offers = view(events, "bid").select("bidder", "price", "channel", "url", F.col("extra").alias("bid_extra"))
    return offers.join(persons, on="bidder").join(items, on="bidder")


QUERIES: Queries = {
    "q3": Query(
        "who sells in some states", q3,
        """SELECT p.name, p.city, p.state, a.id FROM auction a JOIN person p ON a.seller = p.id
           WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
    ),
    "q20": Query(
        "bids with their auction", q20,
        """SELECT b.auction, b.dateTime, b.bidder, b.price, b.channel, b.url, b.extra, a.dateTime, a.itemName, a.description, a.initialBid,
             a.reserve, a.expires, a.seller, a.category, a.extra
           FROM bid b JOIN auction a ON b.auction = a.id WHERE a.category = 10""",
    ),
    "q23": Query(
        "bids of persons who sell, with the person and what they sell", q23,
        """SELECT b.bidder, b.price, b.channel, b.url, b.extra, p.name, p.emailAddress, p.creditCard, p.city, p.state, p.extra,
             a.dateTime, a.itemName, a.description, a.initialBid, a.reserve, a.expires, a.category, a.extra
           FROM bid b JOIN person p ON p.id = b.bidder JOIN auction a ON a.seller = b.bidder""", real_time=SEVERAL_STATES,
    ),
}  # fmt: skip
