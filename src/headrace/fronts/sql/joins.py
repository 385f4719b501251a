"""JOIN of two streams: equal columns are keys, a bound of their times is the interval, and the rest is a condition on the pairs.

    … FROM orders o JOIN payments p ON p.order_id = o.id AND p.at BETWEEN o.at AND o.at + INTERVAL '1' HOUR

`at` and `p.at` are the event times of the two streams. Without a bound both sides are kept for ever. `FOR SYSTEM_TIME AS OF o.at` is the
join with the other stream's row of that time, the last one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.sql import functions as F

from headrace.definitions import durations
from headrace.fronts.sql.reading.durations import duration
from headrace.fronts.sql.reading.syntax import Join
from headrace.fronts.sql.reading.tokens import Query, Token, Tokens, named, split
from headrace.fronts.sql.scopes import Scope
from headrace.fronts.sql.views import View, step
from headrace.fronts.stream import Stream
from headrace.kernel.event_time import time_columns
from headrace.ops.windows import Fixed


@dataclass
class Condition:
    """What ON says: pairs of equal expressions, bounds of the other's time against the own one in microseconds, and the rest."""

    keys: list[tuple[list[Token], list[Token]]] = field(default_factory=list)
    lower: int | None = None
    upper: int | None = None
    rest: list[list[Token]] = field(default_factory=list)


@dataclass(frozen=True)
class Side:
    """A stream that is joined, its names, and how long its windows are if it is cut into some."""

    stream: Stream
    scope: Scope
    length: int | None = None

    @property
    def time(self) -> str | None:
        return next(iter(time_columns(self.stream.step.preview)), None)


def join(own: Side, other: Side, how: Join, where: list[list[Token]], query: Query) -> tuple[Side, list[list[Token]]]:
    """The joined stream, and what of WHERE is still to be asked. Of a join by a comma, WHERE says what is equal."""
    both = Scope({**own.scope.columns, **other.scope.columns})
    parts = [part for part in split(how.on, "AND") if part]
    comma = how.how in ("inner", "cross") and how.right.as_of is None  # of what must match, WHERE says it as well as ON
    condition = _condition(parts + (where if comma else []), own, other, both, query)
    for name in how.using:
        left, right = own.scope.called(name.name), other.scope.called(name.name)
        if left is None or right is None:
            raise query.error(name, f"not both sides have one column {name.name!r}", "name one that both have, or write ON a.x = b.y")
        condition.keys.append(([named(left, name)], [named(right, name)]))
    used = [part for part in where if part not in condition.rest] if comma else []
    remaining = [part for part in where if part not in used]
    if not condition.keys:
        raise query.error(how.word, "two streams are joined without equal columns: each record with every other", "add ON a.id = b.id")
    residual = [part for part in condition.rest if part not in where]
    if residual and how.how not in ("inner", "cross"):
        raise query.error(
            residual[0], f"of a {how.how.upper()} JOIN of two streams this is no part: it is neither a.x = b.y nor a bound of their times",
            "put it into a subquery of its side: JOIN (SELECT … FROM … WHERE …) AS b",
        )  # fmt: skip
    return _joined(own, other, how, condition, query), [*remaining, *residual]


def _joined(own: Side, other: Side, how: Join, condition: Condition, query: Query) -> Side:
    keys = [f"_join{i}" for i in range(len(condition.keys))]
    names = {real.lower() for table in own.scope.columns.values() for real in table.values()} | {
        column.lower() for column in own.stream.columns
    }
    alias, table = next(iter(other.scope.columns.items()))
    renamed: dict[str, str] = {}
    for written, real in table.items():
        fresh = real
        while fresh.lower() in names:
            fresh = f"{alias}_{fresh}"
        names.add(fresh.lower())
        renamed[written] = fresh
    left = _keyed(own, [one for one, _ in condition.keys], keys, {}, how.word, query)
    right = _keyed(
        other, [two for _, two in condition.keys], keys, {table[written]: new for written, new in renamed.items()}, how.word, query
    )
    kind = {"cross": "inner"}.get(how.how, how.how)
    between = _between(condition, own, other)
    if between is None and kind not in ("inner", "asof") and how.right.as_of is None:
        raise query.error(
            how.word, f"a {kind.upper()} JOIN of two streams needs a bound of time: a record would wait for its partner for ever",
            "add one: ON … AND b.at BETWEEN a.at - INTERVAL '5' MINUTE AND a.at + INTERVAL '10' MINUTE",
        )  # fmt: skip
    with query.pointing(how.word):
        if how.right.as_of is not None or how.how == "asof":
            joined = left.as_of(right, on=keys, how="left" if how.how == "left" else "inner")
        else:
            joined = left.join(right, on=keys, how=kind, between=between)
    columns = [column for column in joined.columns if column not in keys]
    ports = joined._ports
    joined = Stream(joined.select(*(F.col(f"`{column}`") for column in columns)).step, ports)
    scope = dict(own.scope.columns) if kind in ("semi", "anti") else {**own.scope.columns, alias: renamed}
    return Side(joined, Scope(scope))


