"""ROW_NUMBER() and RANK() OVER (PARTITION BY … ORDER BY …), with a condition on the number around it: the best of each key.

    SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rn FROM bid) WHERE rn <= 10

The number alone would need all records of the stream; with `rn <= 10` ten rows of a key are kept. n = 1 drops duplicates: the first or, by
a descending time, the last of each key. Rows of a window (the partition has `window_end`) come once, when it is over. Others come whenever
they change, a table by key and rank of which the last row counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DateType, NumericType, TimestampNTZType, TimestampType

from headrace.errors import QueryError
from headrace.fronts.sql.reading.calls import Call, calls
from headrace.fronts.sql.reading.syntax import Item, Select
from headrace.fronts.sql.reading.tokens import Query, Token, Tokens, named, split
from headrace.fronts.sql.windows import ENDS
from headrace.fronts.stream import Stream
from headrace.kernel.event_time import EXCLUSIVE
from headrace.ops.ranking import RANK

IDENTITY = "headrace.identity"
"""What is noted at the columns that say which row of a table this is, of which the last one counts: how many such columns there are."""

RANKS = ("ROW_NUMBER", "RANK", "DENSE_RANK")


def is_rank(name: str, over: bool) -> bool:
    return over and name in RANKS


def ranked_item(select: Select, query: Query) -> tuple[Item, Call] | None:
    """The column of SELECT that is a rank."""
    for item in select.items:
        for call in calls(item.tokens, query, is_rank):
            if len(call.tokens) != len(item.tokens) or item.alias is None:
                raise query.error(item.tokens, "a rank is a column of its own, with a name", "write ROW_NUMBER() OVER (…) AS rn")
            if call.name == "DENSE_RANK":
                raise query.error(call.tokens[0], "of DENSE_RANK one cannot say how many rows it keeps", "use RANK() or ROW_NUMBER()")
            return item, call
    return None


@dataclass(frozen=True)
class Ranking:
    """A stream that is to be ranked: `keys` and `order` are columns of it that were added for that; `timed`: and its time, the last one."""

    stream: Stream
    name: Token
    call: Call
    keys: list[str]
    order: list[tuple[str, bool]]
    timed: bool = False

    def unused(self, query: Query) -> QueryError:
        return query.error(
            self.call.tokens[0], "the ranks of a stream change with each record, unless it is known how many rows are wanted",
            f"say so in the query around it: WHERE {self.name.name} <= 10",
        )  # fmt: skip

    def best(self, n: int, query: Query, *, shown: bool) -> Stream:
        """The rows whose rank is at most n; `shown`: with the rank, under its name."""
        own = self.stream.columns[: len(self.stream.columns) - len(self.keys) - len(self.order) - self.timed]
        ends = [key for key in self.keys if {EXCLUSIVE, ENDS} & self.stream.schema[key].metadata.keys()]
        ties = self.call.name == "RANK"
        if not ends and n > 1 and not shown:
            raise query.error(
                self.name, "a row of the best may fall out again, and without its rank it is not known which it was",
                f"select {self.name.name}, too: the result is then a table by key and rank, of which the last row counts",
            )  # fmt: skip
        if not ends and ties:
            raise query.error(
                self.call.tokens[0], "with RANK() one rank may have several rows, so that a change does not say which it replaces",
                "use ROW_NUMBER(), or rank the rows of a window: PARTITION BY window_start, window_end",
            )  # fmt: skip
        by, ascending = self._order(query)
        keyed = self.stream.key_by(*self.keys)
        with query.pointing(self.call.tokens):
            best = keyed.top(n, by=by, ascending=ascending, ties=ties, rank=shown or not ends, **({"at": ends[0]} if ends else {}))
        identity = self._identity(own, query) if shown and not ends else []
        mark = {IDENTITY: len(identity) + 1} if identity else {}
        columns = [
            F.col(f"`{column}`").alias(column, metadata={**best.schema[column].metadata, **(mark if column in identity else {})})
            for column in own
        ]
        rank = [F.col(RANK).alias(self.name.name, metadata=mark)] if shown else []
        return Stream(best.select(*columns, *rank).step, best._ports)

    def _identity(self, own: list[str], query: Query) -> list[str]:
        """The columns that are the keys; none if one of the keys is no column of the result."""
        keys = [tokens[-1].name.lower() for tokens in partition_and_order(self.call, query)[0] if len(tokens) in (1, 3)]
        columns = [column for column in own if column.lower() in keys]
        return columns if len(columns) == len(self.keys) else []

    def _order(self, query: Query) -> tuple[Column | str, bool]:
        directions = {ascending for _, ascending in self.order}
        columns = [F.col(name) for name, _ in self.order]
        if len(self.order) == 1:
            return columns[0], self.order[0][1]
        if len(directions) == 1:
            return F.struct(*columns), directions.pop()
        ascending = self.order[0][1]
        turned = [column if up == ascending else self._turned(name, query) for column, (name, up) in zip(columns, self.order, strict=True)]
        return F.struct(*turned), ascending

    def _turned(self, name: str, query: Query) -> Column:
        """A value that is the greater, the smaller this one is."""
        kind = self.stream.schema[name].dataType
        if isinstance(kind, NumericType):
            return -F.col(name)
        if isinstance(kind, BooleanType):
            return ~F.col(name)
        if isinstance(kind, TimestampType | TimestampNTZType | DateType):
            return -F.unix_micros(F.col(name).cast("timestamp"))
        raise query.error(
            self.call.over or self.call.tokens, "ORDER BY goes up and down, by columns that are no numbers and no times",
            "order all columns in one direction",
        )  # fmt: skip


def partition_and_order(call: Call, query: Query) -> tuple[list[list[Token]], list[tuple[list[Token], bool]], list[Token]]:
    """PARTITION BY, ORDER BY (with whether it ascends) and the frame of OVER (…)."""
    over = call.over or []
    if len(over) == 1:
        raise query.error(over, f"there is no window {over[0].text}", f"name it: WINDOW {over[0].text} AS (PARTITION BY … ORDER BY …)")
    places = {token.word: i for i, token in reversed(list(enumerate(over))) if token.word in ("PARTITION", "ORDER", "ROWS", "RANGE")}
    ends = sorted([*places.values(), len(over)])

    def part(word: str, skip: int) -> list[Token]:
        if word not in places:
            return []
        at = places[word]
        return over[at + skip : next(end for end in ends if end > at)]

    keys = [each for each in split(part("PARTITION", 2)) if each]
    order = []
    for each in (each for each in split(part("ORDER", 2)) if each):
        plain = (
            [token for token in each if token.word not in ("NULLS", "FIRST", "LAST")] if each[-2:-1] and each[-2].word == "NULLS" else each
        )
        if plain[-1].word in ("ASC", "DESC"):
            order.append((plain[:-1], plain[-1].word == "ASC"))
        else:
            order.append((plain, True))
    frame = part("ROWS", 0) or part("RANGE", 0)
    if not keys:
        raise query.error(call.tokens[0], "there is no PARTITION BY", "add it; for all rows of the stream together: PARTITION BY 1")
    if not order:
        raise query.error(call.tokens[0], "there is no ORDER BY", "say by what: ORDER BY price DESC")
    return keys, order, frame


def limit(tokens: Tokens, name: str, query: Query) -> tuple[int, list[Token]] | None:
    """How many rows a condition on the rank keeps, and the condition without it."""
    parts = split(tokens, "AND")
    for i, part in enumerate(parts):
        plain = part[2:] if len(part) == 5 and part[1].text == "." else part
        if len(plain) != 3:
            continue
        left, mark, right = plain
        if right.is_name and left.kind == "number":
            left, right, mark = right, left, mark.become({"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(mark.text, mark.text))
        if not left.is_name or left.name.lower() != name.lower() or right.kind != "number" or not right.text.isdigit():
            continue
        number = int(right.text)
        n = {"<=": number, "<": number - 1, "=": number if number == 1 else 0}.get(mark.text, 0)
        if n < 1:
            raise query.error(part, "of a rank one can ask for the best: up to a number", f"write {name} <= 10, or {name} = 1")
        rest = [token for j, each in enumerate(parts) if j != i for token in (mark.become("AND", "word"), *each)][1:]
        return n, rest
    return None


def mentions(tokens: Tokens, name: str) -> bool:
    return any(token.is_name and token.name.lower() == name.lower() for token in tokens)


def hidden(prefix: str, expressions: list[list[Token]], at: Token) -> list[Token]:
    """Columns that are added to a SELECT."""
    return [
        token
        for i, expression in enumerate(expressions)
        for token in (at.become(",", "mark"), *expression, at.become("AS", "word"), named(f"{prefix}{i}", at))
    ]
