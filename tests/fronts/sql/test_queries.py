"""Queries over streams, and their answers: the same as a batch and as a stream that ends."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.fronts.sql.answers import answer, at, bids

import headrace as hr

pytestmark = pytest.mark.usefixtures("spark")

TUMBLE = "TABLE(TUMBLE(TABLE bids, DESCRIPTOR(at), INTERVAL '10' MINUTE))"

WINDOWS: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "tumbling": (
        f"SELECT window_start, window_end, SUM(price) FROM {TUMBLE} GROUP BY window_start, window_end",
        [(0.0, 10.0, 11), (10.0, 20.0, 10)],
    ),
    "tumbling, from another minute on": (
        "SELECT window_start, SUM(price) FROM TUMBLE(bids, at, '10 minutes', '1 minute') GROUP BY window_start, window_end",
        [(1.0, 11), (11.0, 10)],
    ),
    "sliding": (
        """SELECT window_start, SUM(price) FROM TABLE(HOP(TABLE bids, DESCRIPTOR(at), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES))
           GROUP BY window_start, window_end""",
        [(0.0, 11), (10.0, 10), (15.0, 6), (5.0, 15)],
    ),
    "cumulating": (
        """SELECT window_end, SUM(price) FROM TABLE(CUMULATE(TABLE bids, DESCRIPTOR(at), INTERVAL '2' MINUTES, INTERVAL '10' MINUTES))
           GROUP BY window_start, window_end""",
        [(10.0, 11), (12.0, 3), (14.0, 4), (16.0, 4), (18.0, 10), (20.0, 10), (6.0, 4), (8.0, 6)],
    ),
    "sessions, grouped as in Spark": (
        "SELECT session_window.start, session_window.end, count(*) FROM bids GROUP BY session_window(at, '3 minutes') EMIT FINAL",
        [(17.0, 20.0, 1), (5.0, 16.0, 5)],
    ),
    "windows as Flink grouped by them before": (
        """SELECT HOP_START(at, INTERVAL '5' MINUTES, INTERVAL '10' MINUTES) AS s, HOP_END(at, INTERVAL '5' MINUTES, INTERVAL '10' MINUTES),
             sum(price) FROM bids GROUP BY HOP(at, INTERVAL '5' MINUTES, INTERVAL '10' MINUTES)""",
        [(0.0, 10.0, 11), (10.0, 20.0, 10), (15.0, 25.0, 6), (5.0, 15.0, 15)],
    ),
    "windows as in Spark, with what is computed of aggregates": (
        """SELECT window.end AS e, sum(b.price) / count(*) AS mean FROM bids AS b WHERE b.price > 1
           GROUP BY window(b.at, '10 minutes') HAVING count(DISTINCT item) < 3""",
        [(20.0, 4.5)],
    ),
    "keys that are computed, by their number and by their alias": (
        f"""SELECT price > 3 AS high, upper(item) IN ('A', 'B') AS early, count(*) AS n FROM {TUMBLE}
            GROUP BY window_start, window_end, 1, early""",
        [(False, False, 1), (False, True, 1), (False, True, 1), (True, False, 1), (True, False, 2)],
    ),
    "windows of windows": (
        f"""SELECT window_end, max(n) FROM (SELECT price % 2 AS odd, window_start, window_end, count(*) AS n FROM {TUMBLE}
            GROUP BY window_start, window_end, price % 2) GROUP BY window_start, window_end""",
        [(10.0, 2), (20.0, 2)],
    ),
    "some records of some windows": (
        f"SELECT window_end, count(*) FROM {TUMBLE} WHERE price > 3 AND hour(window_end) = 8 AND minute(window_end) = 10 "
        "GROUP BY window_start, window_end",
        [(10.0, 2)],
    ),
    "the rows of a window": (
        f"SELECT item, window_start FROM {TUMBLE} WHERE price > 4",
        [("D", 0.0), ("F", 10.0)],
    ),
    "the best of a window, ties by arrival": (
        f"""SELECT window_end, item, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY price DESC) AS rn
            FROM {TUMBLE}) WHERE rn <= 2""",
        [(10.0, "C", 2), (10.0, "D", 1), (20.0, "B", 2), (20.0, "F", 1)],
    ),
    "the last of each window": (
        f"""SELECT item FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY at DESC) AS rn FROM {TUMBLE})
            WHERE rn = 1""",
        [("D",), ("F",)],
    ),
    "what is known at each record": (
        """SELECT item, SUM(price) OVER (PARTITION BY 1 ORDER BY at) AS total, LAG(price) OVER (PARTITION BY 1 ORDER BY at) AS before,
             MAX(price) OVER two AS two,
             COUNT(*) OVER (PARTITION BY 1 ORDER BY at RANGE BETWEEN INTERVAL '3' MINUTES PRECEDING AND CURRENT ROW) AS recent
           FROM bids WHERE item > 'A'
           WINDOW two AS (PARTITION BY 1 ORDER BY at ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)""",
        [("B", 12, 5, 5, 2), ("C", 4, None, 4, 1), ("D", 9, 4, 5, 1), ("E", 13, 3, 3, 2), ("F", 19, 1, 6, 1)],
    ),
    "rows by one name in two queries": (
        """SELECT item, MAX(price) OVER w AS top, before FROM (
             SELECT item, price, at, LAG(price) OVER w AS before FROM bids WINDOW w AS (PARTITION BY price % 2 ORDER BY at))
           WINDOW w AS (PARTITION BY 1 ORDER BY at)""",
        [("A", 4, 4), ("B", 5, 5), ("C", 4, None), ("D", 5, None), ("E", 5, 3), ("F", 6, 2)],
    ),
    "a query that is named before": (
        f"""WITH totals AS (SELECT window_end, sum(price) AS total FROM {TUMBLE} GROUP BY window_start, window_end)
            SELECT * FROM totals WHERE total > 10""",
        [(10.0, 11)],
    ),
    "a rank that is named before": (
        f"""WITH ranked AS (
              SELECT item, RANK() OVER (PARTITION BY window_start, window_end ORDER BY price % 2, price) AS place FROM {TUMBLE})
            SELECT r.item AS best FROM ranked AS r WHERE r.place = 1 AND r.item <> 'X'""",
        [("A",), ("F",)],
    ),
    "rows of lists": (
        "SELECT b.item, t.n FROM bids b LATERAL VIEW explode(sequence(1, b.price)) t AS n WHERE t.n > 5 AND b.price IN (6, 5)",
        [("F", 6)],
    ),
    "two queries as one": (
        "SELECT item AS what FROM bids WHERE price > 5 UNION ALL SELECT lower(item) FROM bids WHERE price < 2",
        [("F",), ("e",)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WINDOWS)
def test_a_query_has_this_answer(name: str) -> None:
    query, expected = WINDOWS[name]
    assert answer(query, bids=bids()) == expected


@pytest.mark.parametrize(
    "name", ["windows of windows", "the best of a window, ties by arrival", "what is known at each record", "a query that is named before"]
)
def test_a_stream_has_the_same_answer(name: str) -> None:
    query, expected = WINDOWS[name]
    assert answer(query, "micro-batch", bids=bids()) == expected


def orders() -> dict[str, Any]:
    made = hr.read.memory("id int, at timestamp", [(1, at(0)), (2, at(5)), (3, at(9))]).event_time("at", "1 minute")
    paid = hr.read.memory("order_id int, at timestamp, amount int", [(1, at(2), 10), (2, at(20), 20), (3, at(9), 7)])
    return {"orders": made, "payments": paid.event_time("at", "1 minute")}


BETWEEN = "p.order_id = o.id AND p.at BETWEEN o.at AND o.at + INTERVAL '10' MINUTES"
JOINS: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "within a time": (f"SELECT o.id, p.amount, p.at FROM orders o JOIN payments p ON {BETWEEN}", [(1, 10, 2.0), (3, 7, 9.0)]),
    "by WHERE": (
        """SELECT o.id FROM orders o, payments p
           WHERE p.order_id = o.id AND p.at > o.at AND o.at >= p.at - INTERVAL 3 MINUTES AND amount > 3""",
        [(1,)],
    ),
    "all columns": (
        f"SELECT * FROM orders o LEFT JOIN payments p ON {BETWEEN} WHERE o.id < 3", [(1, 0.0, 1, 2.0, 10), (2, 5.0, None, None, None)],
    ),
    "those that are not paid in time": (f"SELECT o.id FROM orders o LEFT ANTI JOIN payments p ON {BETWEEN}", [(2,)]),
    "for ever": ("SELECT o.id, amount FROM orders o JOIN payments p ON p.order_id = o.id WHERE amount > 7", [(1, 10), (2, 20)]),
    "by a column that both have": (
        "SELECT id, amount FROM orders JOIN (SELECT order_id AS id, amount FROM payments) AS p USING (id) WHERE amount < 20",
        [(1, 10), (3, 7)],
    ),
    "three of them": (
        """SELECT o.id, p.amount, again.at FROM orders o JOIN payments p ON p.order_id = o.id JOIN orders again ON again.id = p.order_id
           WHERE o.id = 3""",
        [(3, 7, 9.0)],
    ),
    "as of a time": (
        "SELECT p.order_id, o.at FROM payments p JOIN orders FOR SYSTEM_TIME AS OF p.at AS o ON o.id = p.order_id",
        [(1, 0.0), (2, 5.0), (3, 9.0)],
    ),
    "of one window": (
        """SELECT o.id, p.amount, o.window_start FROM TUMBLE(orders, '10 minutes') AS o JOIN TUMBLE(payments, '10 minutes') AS p
           ON o.id = p.order_id AND o.window_start = p.window_start AND o.window_end = p.window_end""",
        [(1, 10, 0.0), (3, 7, 0.0)],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "mode"), [*((name, "batch") for name in JOINS), *((name, "micro-batch") for name in list(JOINS)[:3])])
def test_two_streams_are_joined(name: str, mode: str) -> None:
    query, expected = JOINS[name]
    assert answer(query, mode, **orders()) == expected


def test_tables_are_joined_and_asked_for_by_name(spark: SparkSession) -> None:
    names = spark.createDataFrame([(1, "one"), (2, "two")], "id int, name string")
    query = "SELECT o.id, n.name FROM orders o JOIN names n ON n.id = o.id WHERE o.id IN (SELECT id FROM names WHERE name = 'two')"
    assert answer(query, names=names, **orders()) == [(2, "two")]
    both = (
        "SELECT o.id, n.name, p.amount FROM orders o JOIN names n ON n.id = o.id JOIN payments p ON p.order_id = o.id AND n.id = p.order_id"
    )
    assert answer(both, names=names, **orders()) == [(1, "one", 10), (2, "two", 20)]


def test_a_rank_over_all_records_is_a_table_by_key_and_rank() -> None:
    query = (
        "SELECT item, rn FROM (SELECT item, ROW_NUMBER() OVER (PARTITION BY price > 3 ORDER BY price DESC) AS rn FROM bids) WHERE rn <= 2"
    )
    stream = hr.sql(query, bids=bids())
    assert stream.columns == ["item", "rn"]
    last = {(item > "B" and item != "E", rn): item for item, rn in [(row.item, row.rn) for row in stream.head(100)]}
    assert last == {(True, 1): "F", (True, 2): "D", (False, 1): "B", (False, 2): "A"}


def test_qualify_is_a_query_around() -> None:
    query = "SELECT item, price FROM bids QUALIFY ROW_NUMBER() OVER (PARTITION BY price % 2 ORDER BY price) = 1"
    assert {row.item for row in hr.sql(query, bids=bids()).head(100)} >= {"A", "E"}


def test_qualify_knows_a_rank_by_its_name() -> None:
    stream = hr.sql(
        "SELECT item, ROW_NUMBER() OVER (PARTITION BY price % 2 ORDER BY price) AS place FROM bids QUALIFY place <= 1", bids=bids()
    )
    assert {(row.item, row.place) for row in stream.head(100)} >= {("A", 1), ("E", 1)}


def test_emit_changes_is_a_pane_for_each_record() -> None:
    query = """SELECT window_end, pane.timing AS timing, count(*) AS n FROM TUMBLE(bids, '10 minutes')
               GROUP BY window_start, window_end EMIT CHANGES"""
    expected = [(end, timing, n) for end in (10.0, 20.0) for timing, n in (("early", 1), ("early", 2), ("early", 3), ("on_time", 3))]
    assert answer(query, bids=bids()) == sorted(expected, key=str)


def test_different_values_are_counted_as_they_come() -> None:
    query = "SELECT price > 3 AS high, count(DISTINCT item) AS items, count(*) AS n FROM bids GROUP BY price > 3"
    rows = hr.sql(query, bids=bids()).head(100)
    assert {row.high: (row.items, row.n) for row in rows} == {True: (3, 3), False: (3, 3)}


def test_a_window_of_the_clock_needs_no_column() -> None:
    stream = hr.sql("SELECT window_start, count(*) AS n FROM TUMBLE(lines, proctime(), '10 seconds') GROUP BY window_start, window_end",
                    lines=hr.read.memory("line string"))  # fmt: skip
    assert repr(stream) == "Stream[window_start: timestamp, n: bigint]"


def test_insert_into_gives_an_output() -> None:
    written = hr.sql("INSERT INTO memory.dear SELECT item FROM bids WHERE price > 4", bids=bids())
    mine = hr.sql("INSERT INTO dear SELECT item FROM bids WHERE price > 4", bids=bids(), dear=lambda rows: rows.to.memory("mine"))
    assert (written.name, mine.name) == ("dear", "mine")
    hr.Job("dear", written, mine).run("batch")
    assert [row.item for row in written.sink.rows] == ["D", "F"] == [row.item for row in mine.sink.rows]


def test_late_records_of_a_window_stay_to_be_had() -> None:
    stream = hr.sql("SELECT count(*) AS n FROM TUMBLE(bids, '10 minutes') GROUP BY window_start, window_end", bids=bids())
    assert stream.late.columns[:3] == ["price", "item", "at"]