def _keyed(side: Side, keys: list[list[Token]], names: list[str], renamed: dict[str, str], at: Token, query: Query) -> Stream:
    """A side with its keys as columns, and its own columns by names that the other does not have."""
    listed: list[Token] = []
    for expression, name in [
        *(([named(column, at)], renamed.get(column, column)) for column in side.stream.columns),
        *((side.scope.plain(key), name) for key, name in zip(keys, names, strict=True)),
    ]:
        listed += [at.become(",", "mark"), *expression, at.become("AS", "word"), named(name, at)]
    return step([at.become("SELECT", "word"), *listed[1:], at.become("FROM", "word"), View.at(at, side.stream)], query)


def _between(condition: Condition, own: Side, other: Side) -> tuple[str, str] | None:
    if condition.lower is not None and condition.upper is not None:
        return _text(condition.lower), _text(condition.upper)
    if own.length is not None and own.length == other.length and own.time and other.time:  # of one window: no further apart than it is long
        return _text(-own.length), _text(own.length)
    return None


def _text(micros: int) -> str:
    return f"{'-' if micros < 0 else ''}{abs(micros)} microseconds"


def _condition(parts: Sequence[list[Token]], own: Side, other: Side, both: Scope, query: Query) -> Condition:
    result = Condition()
    left, right = set(own.scope.columns), set(other.scope.columns)
    for part in parts:
        if _bounds(part, own, other, both, result, query):
            continue
        sides = split(part, "=")
        if len(sides) == 2:
            one, two = (both.side(side) for side in sides)
            if one and two and one <= left and two <= right:
                result.keys.append((sides[0], sides[1]))
                continue
            if one and two and one <= right and two <= left:
                result.keys.append((sides[1], sides[0]))
                continue
        result.rest.append(part)
    if (result.lower is None) != (result.upper is None):  # half a bound is none: it is asked of the pairs
        result.rest += [part for part in parts if part not in result.rest and _is_bound(part)]
        result.lower = result.upper = None
    return result


def _is_bound(part: list[Token]) -> bool:
    return any(token.text in ("<", "<=", ">", ">=") for token in part)


def _bounds(part: list[Token], own: Side, other: Side, both: Scope, result: Condition, query: Query) -> bool:
    """Whether it bounds the time of one side by that of the other; if so, it is noted."""
    between = next((i for i, token in enumerate(part) if token.word == "BETWEEN"), None)
    if between is not None and not any(token.word == "NOT" for token in part):
        low, high = split(part[between + 1 :], "AND") if len(split(part[between + 1 :], "AND")) == 2 else ([], [])
        pairs = [(part[:between], ">=", low), (part[:between], "<=", high)]
    else:
        at = next((i for i, token in enumerate(part) if token.text in ("<", "<=", ">", ">=")), None)
        if at is None:
            return False
        pairs = [(part[:at], part[at].text, part[at + 1 :])]
    noted = []
    for one, mark, two in pairs:
        first, second = _moment(one, own, other, both, query), _moment(two, own, other, both, query)
        if first is None or second is None or first[0] == second[0]:
            return False
        noted.append((first, mark, second))
    for (side, moved, _), mark, (_, shifted, _) in noted:
        # side + moved  mark  the other side + shifted; as a bound of the other stream's time less the own one's
        difference = shifted - moved
        strict = 1 if mark in ("<", ">") else 0
        if (side == "other") == (mark in (">", ">=")):
            bound = (difference if side == "other" else -difference) + strict
            result.lower = bound if result.lower is None else max(result.lower, bound)
        else:
            bound = (difference if side == "other" else -difference) - strict
            result.upper = bound if result.upper is None else min(result.upper, bound)
    return True


def _moment(tokens: Tokens, own: Side, other: Side, both: Scope, query: Query) -> tuple[str, int, str] | None:
    """The event time of one of the sides, moved by an interval: which side, and how much."""
    at = next((i for i, token in enumerate(tokens) if token.text in ("+", "-")), len(tokens))
    column = tokens[:at]
    if len(column) not in (1, 3) or not column[-1].is_name:
        return None
    moved = 0
    if at < len(tokens):
        if tokens[at + 1 : at + 2] and tokens[at + 1].word != "INTERVAL":
            return None
        moved = durations.offset(duration(tokens[at + 1 :], query, "the interval")) * (1 if tokens[at].text == "+" else -1)
    alias = column[0].name if len(column) == 3 else None
    for name, side in (("own", own), ("other", other)):
        if (
            side.scope.called(column[-1].name, alias) == side.time
            and side.time is not None
            and both.side(column) <= set(side.scope.columns)
        ):
            return name, moved, side.time
    return None


def length(window: object) -> int | None:
    return window.length if isinstance(window, Fixed) else None
