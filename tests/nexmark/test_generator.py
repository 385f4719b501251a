"""Nexmark's events are those that its rules describe: their shares, and that each is a function of its number."""

from __future__ import annotations

import pytest
from bench.nexmark.generator import AUCTION, BID, PERSON, Pace, events
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

COUNT = 200_000


@pytest.fixture(scope="module")
def totals(spark: SparkSession) -> Row:
    """Of 200,000 events at 1,000 a second."""
    made = events(spark.range(0, COUNT, 1, 2), Pace(1_000))
    dollars, bid = F.expr("0.908 * bid_price"), F.col("event_type") == BID
    ids = {kind: f"{kind}_id" for kind in ("person", "auction")}
    kinds = {"persons": PERSON, "auctions": AUCTION, "bids": BID}
    begins = F.when(F.col("event_type") == AUCTION, F.col("dateTime"))
    return made.select(
        *(F.count_if(F.col("event_type") == kind).alias(name) for name, kind in kinds.items()),
        F.count_if((dollars > 1_000_000) & (dollars < 50_000_000)).alias("dear"),
        *(F.count_if(F.expr(when)).alias(name) for name, when in {"rank1": "bid_price < 10000", "rank3": "bid_price >= 1000000"}.items()),
        F.count_if(F.col("bid_auction") % 123 == 0).alias("some"),
        F.count_if(F.col("bid_channel").rlike("^channel-") & ~F.col("bid_url").contains("channel_id=")).alias("unknown"),
        F.count_if(bid & (F.col("bid_auction") % 100 == 0)).alias("hot_auctions"),
        F.count_if(bid & (F.col("bid_bidder") % 100 == 1)).alias("hot_bidders"),
        F.count_if(F.col("auction_category") == 10).alias("category_10"),
        F.count_if(F.col("person_state").isin("OR", "ID", "CA")).alias("some_states"),
        *(F.count_distinct(F.col(id)).alias(f"distinct_{kind}s") for kind, id in ids.items()),
        F.avg(F.unix_millis("auction_expires") - F.unix_millis(begins)).alias("open_millis"),
        F.avg(F.length("bid_extra") + 32).alias("bid_bytes"),
        F.avg(F.length("auction_extra") + F.length("auction_itemName") + F.length("auction_description") + 56).alias("auction_bytes"),
        (F.unix_millis(F.max("dateTime")) - F.unix_millis(F.min("dateTime"))).alias("millis"),
    ).first()  # type: ignore[return-value] # fmt: skip


@pytest.mark.parametrize(
    ("what", "number", "tolerance"),
    [
        ("persons", 4_000, 0),
        ("auctions", 12_000, 0),
        ("bids", 184_000, 0),
        ("distinct_persons", 4_000, 0),
        ("distinct_auctions", 12_000, 0),
        ("millis", COUNT - 1, 0),
        ("dear", 0.283 * 184_000, 700),  # a uniform logarithm: log10(5e7 / 1e6) / 6
        ("rank1", 184_000 / 3, 700),
        ("rank3", 184_000 / 3, 700),
        ("some", 184_000 / 123, 800),  # which hot auctions are among them decides most of it
        ("unknown", 0.05 * 184_000, 900),  # a tenth of 10,000 channels, each of which has an id or not
        ("hot_auctions", (1 / 2 + 1 / 200) * 184_000, 1_000),
        ("hot_bidders", (3 / 4 + 1 / 400) * 184_000, 1_000),
        ("category_10", 12_000 / 5, 200),
        ("some_states", 4_000 / 2, 150),
        ("open_millis", 1_667, 40),
        ("bid_bytes", 100, 2),
        ("auction_bytes", 500, 10),
    ],
)
def test_the_events_have_nexmarks_shares(totals: Row, what: str, number: float, tolerance: float) -> None:
    assert totals[what] == pytest.approx(number, abs=tolerance)


def test_an_event_is_a_function_of_its_number(spark: SparkSession) -> None:
    whole = events(spark.range(0, 300, 1, 3)).collect()
    parts = [row for start in (200, 0, 100) for row in events(spark.range(start, start + 100, 1, 1)).collect()]
    assert sorted(whole, key=lambda row: row.dateTime.timestamp()) == sorted(parts, key=lambda row: row.dateTime.timestamp())
