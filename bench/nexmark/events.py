"""The one stream of events that every query begins with, and its three views."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from bench.nexmark.generator import AUCTION, BID, PERSON
from headrace import Stream

PERSONS = {
    "id": "bigint",
    "name": "string",
    "emailAddress": "string",
    "creditCard": "string",
    "city": "string",
    "state": "string",
    "extra": "string",
}
AUCTIONS = {
    "id": "bigint", "itemName": "string", "description": "string", "initialBid": "bigint", "reserve": "bigint", "expires": "timestamp",
    "seller": "bigint", "category": "bigint", "extra": "string",
}  # fmt: skip
BIDS = {"auction": "bigint", "bidder": "bigint", "price": "bigint", "channel": "string", "url": "string", "extra": "string"}

VIEWS = {"person": (PERSON, PERSONS), "auction": (AUCTION, AUCTIONS), "bid": (BID, BIDS)}

SCHEMA = ", ".join(
    [
        "event_type int",
        "dateTime timestamp",
        *(f"{view}_{name} {kind}" for view, (_, fields) in VIEWS.items() for name, kind in fields.items()),
    ]
)


def view(events: Stream, name: str) -> Stream:
    """The events of one type, with the columns of that type and the time."""
    kind, fields = VIEWS[name]
    return events.where(F.col("event_type") == kind).select("dateTime", *(F.col(f"{name}_{field}").alias(field) for field in fields))


def bids(events: Stream) -> Stream:
    return view(events, "bid")


def struct(name: str, *fields: str) -> Column:
    """Some columns of an event as one, null in events of another type."""
    return F.when(F.col("event_type") == VIEWS[name][0], F.struct(*(F.col(f"{name}_{field}").alias(field) for field in fields), "dateTime"))


def struct_type(name: str, *fields: str) -> str:
    return f"struct<{','.join(f'{field}:{VIEWS[name][1][field]}' for field in fields)},dateTime:timestamp>"
