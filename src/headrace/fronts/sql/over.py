"""Aggregates OVER (PARTITION BY … ORDER BY time …): what is known of a key at each record, as features.

| frame                                                            | feature                                      |
|------------------------------------------------------------------|----------------------------------------------|
| none, or `ROWS`/`RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW` | `running(…, inclusive=True)`               |
| `ROWS BETWEEN 9 PRECEDING AND CURRENT ROW`                       | `last_n(10, …, inclusive=True)`              |
| `RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW`      | `within("1 hour", …, inclusive=True)`        |
| `LAG(x)`                                                         | `previous("x")`                              |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import functions as F

from headrace.fronts.sql.ranking import hidden, partition_and_order
from headrace.fronts.sql.reading.calls import Call, calls, is_aggregate, replaced
from headrace.fronts.sql.reading.durations import duration
from headrace.fronts.sql.reading.syntax import Item, Select
from headrace.fronts.sql.reading.tokens import Query, Token, named, same, shown, split, text
from headrace.fronts.sql.scopes import Scope
from headrace.fronts.sql.views import View, step
from headrace.fronts.stream import Stream
from headrace.kernel.event_time import time_columns
from headrace.ops.features import Feature, last_n, previous, running, within


def is_over(_: str, over: bool) -> bool:
    return over


def has_over(select: Select, query: Query) -> bool:
    return any(True for item in select.items for _ in calls(item.tokens, query, is_over))


def features(select: Select, stream: Stream, scope: Scope, query: Query) -> Stream:
    """SELECT with such aggregates, over a stream that WHERE has been asked of."""
    all_calls = [call for item in select.items for call in calls(scope.plain(item.tokens), query, is_over)]
    first = all_calls[0]
    keys, order, _ = partition_and_order(first, query)
    for other in all_calls[1:]:
        theirs = partition_and_order(other, query)
        if not (_alike(keys, theirs[0]) and _alike([column for column, _ in order], [column for column, _ in theirs[1]])):
            raise query.error(
                other.over or other.tokens, "all OVER (…) of a query have the same PARTITION BY and ORDER BY, of which one state is kept",
                "compute the other in a query around this one",
            )  # fmt: skip
    time = _time(order, stream, query)
    at = select.first
    keyed = step([at, at.become("*", "mark"), *hidden("_key", keys, at), at.become("FROM", "word"), View.at(at, stream)], query)
    names = [f"_over{i}" for i in range(len(all_calls))]
    wanted: dict[str, Any] = {}
    for name, call in zip(names, all_calls, strict=True):
        with query.pointing(call.tokens):
            wanted[name] = _feature(call, query)
    with query.pointing(first.tokens):
        known = keyed.key_by(*(f"_key{i}" for i in range(len(keys)))).with_features(event_time=time, **wanted)
    rest = iter(names)
    items = [_item(item, scope, stream, query, rest) for item in select.items]
    listed = [token for item in items for token in (at.become(",", "mark"), *item)][1:]
    tail = [token for name in ("ORDER", "LIMIT", "OFFSET") for token in scope.plain(select.clause(name))]
    result = step([at, *select.modifiers, *listed, at.become("FROM", "word"), View.at(at, known), *tail], query)
    return Stream(result.step, known._ports)


def _item(item: Item, scope: Scope, stream: Stream, query: Query, names: object) -> list[Token]:
    if len(item.tokens) == 1 and item.tokens[0].text == "*":
        return [token for i, name in enumerate(stream.columns) for token in (item.tokens[0].become(","), named(name, item.tokens[0]))][1:]
    plain = scope.plain(item.tokens)
    changed = replaced(plain, query, is_over, lambda call: [named(next(names), call.tokens[0])])  # type: ignore[call-overload]
    name = item.name or shown(item.tokens, query)
    return [*changed, item.tokens[0].become("AS", "word"), named(name, item.alias or item.tokens[-1])]


def _alike(one: Sequence[list[Token]], other: Sequence[list[Token]]) -> bool:
    return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))


def _time(order: list[tuple[list[Token], bool]], stream: Stream, query: Query) -> str:
    column, ascending = order[0]
    times = time_columns(stream.step.preview)
    if len(order) != 1 or not ascending or len(column) not in (1, 3) or column[-1].name not in times:
        raise query.error(
            column, "a stream is ordered by its event time, ascending",
            f"write ORDER BY {times[0]}" if times else 'declare it where the stream is made: stream.event_time("at", "10 seconds")',
        )  # fmt: skip
    return column[-1].name


def _feature(call: Call, query: Query) -> Feature:
    _, _, frame = partition_and_order(call, query)
    if call.name == "LAG":
        parts = split(call.arguments)
        if len(parts) > 1 and (len(parts) > 2 or text(parts[1]) != "1"):
            raise query.error(call.arguments, "LAG goes back one record", "write LAG(x)")
        return previous(F.expr(text(parts[0])))
    if call.name == "LEAD":
        raise query.error(call.tokens[0], "LEAD looks at records that have not come", "use LAG, and look at the record before")
    if not is_aggregate(call.name):
        raise query.error(
            call.tokens[0], f"{call.name} of all rows of a stream has no end", "use an aggregate, LAG, or ROW_NUMBER with a bound"
        )
    end = next((i for i, token in enumerate(call.tokens) if token.word == "OVER"), len(call.tokens))
    aggregate = F.expr(text(call.tokens[:end]))
    words = [token.word for token in frame]
    if words[1:2] == ["BETWEEN"]:
        low, high = split(frame[2:], "AND")
        if [token.word for token in high] != ["CURRENT", "ROW"]:
            raise query.error(high, "a frame of a stream ends with the record at hand", "write … AND CURRENT ROW")
        frame = [frame[0], *low]
        words = [token.word for token in frame]
    if not frame or words[1:] == ["UNBOUNDED", "PRECEDING"]:
        return running(aggregate, inclusive=True)
    if words[0] == "ROWS" and len(words) == 3 and frame[1].text.isdigit():
        return last_n(int(frame[1].text) + 1, aggregate, inclusive=True)
    if words[0] == "RANGE" and words[-1] == "PRECEDING":
        return within(duration(frame[1:-1], query, "the frame"), aggregate, inclusive=True)
    raise query.error(
        frame, "this frame is not known", "write ROWS BETWEEN 9 PRECEDING AND CURRENT ROW, or RANGE BETWEEN INTERVAL … PRECEDING …"
    )
