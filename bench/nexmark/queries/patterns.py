"""Patterns among the bids of one user on one auction, in the order of their time.

Repetitions are greedy as Flink's are: what could be one more of them is not taken by what follows. So a match that is not known to be over
at the end of the events is none, and neither are those that began after it. `cep0` is what its words say, a rise after falls; the SQL
compares the rise with the last fall but one. Averages are not rounded.
"""

from __future__ import annotations

from bench.nexmark.events import bids
from bench.nexmark.generator import DELAY
from bench.nexmark.query import Queries, Query
from headrace import Stream, step

MOST = 100_000  # matches on their way: those of one user on one auction


def cep0(events: Stream) -> Stream:
    falls = step("first").next("down", "price < coalesce(down.price, first.price)").one_or_more().consecutive().greedy()
    return bids(events).key_by("auction", "bidder").match(
        falls.next("up", "price > down.price"), skip="to last up", event_time="dateTime", delay=DELAY, most=MOST,
        output=["first.dateTime AS start_time", "down.dateTime AS bottom_time", "up.dateTime AS end_time"],
    ).drop("start", "end")  # fmt: skip


def cheap(events: Stream, skip: str) -> Stream:
    low = step("low", "(coalesce(sum(low.price), 0) + price) / (count(low.*) + 1) < 10000").one_or_more().consecutive().greedy()
    return bids(events).key_by("auction", "bidder").match(
        low.next("other"), skip=skip, event_time="dateTime", delay=DELAY, most=MOST,
        output=["first(low.dateTime) AS start_time", "low.dateTime AS end_time", "avg(low.price) AS avg_price"],
    ).drop("start", "end")  # fmt: skip


def cep1(events: Stream) -> Stream:
    return cheap(events, "past last")


def cep2(events: Stream) -> Stream:
    return cheap(events, "to next")


def cep3(events: Stream) -> Stream:
    near = step("first").next("near", "price > first.price - 50").one_or_more().optional().consecutive().greedy()
    return bids(events).key_by("auction", "bidder").match(
        near.next("far", "price < first.price - 50").within("5 seconds"), skip="past last", event_time="dateTime", delay=DELAY,
        output=["far.dateTime AS drop_time", "first.price - far.price AS drop_diff"],
    ).drop("start", "end")  # fmt: skip


# The n-th bid of a user on an auction.
NUMBERED = """numbered AS (SELECT auction, bidder, price, dateTime, row_number() OVER w AS n, sum(price) OVER w AS total FROM bid
                           WINDOW w AS (PARTITION BY auction, bidder ORDER BY dateTime, arrival))"""

# From each cheap bid on, the first bid with which the average is not low any more; null if there is none.
CHEAP = f"""{NUMBERED}, matches AS (
  SELECT a.auction, a.bidder, a.n AS first, a.total - a.price AS before, min(b.n) AS last FROM numbered a LEFT JOIN numbered b
    ON a.auction = b.auction AND a.bidder = b.bidder AND b.n > a.n AND b.total - a.total + a.price >= 10000 * (b.n - a.n + 1)
  WHERE a.price < 10000 GROUP BY ALL)"""
CHEAP_ROWS = """SELECT m.auction, m.bidder, a.dateTime, z.dateTime, (z.total - m.before) / (m.last - m.first) FROM {matches} m
  JOIN numbered a ON m.auction = a.auction AND m.bidder = a.bidder AND m.first = a.n
  JOIN numbered z ON m.auction = z.auction AND m.bidder = z.bidder AND m.last - 1 = z.n"""

# From each bid on, the first that is not near it, if that is far below and less than 5 seconds later.
DROPS = f"""{NUMBERED}, ends AS (
  SELECT a.auction, a.bidder, a.n AS first, min(b.n) AS last FROM numbered a JOIN numbered b
    ON a.auction = b.auction AND a.bidder = b.bidder AND b.n > a.n AND b.price <= a.price - 50 GROUP BY ALL),
  matches AS (
  SELECT m.*, z.dateTime, a.price - z.price AS diff FROM ends m
  JOIN numbered a ON m.auction = a.auction AND m.bidder = a.bidder AND m.first = a.n
  JOIN numbered z ON m.auction = z.auction AND m.bidder = z.bidder AND m.last = z.n
  WHERE z.price < a.price - 50 AND z.dateTime - a.dateTime < INTERVAL 5 SECOND)"""

# One match after the other: the next one begins behind the last bid of the one before.
CHAINED = """chained AS (
  SELECT auction, bidder, min(first) AS first FROM matches GROUP BY auction, bidder
  UNION ALL
  SELECT c.auction, c.bidder, min(b.first) FROM chained c
  JOIN matches a ON a.auction = c.auction AND a.bidder = c.bidder AND a.first = c.first
  JOIN matches b ON b.auction = c.auction AND b.bidder = c.bidder AND b.first > a.last GROUP BY ALL),
  chosen AS (SELECT m.* FROM matches m JOIN chained USING (auction, bidder, first))"""

QUERIES: Queries = {
    "cep0": Query(
        "a user's bids that fall and then rise", cep0,
        f"""WITH {NUMBERED}, runs AS (
              SELECT *, lead(price) OVER w AS next, lead(dateTime) OVER w AS next_time, n - count_if(falls) OVER w AS run
              FROM (SELECT *, coalesce(price < lag(price) OVER w, false) AS falls FROM numbered
                    WINDOW w AS (PARTITION BY auction, bidder ORDER BY n))
              WINDOW w AS (PARTITION BY auction, bidder ORDER BY n))
            SELECT auction, bidder, min(dateTime), max(dateTime), last(next_time ORDER BY n) FROM runs GROUP BY auction, bidder, run
            HAVING count(*) > 1 AND last(next ORDER BY n) > last(price ORDER BY n)""",
    ),
    "cep1": Query(
        "bids that are cheap on average", cep1, f"WITH RECURSIVE {CHEAP}, {CHAINED} {CHEAP_ROWS.format(matches='chosen')}"
    ),
    "cep2": Query(
        "the same from each bid on", cep2,
        f"""WITH {CHEAP}, chosen AS (SELECT * FROM matches m WHERE NOT EXISTS (
              FROM matches o WHERE o.auction = m.auction AND o.bidder = m.bidder AND o.first < m.first AND o.last IS NULL))
            {CHEAP_ROWS.format(matches='chosen')}""",
    ),
    "cep3": Query(
        "a bid that is far lower within five seconds", cep3,
        f"WITH RECURSIVE {DROPS}, {CHAINED} SELECT auction, bidder, dateTime, diff FROM chosen",
    ),
}  # fmt: skip
