"""GROUP BY with windows: the aggregates of SELECT and HAVING are those of the window, and the rest is computed of its rows.

    SELECT window_start, page, sum(n) / count(*) AS mean FROM TABLE(TUMBLE(…)) GROUP BY window_start, window_end, page HAVING count(*) > 9

The keys and what stands in place of the aggregates are columns of the window's rows, and Spark computes the SELECT of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import functions as F

from headrace.fronts.sql import emit as emits
from headrace.fronts.sql.reading.calls import Call, calls, is_aggregate, replaced
from headrace.fronts.sql.reading.syntax import Item, Select
from headrace.fronts.sql.reading.tokens import Query, Token, conditions, joined, named, quote, same, shown, split, text, words
from headrace.fronts.sql.scopes import Scope
from headrace.fronts.sql.views import View, run, step
from headrace.fronts.sql.windows import BORDERS, Cut, of_group
from headrace.fronts.stream import Stream
from headrace.kernel.event_time import EXCLUSIVE
from headrace.ops.windows import after_records, forever, repeatedly, tumbling


@dataclass
class Group:
    """The items of GROUP BY: the windows, with their border columns in the rows, and the keys."""

    cut: Cut
    keys: list[list[Token]] = field(default_factory=list)
    calls: list[list[Token]] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    running: bool = False


def items_of(select: Select) -> list[list[Token]]:
    """The items of GROUP BY; a number or the alias of a column of SELECT stands for that column."""
    group = select.clause("GROUP")[2:]
    items = [part for part in split(group) if part]
    aliases = {item.alias.name.lower(): item.tokens for item in select.items if item.alias is not None}
    result = []
    for part in items:
        if len(part) == 1 and part[0].kind == "number" and part[0].text.isdigit() and 0 < int(part[0].text) <= len(select.items):
            result.append(select.items[int(part[0].text) - 1].tokens)
        elif len(part) == 1 and part[0].is_name and part[0].name.lower() in aliases:
            result.append([*part]) if _is_column(part, aliases) else result.append(aliases[part[0].name.lower()])
        else:
            result.append(part)
    return result


def _is_column(part: list[Token], aliases: dict[str, list[Token]]) -> bool:
    tokens = aliases[part[0].name.lower()]
    return len(tokens) == 1 and tokens[0].name.lower() == part[0].name.lower()


_BORDERS = {
    f"{kind}_{name}": (kind, border)
    for kind in ("TUMBLE", "HOP", "SESSION", "CUMULATE")
    for name, border in (("START", "start"), ("END", "end"), ("ROWTIME", "end"))
}
_SEVERAL = ("ROLLUP", "CUBE", "GROUPING")


def group_of(select: Select, stream: Stream, scope: Scope, cut: Cut | None, query: Query) -> Group | None:
    """The windows that GROUP BY names; None if there are none, and it is Spark's."""
    items = items_of(select)
    if not items:
        return None
    if cut is not None and (many := next((part for part in items if part[0].word in _SEVERAL and len(part) > 1), None)) is not None:
        raise query.error(
            many[0], f"a window has one grouping, and {many[0].word} asks for several", "write a query for each, and UNION ALL"
        )
    cuts = [(part, window) for part in items if (window := of_group(scope.plain(part), query)) is not None]
    if len(cuts) > 1:
        raise query.error(cuts[1][0], "there are two windows", "group by one, and by the other in a query around it")
    if cuts:
        at, window = cuts[0]
        return Group(window, [scope.plain(part) for part in items if part is not at], [at])
    columns = [_column(part, scope) for part in items]
    if cut is not None:
        if not {"window_start", "window_end"} <= {(column or "").lower() for column in columns}:
            raise query.error(
                select.clause("GROUP"), "the rows are cut into windows, and GROUP BY does not name them both: window_start, window_end",
                "add them: GROUP BY window_start, window_end, …",
            )  # fmt: skip
        keys = [scope.plain(part) for part, column in zip(items, columns, strict=True) if (column or "").lower() not in BORDERS]
        return Group(cut, keys)
    ends = [column for column in columns if column in stream.columns and EXCLUSIVE in stream.schema[column].metadata]
    if ends:  # windows of windows: those that have the same end
        moment = Cut(tumbling("1 microsecond"), ends[0], select.clause("GROUP"))
        keys = [scope.plain(part) for part, column in zip(items, columns, strict=True) if column != ends[0]]
        return Group(moment, keys, renamed={ends[0]: "end"})
    if _distinct(select, query):  # which Spark does not have on a stream: a window that does not end, and puts out each change
        return Group(Cut(forever(), None, select.clause("GROUP")), [scope.plain(part) for part in items], running=True)
    return None


