"""What the names of FROM stand for: a stream, a table, or something that waits to be used in one way or another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from headrace.fronts.sql.reading.tokens import Query, Token, Tokens, named
from headrace.fronts.sql.scopes import Scope
from headrace.fronts.sql.views import View, step
from headrace.fronts.sql.windows import Cut, assign
from headrace.fronts.stream import Stream
from headrace.io.tables import Table

if TYPE_CHECKING:
    from headrace.fronts.sql.ranking import Ranking


@dataclass
class Relation:
    """One of: a stream (cut into windows, or ranked, when it is known what for), a table, or tokens that Spark reads."""

    at: Token
    alias: str | None = None
    stream: Stream | None = None
    table: Callable[[], DataFrame] | None = None
    raw: list[Token] = field(default_factory=list)
    cut: Cut | None = None
    ranking: Ranking | None = None
    columns: list[Token] = field(default_factory=list)
    more: list[Token] = field(default_factory=list)

    @property
    def streaming(self) -> bool:
        return self.stream is not None or self.ranking is not None

    def rows(self, query: Query) -> Stream:
        """The stream, with the windows of each record if it is cut."""
        if self.ranking is not None:
            raise self.ranking.unused(query)
        assert self.stream is not None
        if self.more:
            at = self.more[0]
            start = [at.become("SELECT", "word"), at.become("*", "mark"), at.become("FROM", "word")]
            return step([*start, *self.tokens(query)], query)
        return self.stream if self.cut is None else assign(self.stream, self.cut, query)

    def tokens(self, query: Query) -> list[Token]:
        """Its place in a text for Spark."""
        if self.raw:
            return self.raw
        plain = replace(self, more=[])
        view = View.at(self.at, plain.rows(query) if self.streaming else self.table or (lambda: None))  # type: ignore[arg-type, return-value]
        alias = [] if self.alias is None else [self.at.become("AS", "word"), named(self.alias, self.at)]
        return [view, *alias, *self._column_list(), *self.more]

    def _column_list(self) -> list[Token]:
        if not self.columns:
            return []
        inner = [token for column in self.columns for token in (self.at.become(",", "mark"), column)][1:]
        return [self.at.become("(", "mark"), *inner, self.at.become(")", "mark")]

    def scope(self, stream: Stream) -> Scope:
        return Scope.of(self.alias, stream.columns)


Names = dict[str, Relation]


def of_argument(name: str, value: object) -> Relation | None:
    """What a program gave under a name; None if it is no relation."""
    at = Token(name, "word", 0, 0)
    if isinstance(value, Stream):
        return Relation(at, name, stream=value)
    if isinstance(value, Table):
        return Relation(at, name, table=value.open)
    if isinstance(value, DataFrame):
        return Relation(at, name, table=lambda: value)
    return None


def bound(tokens: Tokens, names: Names, query: Query) -> list[Token]:
    """An expression in which the relations of its subqueries are those that the query knows."""
    result: list[Token] = []
    inside = False
    for i, token in enumerate(tokens):
        inside |= token.word == "SELECT"
        before = tokens[i - 1].word if i else ""
        after = tokens[i + 1].text if i + 1 < len(tokens) else ""
        known = (
            names.get(token.name.lower()) if inside and token.is_name and before in ("FROM", "JOIN") and after not in (".", "(") else None
        )
        if known is None:
            result.append(token)
            continue
        if known.streaming:
            raise query.error(
                token, "a stream in a subquery would have to be looked through for each record",
                "join with it: LEFT SEMI JOIN … ON a.id = b.id AND b.at BETWEEN … for IN and EXISTS, LEFT ANTI JOIN for NOT IN",
            )  # fmt: skip
        view = View.at(token, known.table or (lambda: None))  # type: ignore[arg-type, return-value]
        aliased = i + 1 < len(tokens) and (tokens[i + 1].word == "AS" or (tokens[i + 1].is_name and tokens[i + 1].word not in _AFTER))
        result += [view, *([] if aliased else [token.become("AS", "word"), named(token.name, token)])]
    return result


_AFTER = {
    "WHERE",
    "GROUP",
    "ORDER",
    "HAVING",
    "LIMIT",
    "JOIN",
    "ON",
    "LEFT",
    "RIGHT",
    "INNER",
    "FULL",
    "CROSS",
    "UNION",
    "LATERAL",
    "WINDOW",
}
