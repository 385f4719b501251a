"""From a query to a stream: each SELECT becomes steps of a recipe, and what Spark can do itself is Spark's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from difflib import get_close_matches

from pyspark.sql import DataFrame

from headrace.fronts.sql import grouping, joins, over, patterns, ranking
from headrace.fronts.sql.joins import Side
from headrace.fronts.sql.ranking import Ranking
from headrace.fronts.sql.reading.calls import Call, calls
from headrace.fronts.sql.reading.syntax import WINDOWS, Item, Join, Node, Primary, Select, node
from headrace.fronts.sql.reading.tokens import Query, Token, conditions, joined, named
from headrace.fronts.sql.relations import Names, Relation, bound
from headrace.fronts.sql.scopes import Scope
from headrace.fronts.sql.views import View, step, table
from headrace.fronts.sql.windows import of_relation
from headrace.fronts.stream import Stream
from headrace.kernel.event_time import time_columns


def relation(tree: Node, names: Names, query: Query, *, final: bool = False) -> Relation:
    """What a query stands for. `final`: others compute with it, so its windows put out rows once."""
    known = dict(names)
    for name, columns, inner in tree.named:
        known[name.name.lower()] = replace(relation(inner, known, query, final=True), alias=name.name, columns=columns)
    parts = [_part(part, known, query, tree.emit, final=final) for part in tree.parts]
    result = parts[0]
    for more in parts[1:]:
        result = _united(result, more, query)
    if tree.tail and result.streaming:
        at = tree.tail[0]
        star = [at.become("SELECT", "word"), at.become("*", "mark"), at.become("FROM", "word"), View.at(at, result.rows(query))]
        result = Relation(at, stream=step([*star, *tree.tail], query))
    return result


def _part(part: Select | list[Token], names: Names, query: Query, emit: list[Token], *, final: bool) -> Relation:
    if isinstance(part, Select):
        return _Selection(part, names, query, emit, final=final).relation()
    if part and part[0].text == "(":
        return relation(node(part[1:-1], query), names, query, final=final)
    return Relation(part[0], table=lambda: table(bound(part, names, query), query))


def _united(one: Relation, other: Relation, query: Query) -> Relation:
    if not one.streaming and not other.streaming:
        left, right = one.table, other.table
        assert left is not None
        assert right is not None
        return Relation(one.at, table=lambda: left().union(right()))
    if not (one.streaming and other.streaming):
        raise query.error(other.at, "a stream and a table cannot be one: a table has no end of its own", "read both as streams")
    own, more = one.rows(query), other.rows(query)
    if len(own.columns) != len(more.columns):
        raise query.error(
            other.at, f"the parts of UNION ALL have {len(own.columns)} and {len(more.columns)} columns", "give both the same columns"
        )
    names = dict(zip(more.columns, own.columns, strict=True))
    with query.pointing(other.at):
        return Relation(one.at, stream=own.union(more.rename(**{old: new for old, new in names.items() if old != new})))


class _Selection:
    """One SELECT."""

    def __init__(self, select: Select, names: Names, query: Query, emit: list[Token], *, final: bool) -> None:
        self.select, self.names, self.query, self.emit, self.final = select, names, query, emit, final
        self.sources: list[Relation] = []
        if select.source is not None:
            self.sources = [self._source(primary) for primary in (select.source, *(join.right for join in select.joins))]

    def relation(self) -> Relation:
        streams = [source for source in self.sources if source.streaming]
        at = self.select.first
        if not streams:
            self._no_emit()
            tokens = self._plain()
            if any(isinstance(token, View) and isinstance(token.of, Stream) for token in tokens):
                return Relation(at, stream=step(tokens, self.query))
            return Relation(at, table=_once(lambda: table(tokens, self.query)))
        self._limit_ranks()
        ranked = ranking.ranked_item(self.select, self.query) if not self.select.clause("QUALIFY") else None
        if self.select.clause("QUALIFY"):
            return self._qualified()
        windowed = self._windows()
        if windowed is None and ranked is None and len(streams) == 1 and not over.has_over(self.select, self.query):
            self._no_emit()
            return Relation(at, stream=step(self._plain(), self.query))
        stream, scope, where = self._joined(windowed is not None)
        if where:
            self.select.clauses["WHERE"] = [at.become("WHERE", "word"), *joined(where, at)]
        else:
            self.select.clauses.pop("WHERE", None)
        cut = streams[0].cut if len(self.sources) == 1 else None
        group = grouping.group_of(self.select, stream, scope, cut, self.query) if windowed is not None else None
        if group is not None:
            return Relation(at, stream=grouping.aggregate(self.select, stream, scope, group, self.query, self.emit, final=self.final))
        self._no_emit()
        if ranked is not None:
            return self._ranking(ranked, stream, scope)
        if over.has_over(self.select, self.query):
            return Relation(at, stream=over.features(self.select, self._asked(stream, scope), scope, self.query))
        return Relation(at, stream=step(self._over(stream, scope), self.query))

    # -- relations ------------------------------------------------------------------------------------------------------------------

    def _source(self, primary: Primary) -> Relation:
        relation = self._primary(primary)
        if primary.more:
            relation = replace(relation, more=bound(primary.more, self.names, self.query))
        if primary.match is not None:
            matched = patterns.recognize(replace(relation, columns=[]), primary, self.query)
            return Relation(primary.match_at or relation.at, primary.match_alias.name if primary.match_alias else None, stream=matched)
        return relation

    def _primary(self, primary: Primary) -> Relation:
        at = primary.tokens[0]
        alias = primary.alias.name if primary.alias is not None else None
        if primary.kind == "query":
            assert primary.query is not None
            inner = relation(primary.query, self.names, self.query, final=True)
            return replace(inner, at=at, alias=alias, columns=primary.columns)
        if primary.kind == "window":
            tokens, cut = of_relation(at, primary.arguments, self.query)
            inner = self._windowed(tokens, at)
            if not inner.streaming:
                raise self.query.error(tokens, "windows in FROM are of streams", "for a table write GROUP BY window(at, '10 minutes')")
            return replace(inner, at=at, alias=alias or inner.alias, cut=cut, stream=inner.rows(self.query))
        if primary.kind == "name" and len(primary.tokens) == 1 and (known := self.names.get(at.name.lower())) is not None:
            return replace(known, at=at, alias=alias or at.name, columns=primary.columns or known.columns)
        if [token.text for token in primary.tokens[1:2]] == ["("] and (near := get_close_matches(at.word, WINDOWS, 1)):
            raise self.query.error(at, f"there is no function {at.text} of tables", f"did you mean {near[0]}?")
        return Relation(at, alias, raw=bound(primary.tokens, self.names, self.query) + self._alias(primary))

    def _alias(self, primary: Primary) -> list[Token]:
        if primary.kind == "raw" or primary.alias is None:
            return []
        return Relation(primary.tokens[0], primary.alias.name, columns=primary.columns, table=lambda: None).tokens(self.query)[1:]  # type: ignore[arg-type, return-value]

    def _windowed(self, tokens: list[Token], at: Token) -> Relation:
        if tokens and tokens[0].text == "(":
            return relation(node(tokens[1:-1], self.query), self.names, self.query, final=True)
        known = self.names.get(tokens[0].name.lower()) if len(tokens) == 1 else None
        if known is None:
            raise self.query.error(tokens or [at], "no stream of this name is known", "give it to the query: hr.sql(…, bid=stream)")
        return known

    def _joined(self, windowed: bool) -> tuple[Stream, Scope, list[list[Token]]]:
        """One stream of all relations of FROM, its names, and what WHERE still asks."""
        first, where = self.sources[0], conditions(self.select.clause("WHERE")[1:])
        if len(self.sources) == 1:
            stream = first.stream if windowed and first.cut is not None else first.rows(self.query)
            assert stream is not None
            return stream, first.scope(stream), where
        if not first.streaming:
            raise self.query.error(first.at, "a join begins with a stream", "put the stream first, and the table behind JOIN")
        side = self._side(first)
        for how, source in zip(self.select.joins, self.sources[1:], strict=True):
            if source.streaming:
                side, where = joins.join(side, self._side(source), how, where, self.query)
            else:
                side = self._with_table(side, source, how)
        return side.stream, side.scope, where

    def _side(self, source: Relation) -> Side:
        stream = source.rows(self.query)
        return Side(stream, source.scope(stream), joins.length(source.cut.window) if source.cut is not None else None)

    def _with_table(self, side: Side, source: Relation, how: Join) -> Side:
        """A stream with a table: Spark's own join, whose columns get names that are not there yet."""
        at, query = how.word, self.query
        rows = table([at.become("SELECT * FROM"), *source.tokens(query)], query)
        alias = source.alias or "_table"
        names = {column.lower() for column in side.stream.columns}
        renamed = {column: column if column.lower() not in names else f"{alias}_{column}" for column in rows.columns}
        scope = Scope({**side.scope.columns, alias.lower(): renamed})
        listed = [
            token for column in side.stream.columns for token in (at.become(","), at.become("_own"), at.become("."), named(column, at))
        ]
        for old, new in renamed.items() if how.how not in ("semi", "anti") else ():
            listed += [at.become(","), named(alias, at), at.become("."), named(old, at), at.become("AS"), named(new, at)]
        on = self._on(how, side.scope)
        words = f"{'' if how.how == 'inner' else how.how.upper()} JOIN".strip() if how.word.text != "," else "CROSS JOIN"
        tokens = [at.become("SELECT"), *listed[1:], at.become("FROM"), View.at(at, side.stream), at.become("AS _own"), at.become(words)]
        placed = source.tokens(query) if source.alias else [*source.tokens(query), at.become("AS"), named(alias, at)]
        return Side(step([*tokens, *placed, *on], query), scope if how.how not in ("semi", "anti") else side.scope)

    def _on(self, how: Join, scope: Scope) -> list[Token]:
        at = how.word
        if how.using:
            inner = [token for name in how.using for token in (at.become(","), name)][1:]
            return [at.become("USING"), at.become("("), *inner, at.become(")")]
        if not how.on:
            return []
        result: list[Token] = []
        tokens, i = how.on, 0
        while i < len(tokens):
            token = tokens[i]
            if i + 2 < len(tokens) and tokens[i + 1].text == "." and (real := scope.called(tokens[i + 2].name, token.name)) is not None:
                result += [token.become("_own"), token.become("."), named(real, tokens[i + 2])]
                i += 3
                continue
            result.append(token)
            i += 1
        return [at.become("ON"), *result]

    # -- SELECT ---------------------------------------------------------------------------------------------------------------------

    def _plain(self) -> list[Token]:
        """The whole SELECT as Spark's, with views in the place of relations."""
        select, at = self.select, self.select.first
        items = [token for item in select.items for token in (at.become(","), *bound(item.tokens, self.names, self.query), *_as(item))][1:]
        tokens = [at, *select.modifiers, *items]
        for i, source in enumerate(self.sources):
            if i == 0:
                tokens += [at.become("FROM"), *source.tokens(self.query)]
                continue
            how = select.joins[i - 1]
            words = "," if how.word.text == "," else f"{'' if how.how == 'inner' else how.how.upper()} JOIN".strip()
            on = [how.word.become("ON"), *bound(how.on, self.names, self.query)] if how.on else []
            tokens += [how.word.become(words), *source.tokens(self.query), *(on or self._on(how, Scope({})))]
        for name, clause in select.clauses.items():
            if name != "EMIT":
                tokens += bound(clause, self.names, self.query)
        return tokens

    def _over(self, stream: Stream, scope: Scope) -> list[Token]:
        """SELECT and its clauses over a stream that FROM has become."""
        select, at = self.select, self.select.first
        tokens = [at, *select.modifiers, *self._items(scope), at.become("FROM"), View.at(at, stream)]
        for name in ("WHERE", "GROUP", "HAVING", "ORDER", "SORT", "LIMIT", "OFFSET"):
            tokens += bound(scope.plain(select.clause(name)), self.names, self.query)
        return tokens

    def _items(self, scope: Scope) -> list[Token]:
        listed: list[Token] = []
        for item in self.select.items:
            if len(item.tokens) == 1 and item.tokens[0].text == "*":
                tokens = scope.star(item.tokens[0])
            else:
                tokens = bound(scope.plain(item.tokens), self.names, self.query)
                if item.alias is not None:
                    tokens += _as(item)
                elif item.name is not None:
                    tokens += [item.tokens[-1].become("AS"), named(item.name, item.tokens[-1])]
            listed += [self.select.first.become(","), *tokens]
        return listed[1:]

    def _asked(self, stream: Stream, scope: Scope) -> Stream:
        """The records that WHERE keeps."""
        where, at = self.select.clause("WHERE"), self.select.first
        if not where:
            return stream
        return step(
            [at, at.become("*"), at.become("FROM"), View.at(at, stream), *bound(scope.plain(where), self.names, self.query)], self.query
        )

    # -- windows and ranks ----------------------------------------------------------------------------------------------------------

    def _windows(self) -> bool | None:
        """Whether GROUP BY may be of windows that are headrace's."""
        if not self.select.clause("GROUP"):
            return None
        source = self.sources[0]
        if len(self.sources) == 1 and source.stream is not None:
            stream = source.rows(self.query) if source.more else source.stream
            scope = source.scope(stream)
            return True if grouping.group_of(self.select, stream, scope, source.cut, self.query) is not None else None
        called = {token.word for token in self.select.clause("GROUP")}
        return True if called & {"WINDOW", "SESSION_WINDOW", "TUMBLE", "HOP", "SESSION", "CUMULATE"} else None

    def _no_emit(self) -> None:
        if self.emit:
            raise self.query.error(
                self.emit, "EMIT says when a window puts out rows, and there is none here",
                "leave it out; rows go out as the job's output_mode says",
            )  # fmt: skip

    def _limit_ranks(self) -> None:
        """A ranking in FROM becomes the best of it that WHERE keeps."""
        for source in self.sources:
            if source.ranking is None:
                continue
            name = source.ranking.name.name
            where = self.select.clause("WHERE")
            limit = ranking.limit(where[1:], name, self.query)
            if limit is None:
                raise source.ranking.unused(self.query)
            n, rest = limit
            if rest:
                self.select.clauses["WHERE"] = [where[0], *rest]
            else:
                self.select.clauses.pop("WHERE")
            others = [token for item in self.select.items for token in item.tokens]
            shown = any(len(item.tokens) in (1, 3) and item.tokens[-1].text == "*" for item in self.select.items)
            shown = shown or ranking.mentions([*others, *(t for clause in self.select.clauses.values() for t in clause)], name)
            source.stream, source.ranking = source.ranking.best(n, self.query, shown=shown), None

    def _ranking(self, ranked: tuple[Item, Call], stream: Stream, scope: Scope) -> Relation:
        item, call = ranked
        at, select = self.select.first, self.select
        name = item.alias
        assert name is not None
        keys, order, frame = ranking.partition_and_order(call, self.query)
        if frame:
            raise self.query.error(frame, "a rank has no frame", "leave it out")
        select.items.remove(item)
        more = [
            *ranking.hidden("_rank_key", [scope.plain(key) for key in keys], at),
            *ranking.hidden("_rank_by", [scope.plain(column) for column, _ in order], at),
        ]
        where = bound(scope.plain(select.clause("WHERE")), self.names, self.query)
        items = self._items(scope) if select.items else [at.become("1 AS _one")]
        start, rest = [at, *items, *more], [at.become("FROM"), View.at(at, stream), *where]
        prepared = step([*start, *rest], self.query)
        times = [] if time_columns(prepared.step.preview) else time_columns(stream.step.preview)
        if times:  # it is not selected, and yet says when a window is over
            prepared = step([*start, *ranking.hidden("_rank_time", [[named(times[0], at)]], at), *rest], self.query)
        by = [(f"_rank_by{i}", ascending) for i, (_, ascending) in enumerate(order)]
        return Relation(at, ranking=Ranking(prepared, name, call, [f"_rank_key{i}" for i in range(len(keys))], by, bool(times)))

    def _qualified(self) -> Relation:
        """QUALIFY ROW_NUMBER() OVER (…) <= n: the same as a query around it."""
        clause = self.select.clauses.pop("QUALIFY")
        ranks = list(calls(clause, self.query, ranking.is_rank))
        if not ranks and (ranked := ranking.ranked_item(self.select, self.query)) is not None:
            return self._named_rank(clause, ranked)
        hint = "write QUALIFY ROW_NUMBER() OVER (PARTITION BY … ORDER BY …) <= 10"
        if len(ranks) != 1:
            raise self.query.error(clause, "QUALIFY wants one rank", hint)
        call, at = ranks[0], clause[0]
        name = at.become("_rank", "word")
        condition = [*clause[1 : call.start], name, *clause[call.end :]]
        limit = ranking.limit(condition, "_rank", self.query)
        if limit is None or limit[1]:
            raise self.query.error(clause, "QUALIFY wants one rank, and how many rows of it", hint)
        item = Item(call.tokens, name)
        self.select.items.append(item)
        return self._best((item, call), limit[0], shown=False)

    def _named_rank(self, clause: list[Token], ranked: tuple[Item, Call]) -> Relation:
        """SELECT …, ROW_NUMBER() OVER (…) AS rn … QUALIFY rn <= n."""
        alias = ranked[0].alias
        assert alias is not None
        limit = ranking.limit(clause[1:], alias.name, self.query)
        if limit is None or limit[1]:
            raise self.query.error(clause, "QUALIFY wants one rank, and how many rows of it", f"write QUALIFY {alias.text} <= 10")
        return self._best(ranked, limit[0], shown=True)

    def _best(self, ranked: tuple[Item, Call], n: int, *, shown: bool) -> Relation:
        at = self.select.first
        stream, scope, where = self._joined(windowed=False)
        if where:
            self.select.clauses["WHERE"] = [at.become("WHERE", "word"), *joined(where, at)]
        pending = self._ranking(ranked, stream, scope).ranking
        assert pending is not None
        return Relation(at, stream=pending.best(n, self.query, shown=shown))


def _as(item: Item) -> list[Token]:
    return [] if item.alias is None else [item.alias.become("AS", "word"), item.alias]


def _once(make: Callable[[], DataFrame]) -> Callable[[], DataFrame]:
    """A table that is looked at when the query is written, so that a mistake is found then."""
    make()
    return make
