"""Nexmark's queries as SQL over the streams `person`, `auction` and `bid`: Nexmark's own texts, where a stream can have them.

Others than Nexmark's are q5, which ranks the counts of a window instead of joining them with their greatest, and q8, whose join does not
repeat a person for each of its auctions. q4 takes an average of what changes, which only a batch can have; q6 has no SQL that a stream
could run, here or elsewhere. The patterns go back, as the standard says: where the bids end while they are cheap, the last one is B.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from bench.nexmark.events import VIEWS, view
from bench.nexmark.generator import DELAY
from bench.nexmark.queries import QUERIES as PROGRAMS
from bench.nexmark.queries.patterns import CHAINED, CHEAP_ROWS, NUMBERED
from bench.nexmark.query import Queries
from headrace import Stream, session, sql

RANKS = ("true", "price < 10000", "price >= 10000 AND price < 1000000", "price >= 1000000")
COUNTS = ", ".join(f"count(*) FILTER (WHERE {when}) AS bids{i}" for i, when in enumerate(RANKS))
DISTINCT = ", ".join(
    f"count(DISTINCT {column}) FILTER (WHERE {when}) AS {column}s{i}" for column in ("bidder", "auction") for i, when in enumerate(RANKS)
)
DAY = "date_format(dateTime, 'yyyy-MM-dd')"
MATCH = "SELECT * FROM bid MATCH_RECOGNIZE (PARTITION BY auction, bidder ORDER BY dateTime {})"
CHEAP = """MEASURES FIRST(A.dateTime) AS start_time, LAST(A.dateTime) AS end_time, AVG(A.price) AS avg_price
  ONE ROW PER MATCH AFTER MATCH SKIP {} PATTERN (A+ B) DEFINE A AS AVG(A.price) < 10000"""

TEXTS = {
    "q0": "SELECT dateTime, auction, bidder, price, channel, url, extra FROM bid",
    "q1": "SELECT auction, bidder, 0.908 * price AS price, dateTime, extra FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0",
    "q3": """SELECT P.name, P.city, P.state, A.id FROM auction AS A INNER JOIN person AS P ON A.seller = P.id
             WHERE A.category = 10 AND (P.state = 'OR' OR P.state = 'ID' OR P.state = 'CA')""",
    "q4": """SELECT Q.category, AVG(Q.final) AS price FROM (
               SELECT MAX(B.price) AS final, A.category FROM auction A, bid B
               WHERE A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires GROUP BY A.id, A.category) Q
             GROUP BY Q.category""",
    "q5": """SELECT auction, num, starttime, endtime FROM (
               SELECT *, RANK() OVER (PARTITION BY starttime, endtime ORDER BY num DESC) AS place FROM (
                 SELECT auction, count(*) AS num, window_start AS starttime, window_end AS endtime
                 FROM TABLE(HOP(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
                 GROUP BY auction, window_start, window_end))
             WHERE place <= 1""",
    "q7": """SELECT B.auction, B.price, B.bidder, B.dateTime, B.extra FROM bid B JOIN (
               SELECT MAX(price) AS maxprice, window_end AS endtime
               FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '10' SECOND)) GROUP BY window_start, window_end) B1
             ON B.price = B1.maxprice
             WHERE B.dateTime BETWEEN B1.endtime - INTERVAL '10' SECOND AND B1.endtime""",
    "q8": """SELECT P.id, P.name, P.window_start AS starttime
             FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(dateTime), INTERVAL '10' SECOND)) P
             LEFT SEMI JOIN TABLE(TUMBLE(TABLE auction, DESCRIPTOR(dateTime), INTERVAL '10' SECOND)) A
             ON P.id = A.seller AND P.window_start = A.window_start AND P.window_end = A.window_end""",
    "q9": """SELECT id, itemName, description, initialBid, reserve, expires, seller, category, extra, dateTime, price, bid_dateTime,
               bidder, bid_extra
             FROM (SELECT A.*, B.bidder, B.price, B.dateTime AS bid_dateTime, B.extra AS bid_extra,
                     ROW_NUMBER() OVER (PARTITION BY A.id ORDER BY B.price DESC, B.dateTime ASC) AS rownum
                   FROM auction A, bid B WHERE A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires)
             WHERE rownum <= 1""",
    "q10": """SELECT auction, bidder, price, dateTime, extra, date_format(dateTime, 'yyyy-MM-dd') AS dt,
                date_format(dateTime, 'HH:mm') AS hm FROM bid""",
    "q11": """SELECT bidder, count(*) AS bid_count, window_start AS starttime, window_end AS endtime
              FROM TABLE(SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(dateTime), INTERVAL '10' SECOND))
              GROUP BY bidder, window_start, window_end EMIT FINAL""",
    "q12": """SELECT bidder, count(*) AS bid_count, window_start AS start, window_end AS end
              FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(PROCTIME()), INTERVAL '10' SECOND)) GROUP BY bidder, window_start, window_end""",
    "q13": """SELECT B.auction, B.bidder, B.price, B.dateTime, S.value
              FROM bid AS B JOIN side_input AS S ON MOD(B.auction, 10000) = S.key""",
    "q14": """SELECT auction, bidder, 0.908 * price AS price,
                CASE WHEN HOUR(dateTime) >= 8 AND HOUR(dateTime) <= 18 THEN 'dayTime'
                     WHEN HOUR(dateTime) <= 6 OR HOUR(dateTime) >= 20 THEN 'nightTime' ELSE 'otherTime' END AS bidTimeType,
                dateTime, extra, length(extra) - length(replace(extra, 'c', '')) AS c_counts
              FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000""",
    "q15": f"SELECT {DAY} AS day, {COUNTS}, {DISTINCT} FROM bid GROUP BY {DAY}",
    "q16": f"""SELECT channel, {DAY} AS day, max(date_format(dateTime, 'HH:mm')) AS minute, {COUNTS}, {DISTINCT} FROM bid
               GROUP BY channel, {DAY}""",
    "q17": f"""SELECT auction, {DAY} AS day, {COUNTS}, min(price) AS min_price, max(price) AS max_price, avg(price) AS avg_price,
                 sum(price) AS sum_price FROM bid GROUP BY auction, {DAY}""",
    "q18": """SELECT dateTime, auction, bidder, price, channel, url, extra FROM (
                SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY dateTime DESC) AS rank_number FROM bid)
              WHERE rank_number <= 1""",
    "q19": """SELECT dateTime, auction, bidder, price, channel, url, extra, rank FROM (
                SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rank FROM bid) WHERE rank <= 10""",
    "q20": """SELECT B.auction, B.dateTime, B.bidder, B.price, B.channel, B.url, B.extra, A.dateTime AS auction_dateTime, A.itemName,
                A.description, A.initialBid, A.reserve, A.expires, A.seller, A.category, A.extra AS auction_extra
              FROM bid AS B INNER JOIN auction AS A ON B.auction = A.id WHERE A.category = 10""",
    "q21": """SELECT auction, bidder, price, channel,
                CASE WHEN lower(channel) = 'apple' THEN '0' WHEN lower(channel) = 'google' THEN '1'
                     WHEN lower(channel) = 'facebook' THEN '2' WHEN lower(channel) = 'baidu' THEN '3'
                     ELSE regexp_extract(url, '(&|^)channel_id=([^&]*)', 2) END AS channel_id
              FROM bid
              WHERE nullif(regexp_extract(url, '(&|^)channel_id=([^&]*)', 2), '') IS NOT NULL
                OR lower(channel) IN ('apple', 'google', 'facebook', 'baidu')""",
    "q22": """SELECT auction, bidder, price, channel, split_part(url, '/', 4) AS dir1, split_part(url, '/', 5) AS dir2,
                split_part(url, '/', 6) AS dir3 FROM bid""",
    "q23": """SELECT B.bidder, B.price, B.channel, B.url, B.extra, P.name, P.emailAddress, P.creditCard, P.city, P.state,
                P.extra AS person_extra, A.dateTime, A.itemName, A.description, A.initialBid, A.reserve, A.expires, A.category,
                A.extra AS auction_extra
              FROM bid AS B INNER JOIN person AS P ON P.id = B.bidder INNER JOIN auction AS A ON A.seller = B.bidder""",
    "cep0": MATCH.format("""
      MEASURES START_ROW.dateTime AS start_time, LAST(PRICE_DOWN.dateTime) AS bottom_time, LAST(PRICE_UP.dateTime) AS end_time
      ONE ROW PER MATCH AFTER MATCH SKIP TO LAST PRICE_UP PATTERN (START_ROW PRICE_DOWN+ PRICE_UP)
      DEFINE PRICE_DOWN AS PRICE_DOWN.price < coalesce(LAST(PRICE_DOWN.price, 1), START_ROW.price),
             PRICE_UP AS PRICE_UP.price > LAST(PRICE_DOWN.price)"""),
    "cep1": MATCH.format(CHEAP.format("PAST LAST ROW")),
    "cep2": MATCH.format(CHEAP.format("TO NEXT ROW")),
    "cep3": MATCH.format("""
      MEASURES C.dateTime AS drop_time, A.price - C.price AS drop_diff ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
      PATTERN (A B* C) WITHIN INTERVAL '5' SECOND DEFINE B AS B.price > A.price - 50, C AS C.price < A.price - 50"""),
}  # fmt: skip


CHEAP_ENDS = f"""{NUMBERED}, matches AS (
  SELECT a.auction, a.bidder, a.n AS first, a.total - a.price AS before, coalesce(min(b.n), max(z.n)) AS last
  FROM numbered a JOIN numbered z ON a.auction = z.auction AND a.bidder = z.bidder LEFT JOIN numbered b
    ON a.auction = b.auction AND a.bidder = b.bidder AND b.n > a.n AND b.total - a.total + a.price >= 10000 * (b.n - a.n + 1)
  WHERE a.price < 10000 GROUP BY ALL HAVING coalesce(min(b.n), max(z.n)) > a.n)"""

SOLD = """SELECT a.id, a.itemName, a.description, a.initialBid, a.reserve, a.expires, a.seller, a.category, a.extra, a.dateTime, b.price,
    b.dateTime, b.bidder, b.extra
  FROM auction a JOIN bid b ON a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires
  QUALIFY row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.dateTime, b.arrival) = 1"""

CHANGED = {
    "q9": {"latest_by": ("id",), "answer": SOLD},
    "cep1": {"answer": f"WITH RECURSIVE {CHEAP_ENDS}, {CHAINED} {CHEAP_ROWS.format(matches='chosen')}"},
    "cep2": {"answer": f"WITH {CHEAP_ENDS} {CHEAP_ROWS.format(matches='matches')}"},
}


def program(name: str, events: Stream) -> Stream:
    """The query of this name over the stream of all events."""
    views = {each: view(events, each).event_time("dateTime", DELAY) for each in VIEWS}
    side = session().range(10_000).selectExpr("id AS key", "CAST(id AS string) AS value")
    query: Stream = sql(TEXTS[name], **views, side_input=side)
    return query


QUERIES: Queries = {name: replace(PROGRAMS[name], program=partial(program, name), **CHANGED.get(name, {})) for name in TEXTS}  # type: ignore[arg-type]