def _distinct(select: Select, query: Query) -> bool:
    listed = [*(item.tokens for item in select.items), select.clause("HAVING")]
    return any(
        call.arguments[:1] and call.arguments[0].word == "DISTINCT"
        for tokens in listed for call in calls(tokens, query, lambda name, over: not over and is_aggregate(name))
    )  # fmt: skip


def _column(part: Sequence[Token], scope: Scope) -> str | None:
    if len(part) == 1 and part[0].is_name:
        name = part[0].name
        return name if name.lower() in BORDERS else scope.called(name)
    if len(part) == 3 and part[1].text == ".":
        return part[2].name if part[2].name.lower() in BORDERS else scope.called(part[2].name, part[0].name)
    return None


def aggregate(select: Select, stream: Stream, scope: Scope, group: Group, query: Query, emit: list[Token], *, final: bool) -> Stream:
    """The rows of the windows, as SELECT has them."""
    return _Aggregation(select, stream, scope, group, query).rows(emit, final=final)


class _Aggregation:
    def __init__(self, select: Select, stream: Stream, scope: Scope, group: Group, query: Query) -> None:
        self.select, self.stream, self.scope, self.group, self.query = select, stream, scope, group, query
        self.aggregates: list[tuple[list[Token], str]] = []
        self.keys = [f"_key{i}" for i in range(len(group.keys))]

    def rows(self, emit: list[Token], *, final: bool) -> Stream:
        items = [self._item(item) for item in self.select.items]
        asked, of_windows = self._where()
        having = self._over_rows(joined([*of_windows, self.select.clause("HAVING")[1:]], self.select.first))
        cut = self.group.cut
        time = None if self.group.running else cut.time(self.stream, self.query)
        keyed = self._keyed(asked)
        self._check(keyed)
        with self.query.pointing(cut.at):
            options: dict[str, Any] = self._options(emit, final=final)
            aggregates = {name: F.expr(text(tokens)) for tokens, name in self.aggregates} or {"_agg0": F.count("*")}
            panes = keyed.window(cut.window, by=self.keys, on=time, **options).agg(**aggregates)
        first = self.select.first
        tail = [token for name in ("ORDER", "LIMIT", "OFFSET") for token in self._over_rows(self.select.clause(name))]
        where = [] if not having else [first.become("WHERE", "word"), *having]
        listed = [token for item in items for token in (first.become(",", "mark"), *item)][1:]
        tokens = [first, *self.select.modifiers, *listed, first.become("FROM", "word"), View.at(first, panes), *where, *tail]
        result = step(tokens, self.query)
        return Stream(result.step, panes._ports)

    def _options(self, emit: list[Token], *, final: bool) -> dict[str, Any]:
        if not self.group.running:
            return emits.options(emit, self.query, final=final)
        if emit:
            raise self.query.error(emit, "these totals have no window that could end", "leave EMIT out, or group by a window")
        return {"trigger": repeatedly(after_records(1))}

    def _check(self, keyed: Stream) -> None:
        """Spark looks at the aggregates first: what is wrong with one is found at its word."""
        if self.aggregates:
            first = self.select.first
            listed = [token for tokens, _ in self.aggregates for token in (first.become(",", "mark"), *tokens)][1:]
            run([first, *listed, first.become("FROM", "word"), View.at(first, keyed)], self.query, {keyed: keyed.step.preview})

    def _where(self) -> tuple[list[list[Token]], list[list[Token]]]:
        """What WHERE asks of a record, and what it asks of its window."""
        parts = conditions(self.select.clause("WHERE")[1:])
        of_windows = [part for part in parts if any(token.is_name and token.name.lower() in BORDERS for token in part)]
        return [part for part in parts if part not in of_windows], of_windows

    def _keyed(self, asked: list[list[Token]]) -> Stream:
        """The records that are asked for, with the keys that are computed."""
        first = self.select.first
        where = [first.become("WHERE", "word"), *joined(asked, first)] if asked else []
        more = [
            token
            for key, name in zip(self.group.keys, self.keys, strict=True)
            for token in (first.become(",", "mark"), *key, first.become("AS", "word"), named(name, first))
        ]
        if not more and not where:
            return self.stream
        start = [first, first.become("*", "mark"), *more, first.become("FROM", "word"), View.at(first, self.stream)]
        return step([*start, *self.scope.plain(where)], self.query)

    def _item(self, item: Item) -> list[Token]:
        if any(token.text == "*" and len(item.tokens) in (1, 3) for token in item.tokens):
            raise self.query.error(item.tokens, "a group has no single row", "name keys and aggregates in the place of *")
        tokens = self._over_rows(item.tokens)
        name = item.name or shown(item.tokens, self.query)
        at = item.alias or item.tokens[-1]
        return [*tokens, item.tokens[0].become("AS", "word"), at.become(quote(name), "quoted")]

    def _over_rows(self, tokens: Sequence[Token]) -> list[Token]:
        """An expression over the rows of the windows."""
        plain = replaced(self.scope.plain(tokens), self.query, lambda name, over: not over and name in _BORDERS, self._border_call)
        plain = self._without(plain, self.group.calls and [self.scope.plain(call) for call in self.group.calls], ["window"])
        plain = replaced(plain, self.query, lambda name, over: not over and is_aggregate(name), self._aggregate)
        result: list[Token] = []
        i = 0
        while i < len(plain):
            for key, name in zip(self.group.keys, self.keys, strict=True):
                if same(plain[i : i + len(key)], key) and not (i and plain[i - 1].text == "."):
                    result.append(named(name, plain[i]))
                    i += len(key)
                    break
            else:
                result.append(self._border(plain[i], plain[i - 1] if i else None))
                i += 1
        return result

    def _border_call(self, call: Call) -> list[Token]:
        """TUMBLE_START(at, …) beside GROUP BY TUMBLE(at, …)."""
        kind, border = _BORDERS[call.name]
        group = self.scope.plain(self.group.calls[0]) if self.group.calls else []
        if not group or group[0].word != kind or not same(call.arguments, group[2:-1]):
            raise self.query.error(
                call.tokens, f"{call.name} is a border of the window in GROUP BY, and there is no such window",
                f"write the same arguments in both: GROUP BY {kind}(at, …); of a window in FROM: window_start, window_end",
            )  # fmt: skip
        return [named(border, call.tokens[0])]

    def _without(self, tokens: list[Token], calls: list[list[Token]], names: list[str]) -> list[Token]:
        """The window itself, by its call or by its name, is a struct of its borders."""
        if not calls:
            return tokens
        result: list[Token] = []
        i = 0
        called = calls[0][0].text.lower()
        while i < len(tokens):
            token = tokens[i]
            free = not (i and tokens[i - 1].text == ".")
            whole = free and same(tokens[i : i + len(calls[0])], calls[0])
            length = len(calls[0]) if whole else 1 if free and token.is_name and token.name.lower() in (*names, called) else 0
            if not length or (not whole and i + 1 < len(tokens) and tokens[i + 1].text == "("):
                result.append(token)
                i += 1
                continue
            i += length
            field = tokens[i + 1].name.lower() if i + 1 < len(tokens) and tokens[i].text == "." else ""
            if field in ("start", "end"):
                result.append(named(field, tokens[i + 1]))
                i += 2
            else:
                result += words("named_struct('start', `start`, 'end', `end`)", token)
        return result

    def _aggregate(self, call: Call) -> list[Token]:
        known = next((name for tokens, name in self.aggregates if same(tokens, call.tokens)), None)
        if known is None:
            known = f"_agg{len(self.aggregates)}"
            self.aggregates.append((call.tokens, known))
        return [named(known, call.tokens[0])]

    def _border(self, token: Token, before: Token | None) -> Token:
        if not token.is_name or (before is not None and before.text == "."):
            return token
        name = token.name.lower()
        border = {"window_start": "start", "window_end": "end", "window_time": "end"}.get(name) if not self.group.renamed else None
        renamed = {old.lower(): new for old, new in self.group.renamed.items()}.get(name)
        return named(border or renamed or "", token) if border or renamed else token
