"""What cannot be is refused where it is written: the error points at the word, and says what to write instead."""

from __future__ import annotations

import pytest
from tests.fronts.sql.answers import bids, ticker

import headrace as hr
from headrace.errors import QueryError

pytestmark = pytest.mark.usefixtures("spark")

CASES = {  # the query with a mark before the word, the beginning of what is said, and a part of the fix
    "a column": ("SELECT ^prise FROM bids", "there is no column 'prise'", "price"),
    "a column of an aggregate": ("SELECT item, max(^prise) FROM bids GROUP BY item", "there is no column 'prise'", "price"),
    "a stream": ("SELECT *\nFROM ^bid", "there is no table or view", "hr.sql(…, clicks=stream)"),
    "a function": ("SELECT ^bang(price) FROM bids", "there is no function", ""),
    "a word of SQL": ("SELECT item ^FORM bids", "FORM is no word of SQL", "did you mean FROM?"),
    "a word of SQL behind a name like one": ("SELECT price AS orders ^FORM bids", "FORM is no word of SQL", "did you mean FROM?"),
    "a border of another window": (
        "SELECT ^TUMBLE_START(at, '5 minutes') FROM bids GROUP BY TUMBLE(at, '10 minutes')",
        "TUMBLE_START is a border of the window in GROUP BY", "GROUP BY TUMBLE(at, …)",
    ),
    "rows without their window": ("SELECT sum(price) OVER ^w AS s FROM bids", "there is no window w", "WINDOW w AS"),
    "syntax of an expression": ("SELECT (price + ^) AS p FROM bids", "", "expressions are Spark's SQL"),
    "two statements": ("SELECT 1 FROM bids^; SELECT 2 FROM bids", "there is more than one statement", "a call of its own"),
    "a rank without a bound": (
        "SELECT *, ^ROW_NUMBER() OVER (PARTITION BY item ORDER BY at) AS rn FROM bids", "the ranks of a stream change", "WHERE rn <= 10",
    ),
    "the worst": (
        "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY at) AS rn FROM bids) WHERE ^rn > 3",
        "of a rank one can ask for the best", "rn <= 10",
    ),
    "a rank that is not shown": (
        "SELECT item FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY at) AS ^rn FROM bids) WHERE rn <= 2",
        "a row of the best may fall out again", "select rn",
    ),
    "a window without its end": (
        "SELECT count(*) FROM TUMBLE(bids, '1 minute') ^GROUP BY window_start",
        "the rows are cut into windows", "GROUP BY window_start, window_end",
    ),
    "no duration": ("SELECT * FROM TUMBLE(bids, at, ^10)", "an argument is no duration", "INTERVAL '10' SECOND"),
    "a slide that is too long": ("SELECT * FROM ^HOP(bids, '10 minutes', '1 minute')", "sliding: the slide", "the length first"),
    "a time that is not known": (
        "SELECT count(*) FROM ^TUMBLE(lines, '1 minute') GROUP BY window_start, window_end",
        "it is not known which column is the time", "DESCRIPTOR",
    ),
    "EMIT without a window": ("SELECT item FROM bids ^EMIT FINAL", "EMIT says when a window puts out rows", "output_mode"),
    "EMIT in other words": (
        "SELECT count(*) FROM TUMBLE(bids, '1 minute') GROUP BY window_start, window_end EMIT ^EARLY SOMETIMES",
        "EMIT does not know this", "EMIT FINAL",
    ),
    "UNION without ALL": ("SELECT item FROM bids ^UNION SELECT item FROM bids", "UNION would have to compare", "UNION ALL"),
    "a join without keys": ("SELECT 1 FROM bids a ^JOIN lines b ON a.price > b.n", "two streams are joined without", "ON a.id = b.id"),
    "a sink": ("INSERT INTO ^nowhere SELECT item FROM bids", "there is no sink 'nowhere'", "kafka.topic"),
    "LEAD": (
        "SELECT ^LEAD(price) OVER (PARTITION BY item ORDER BY at) AS next FROM bids", "LEAD looks at records that have not come", "LAG",
    ),
    "a stream in a subquery": (
        "SELECT item FROM bids WHERE at IN (SELECT at FROM ^lines)", "a stream in a subquery would have", "LEFT SEMI JOIN",
    ),
    "several groupings of a window": (
        "SELECT count(*) FROM TUMBLE(bids, '1 minute') GROUP BY ^ROLLUP(item), window_start, window_end",
        "a window has one grouping", "UNION ALL",
    ),
    "a window that is misspelt": ("SELECT * FROM ^TUMBL(bids, '1 minute')", "there is no function TUMBL", "did you mean TUMBLE?"),
    "a join that may wait for ever": (
        "SELECT price FROM bids ^LEFT JOIN lines ON bids.price = lines.n", "a LEFT JOIN of two streams needs a bound of time", "BETWEEN",
    ),
    "text as a number": ("SELECT sum(^item) FROM bids", "sum(item) reads the text item as DOUBLE", "try_cast(item AS DOUBLE)"),
    "a condition that is none": ("SELECT item FROM bids ^WHERE price", "Cannot resolve", "amount > 3"),
    "a comma too many": ("SELECT item^, FROM bids", "SELECT has a comma too many", "leave it out"),
    "an order that is no time": (
        "SELECT sum(price) OVER (PARTITION BY item ORDER BY ^price) AS s FROM bids", "a stream is ordered by its event time", "ORDER BY at",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_cannot_be_is_refused_at_the_word(name: str) -> None:
    marked, what, fix = CASES[name]
    query, place = marked.replace("^", ""), marked.index("^")
    with pytest.raises(QueryError) as raised:
        hr.sql(query, bids=bids(), lines=hr.read.memory("n int, at timestamp"))
    error = raised.value
    before = query[:place]
    assert (error.line, error.column) == (before.count("\n") + 1, place - before.rfind("\n"))
    assert error.what.removeprefix("sql: ").startswith(what)
    assert fix in error.fix
    assert error.where is not None
    assert error.where.startswith(__file__)


MATCH = "SELECT * FROM ticker MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY at {})"
PATTERNS = {
    "the last row": ("MEASURES A.price AS p PATTERN (A ^$)", "$ is the last row of a partition", "WITHIN"),
    "the first row": ("MEASURES A.price AS p PATTERN (^^ A)", "^ is the first row of a partition", "leave it out"),
    "a row to come": (
        "MEASURES A.price AS p PATTERN (A) DEFINE A AS ^NEXT(price) > 1",
        "NEXT looks at a row that has not come",
        "LAST(A.x, 1)",
    ),
    "unmatched rows": (
        "MEASURES CLASSIFIER() AS c ALL ROWS ^PER MATCH WITH UNMATCHED ROWS PATTERN (A)",
        "rows in no match",
        "ONE ROW PER MATCH",
    ),
    "running measures": ("MEASURES sum(price) AS ^s ALL ROWS PER MATCH PATTERN (A)", "in ALL ROWS PER MATCH a measure is running", "FINAL"),
    "numbers": ("MEASURES ^MATCH_NUMBER() AS n PATTERN (A)", "matches are not numbered", "where they are read"),
    "no rows": ("MEASURES count(*) AS n PATTERN (A*)", "match: the pattern also fits no rows", "A+"),
    "a variable": ("MEASURES A.price AS p PATTERN (A) DEFINE ^B AS price > 1", "the pattern has no variable B", "A"),
    "a column": ("MEASURES A.price AS p PATTERN (A) DEFINE A AS ^prise > 1", "", ""),
    "a skip": ("MEASURES A.price AS p AFTER MATCH SKIP TO LAST ^B PATTERN (A)", "the pattern has no variable B", "A"),
    "an unknown skip": ("MEASURES A.price AS p AFTER MATCH ^SKIP TWICE PATTERN (A)", "AFTER MATCH does not know this", "PAST LAST ROW"),
    "a union": ("MEASURES A.price AS p PATTERN (A) SUBSET ^U = (A, B)", "the pattern has no variable B", "A"),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_that_cannot_be_is_refused_at_the_word(name: str) -> None:
    marked, what, fix = PATTERNS[name]
    whole = MATCH.format(marked)
    place = whole.find("^")
    query = whole if place < 0 else whole[:place] + whole[place + 1 :]
    with pytest.raises(QueryError) as raised:
        hr.sql(query, ticker=ticker([1]))
    if place >= 0:
        assert raised.value.column == place + 1
    assert raised.value.what.removeprefix("sql: ").startswith(what)
    assert fix in raised.value.fix


def test_what_is_neither_stream_nor_table_is_refused() -> None:
    with pytest.raises(hr.errors.DefinitionError, match="bids=5 is neither a stream nor a table"):
        hr.sql("SELECT * FROM bids", bids=5)
