"""Calls of functions in an expression: aggregates, and those that a window or a ranking is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from headrace.fronts.sql.reading.tokens import Query, Token, Tokens, closing
from headrace.spark.session import session


@dataclass(frozen=True)
class Call:
    """`name(arguments)`, with FILTER and OVER behind it, from one place of an expression to another (exclusive)."""

    name: str
    start: int
    end: int
    tokens: list[Token]
    arguments: list[Token]
    filter: list[Token]
    over: list[Token] | None


def calls(tokens: Tokens, query: Query, wanted: Callable[[str, bool], bool]) -> Iterator[Call]:
    """The outermost calls that are wanted, by name and whether OVER follows."""
    i = 0
    while i < len(tokens):
        if tokens[i].kind == "word" and i + 1 < len(tokens) and tokens[i + 1].text == "(" and not (i and tokens[i - 1].text == "."):
            call = _call(tokens, i, query)
            if wanted(call.name, call.over is not None):
                yield call
                i = call.end
                continue
        i += 1


def _call(tokens: Tokens, at: int, query: Query) -> Call:
    close = closing(tokens, at + 1, query)
    end, over, filter = close + 1, None, []
    if end + 1 < len(tokens) and tokens[end].word == "FILTER" and tokens[end + 1].text == "(":
        last = closing(tokens, end + 1, query)
        filter, end = list(tokens[end + 2 : last]), last + 1
    if end < len(tokens) and tokens[end].word in ("IGNORE", "RESPECT") and end + 1 < len(tokens) and tokens[end + 1].word == "NULLS":
        end += 2
    if end + 1 < len(tokens) and tokens[end].word == "OVER":
        if tokens[end + 1].text == "(":
            last = closing(tokens, end + 1, query)
            over, end = list(tokens[end + 2 : last]), last + 1
        else:
            over, end = [tokens[end + 1]], end + 2
    return Call(tokens[at].word, at, end, list(tokens[at:end]), list(tokens[at + 2 : close]), filter, over)


def replaced(tokens: Tokens, query: Query, wanted: Callable[[str, bool], bool], by: Callable[[Call], Sequence[Token]]) -> list[Token]:
    """The expression with other tokens in the place of these calls."""
    result: list[Token] = []
    at = 0
    for call in calls(tokens, query, wanted):
        result += [*tokens[at : call.start], *by(call)]
        at = call.end
    return [*result, *tokens[at:]]


@cache
def is_aggregate(name: str) -> bool:
    """Whether Spark has an aggregate of this name, or the program has registered one."""
    spark = session()
    assert spark._jvm is not None
    identifier = spark._jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name.lower())
    try:
        return bool(spark._jsparkSession.sessionState().catalog().lookupFunctionInfo(identifier).getGroup() == "agg_funcs")
    except (PySparkException, Py4JJavaError):  # there is no such function, as Spark says better where it is used
        return False
