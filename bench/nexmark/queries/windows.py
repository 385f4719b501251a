"""Queries over windows of time."""

from __future__ import annotations

from pyspark.sql import functions as F

from bench.nexmark.events import bids
from bench.nexmark.generator import DELAY, PERSON
from bench.nexmark.query import SEVERAL_STATES, Queries, Query
from headrace import Stream, Timer, after_watermark, clock, sessions, sliding, tumbling

LENGTH = 10_000  # milliseconds


def q5(events: Stream) -> Stream:
    counts = (
        bids(events).event_time("dateTime", DELAY)
        .window(sliding("10 seconds", "2 seconds"), by=["auction"], trigger=after_watermark()).agg(num=F.count("*"))
    )  # fmt: skip
    hottest = counts.drop("pane").key_by("start", "end").top(1, by="num", ties=True, at="end")
    return hottest.select("auction", "num", "start", "end")


def q7(events: Stream) -> Stream:
    """A bid at the very end of a window is not in it, but comes out with it if its price is the window's highest: so says the SQL."""
    millis = F.unix_millis("dateTime")
    start, border = millis - millis % LENGTH, millis % LENGTH == 0
    ends = F.array(F.timestamp_millis(start + LENGTH), F.when(border, F.timestamp_millis(start)))
    cut = bids(events).select("auction", "price", "bidder", "dateTime", "extra", F.explode(F.array_compact(ends)).alias("end"))
    price, best, rows = F.col("price"), F.col("state.best"), F.col("state.rows")
    highest = F.greatest(best, F.when(F.col("dateTime") < F.col("end"), price))
    row = F.struct("auction", "price", "bidder", "dateTime", "extra")
    known = F.when(F.coalesce(price < best, F.lit(False)), rows).otherwise(F.array_append(rows, row))
    kind = "array<struct<auction:bigint,price:bigint,bidder:bigint,dateTime:timestamp,extra:string>>"
    return cut.key_by("end").scan(
        event_time="dateTime", delay=DELAY, late_after=F.col("end"), wait=False,
        state={"best": "bigint", "rows": F.array().cast(kind), "end": "timestamp"},
        update={"best": highest, "rows": F.filter(known, lambda each: each["price"] >= F.coalesce(highest, F.lit(0))), "end": F.col("end")},
        timer=Timer(at=F.col("state.end"), output=F.filter(rows, lambda each: each["price"] == best), forget=True),
    )  # fmt: skip


def q8(events: Stream) -> Stream:
    """Comes out when both have come, whichever is the first; the window is forgotten when time has passed it."""
    millis, is_person, name, sold = F.unix_millis("dateTime"), F.col("event_type") == PERSON, F.col("state.name"), F.col("state.sold")
    sides = events.where("event_type < 2").select(
        F.coalesce("person_id", "auction_seller").alias("id"), F.col("person_name").alias("name"), "event_type", "dateTime",
        F.timestamp_millis(millis - millis % LENGTH).alias("starttime"),
    )  # fmt: skip
    return sides.key_by("id", "starttime").scan(
        event_time="dateTime", delay=DELAY, wait=False, idle="10 seconds",
        state={"name": "string", "sold": False}, update={"name": F.coalesce("name", name), "sold": sold | ~is_person},
        output=["id", F.coalesce("name", name).alias("name"), "starttime"],
        when=F.when(is_person, sold).otherwise(name.isNotNull() & ~sold),
    )  # fmt: skip


def q11(events: Stream) -> Stream:
    visits = bids(events).event_time("dateTime", DELAY).window(sessions("10 seconds"), by=["bidder"], trigger=after_watermark())
    return visits.agg(bid_count=F.count("*")).select("bidder", "bid_count", "start", "end")


def q12(events: Stream) -> Stream:
    return (
        bids(events)
        .window(tumbling("10 seconds"), by=["bidder"], on=clock)
        .agg(bid_count=F.count("*"))
        .select("bidder", "bid_count", "start", "end")
    )


CUT = f"epoch_ms(epoch_ms(dateTime) // {LENGTH} * {LENGTH})"

QUERIES: Queries = {
    "q5": Query(
        "the auctions with most bids in ten seconds", q5,
        """WITH cut AS (SELECT auction, unnest(range(t // 2000 * 2000 - 8000, t // 2000 * 2000 + 2000, 2000)) AS s
             FROM (SELECT auction, epoch_ms(dateTime) AS t FROM bid)),
           counts AS (SELECT auction, count(*) AS num, s FROM cut GROUP BY auction, s)
           SELECT auction, num, epoch_ms(s), epoch_ms(s + 10000) FROM counts QUALIFY num = max(num) OVER (PARTITION BY s)""",
        real_time=SEVERAL_STATES,
    ),
    "q7": Query(
        "the highest bids of ten seconds", q7,
        f"""WITH best AS (SELECT max(price) AS price, epoch_ms(dateTime) // {LENGTH} * {LENGTH} AS s FROM bid GROUP BY s)
            SELECT b.auction, b.price, b.bidder, b.dateTime, b.extra FROM bid b JOIN best ON b.price = best.price
            WHERE epoch_ms(b.dateTime) BETWEEN s AND s + {LENGTH}""",
    ),
    "q8": Query(
        "new persons who sell at once", q8,
        f"""SELECT DISTINCT p.id, p.name, {CUT.replace('dateTime', 'p.dateTime')} AS s FROM person p JOIN auction a
            ON p.id = a.seller AND {CUT.replace('dateTime', 'p.dateTime')} = {CUT.replace('dateTime', 'a.dateTime')}""",
    ),
    "q11": Query(
        "bids in a session of a user", q11,
        """WITH gaps AS (SELECT *, coalesce(epoch_ms(dateTime) - lag(epoch_ms(dateTime)) OVER w <= 10000, false) AS goes_on
             FROM bid WINDOW w AS (PARTITION BY bidder ORDER BY dateTime, arrival)),
           numbered AS (SELECT *, sum(CASE WHEN goes_on THEN 0 ELSE 1 END) OVER w AS session FROM gaps
             WINDOW w AS (PARTITION BY bidder ORDER BY dateTime, arrival))
           SELECT bidder, count(*), min(dateTime), max(dateTime) + INTERVAL 10 SECOND FROM numbered GROUP BY bidder, session""",
    ),
    "q12": Query(
        "bids of a user in ten seconds of the clock", q12,
        """SELECT bidder, count(*), epoch_ms(epoch_ms(clock) // 10000 * 10000) AS s, epoch_ms(epoch_ms(clock) // 10000 * 10000 + 10000)
           FROM bid GROUP BY bidder, s, 4""", ("bidder", "start"), by_clock=True,
    ),
}  # fmt: skip
