"""The shape of a query: its clauses, the relations of FROM, what is named before by WITH. What is in a clause stays tokens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from headrace.fronts.sql.reading.tokens import CLOSE, OPEN, Query, Token, Tokens, closing, split

_CLAUSES = ("FROM", "WHERE", "GROUP", "HAVING", "QUALIFY", "WINDOW", "ORDER", "SORT", "LIMIT", "OFFSET", "EMIT")
_JOINS = {"INNER", "LEFT", "RIGHT", "FULL", "OUTER", "CROSS", "SEMI", "ANTI", "NATURAL", "ASOF"}
_SETS = ("UNION", "INTERSECT", "EXCEPT", "MINUS")
WINDOWS = ("TUMBLE", "HOP", "CUMULATE", "SESSION")


@dataclass(frozen=True)
class Item:
    """One column of SELECT: an expression, and the name that it is given."""

    tokens: list[Token]
    alias: Token | None = None

    @property
    def name(self) -> str | None:
        """What the column is called, if that is known without Spark."""
        if self.alias is not None:
            return self.alias.name
        plain = len(self.tokens) in (1, 3) and self.tokens[-1].is_name and (len(self.tokens) == 1 or self.tokens[1].text == ".")
        return self.tokens[-1].name if plain else None


@dataclass
class Primary:
    """What a row of FROM comes from: a name, a query in brackets, a window function, or what Spark knows better; and what is said of it."""

    tokens: list[Token]
    kind: str
    alias: Token | None = None
    columns: list[Token] = field(default_factory=list)
    query: Node | None = None
    arguments: list[Token] = field(default_factory=list)
    as_of: list[Token] | None = None
    match: list[Token] | None = None
    match_at: Token | None = None
    match_alias: Token | None = None
    more: list[Token] = field(default_factory=list)


@dataclass
class Join:
    """How the next relation is joined; `word` is the place to point at."""

    how: str
    word: Token
    right: Primary
    on: list[Token] = field(default_factory=list)
    using: list[Token] = field(default_factory=list)


@dataclass
class Select:
    """SELECT with its clauses; `first` is its first word."""

    first: Token
    modifiers: list[Token]
    items: list[Item]
    source: Primary | None = None
    joins: list[Join] = field(default_factory=list)
    clauses: dict[str, list[Token]] = field(default_factory=dict)

    def clause(self, name: str) -> list[Token]:
        return self.clauses.get(name, [])


@dataclass
class Node:
    """A query: what it names with WITH, its parts (more than one for UNION ALL), and what follows all of them."""

    named: list[tuple[Token, list[Token], Node]]
    parts: list[Select | list[Token]]
    tail: list[Token]
    emit: list[Token]


@dataclass
class Statement:
    """A query, and the sink that its rows go to."""

    into: list[Token]
    query: Node


def statement(tokens: Tokens, query: Query) -> Statement:
    if not tokens:
        raise query.error(0, "there is no query", "write one: SELECT … FROM …")
    if tokens[0].word == "INSERT":
        at = 1
        if len(tokens) < 3 or tokens[1].word != "INTO":
            raise query.error(tokens[:2], "a stream can only be added to a sink", "write INSERT INTO sink SELECT …")
        at = 3 if len(tokens) > 2 and tokens[2].word == "TABLE" else 2
        end = at + 1
        while end + 1 < len(tokens) and tokens[end].text == ".":
            end += 2
        return Statement(list(tokens[at:end]), node(tokens[end:], query))
    return Statement([], node(tokens, query))


def node(tokens: Tokens, query: Query) -> Node:
    named: list[tuple[Token, list[Token], Node]] = []
    rest = list(tokens)
    if rest and rest[0].word == "WITH":
        rest, named = _named(rest, query)
    parts, sets = _terms(rest, query)
    tail: list[Token] = []
    emit: list[Token] = []
    shapes: list[Select | list[Token]] = []
    for i, part in enumerate(parts):
        shape = _term(part, query)
        if isinstance(shape, Select):
            emit = shape.clauses.pop("EMIT", []) or emit
            if i == len(parts) - 1 and len(parts) > 1:
                tail = [token for name in ("ORDER", "SORT", "LIMIT", "OFFSET") for token in shape.clauses.pop(name, [])]
        shapes.append(shape)
    for word in sets:
        if [token.word for token in word] != ["UNION", "ALL"]:
            raise query.error(
                word, f"{word[0].word} would have to compare all rows of streams that do not end",
                "write UNION ALL; to drop duplicates, group by the columns, or rank with ROW_NUMBER() and WHERE rn = 1",
            )  # fmt: skip
    return Node(named, shapes, tail, emit)


def _named(tokens: list[Token], query: Query) -> tuple[list[Token], list[tuple[Token, list[Token], Node]]]:
    named, at = [], 1
    if tokens[1:2] and tokens[1].word == "RECURSIVE":
        raise query.error(tokens[1], "a query over a stream cannot go back to itself", "leave out RECURSIVE")
    while True:
        if at >= len(tokens) or not tokens[at].is_name:
            raise query.error(tokens[at : at + 1], "WITH wants a name here", "write WITH name AS (SELECT …) SELECT …")
        name, columns = tokens[at], []
        at += 1
        if at < len(tokens) and tokens[at].text == "(":
            end = closing(tokens, at, query)
            columns, at = [part[0] for part in split(tokens[at + 1 : end])], end + 1
        if at < len(tokens) and tokens[at].word == "AS":
            at += 1
        if at >= len(tokens) or tokens[at].text != "(":
            raise query.error(tokens[at : at + 1], "WITH wants a query in brackets here", "write WITH name AS (SELECT …) SELECT …")
        end = closing(tokens, at, query)
        named.append((name, columns, node(tokens[at + 1 : end], query)))
        at = end + 1
        if at < len(tokens) and tokens[at].text == ",":
            at += 1
            continue
        return tokens[at:], named


def _terms(tokens: list[Token], query: Query) -> tuple[list[list[Token]], list[list[Token]]]:
    """The parts of a union, and the words between them."""
    parts, sets, depth, at = [[]], [], 0, 0  # type: ignore[var-annotated]
    while at < len(tokens):
        token = tokens[at]
        depth += (token.text in OPEN) - (token.text in CLOSE)
        if depth < 0:
            raise query.error(token, "this bracket was not opened", "leave it out, or open it before")
        if depth == 0 and token.word in _SETS:
            more = [token, *([tokens[at + 1]] if at + 1 < len(tokens) and tokens[at + 1].word in ("ALL", "DISTINCT") else [])]
            sets.append(more)
            parts.append([])
            at += len(more)
            continue
        parts[-1].append(token)
        at += 1
    return parts, sets


def _term(tokens: list[Token], query: Query) -> Select | list[Token]:
    if tokens and tokens[0].text == "(" and closing(tokens, 0, query) == len(tokens) - 1:
        inner = node(tokens[1:-1], query)
        if len(inner.parts) == 1 and not inner.named and isinstance(inner.parts[0], Select):
            return inner.parts[0]
        return tokens
    if not tokens or tokens[0].word not in ("SELECT", "FROM"):
        if tokens and tokens[0].word in ("VALUES", "TABLE"):
            return tokens
        raise query.error(tokens[:1], "a query begins with SELECT", "write SELECT … FROM …, WITH … SELECT … or INSERT INTO … SELECT …")
    return _select(tokens, query)


def _select(tokens: list[Token], query: Query) -> Select:
    parts = _clauses(tokens, query)
    if windows := _windows(parts.pop("WINDOW", []), query):
        parts = {name: _written_out(clause, windows, query) for name, clause in parts.items()}
    head = parts.pop("SELECT", [])
    modifiers = [token for token in head[:2] if token.word in ("DISTINCT", "ALL") or token.kind == "hint"]
    rest = head[len(modifiers) :]
    if not rest:
        raise query.error(tokens[0], "SELECT names no column", "write SELECT *, or name columns")
    commas = [token for token, after in pairwise([tokens[0], *rest, tokens[0].become(",")]) if token.text == after.text == ","]
    items = [_item(part, query, commas[0] if commas else rest[0]) for part in split(rest)]
    select = Select(tokens[0], modifiers, items)
    if "FROM" in parts:
        select.source, select.joins = _relations(parts["FROM"][1:], query, parts.pop("FROM")[0])
    select.clauses = parts
    return select


def _windows(clause: list[Token], query: Query) -> dict[str, list[Token]]:
    """WINDOW w AS (PARTITION BY … ORDER BY …): what stands behind OVER, by name."""
    windows = {}
    for part in split(clause[1:]) if clause else []:
        if len(part) < 4 or part[1].word != "AS" or part[2].text != "(" or closing(part, 2, query) != len(part) - 1:
            raise query.error(part or clause, "WINDOW names rows in brackets", "write WINDOW w AS (PARTITION BY … ORDER BY …)")
        windows[part[0].name.lower()] = part[2:]
    return windows


def _written_out(clause: list[Token], windows: dict[str, list[Token]], query: Query) -> list[Token]:
    """The clause with the rows of a window in the place of its name. A query within has names of its own."""
    result: list[Token] = []
    i = 0
    while i < len(clause):
        token, known = clause[i], None
        end = i + 1
        if token.text == "(" and end < len(clause) and clause[end].word in ("SELECT", "FROM", "WITH"):
            end = closing(clause, i, query) + 1
        elif token.is_name and i and clause[i - 1].word == "OVER":
            known = windows.get(token.name.lower())
        result += clause[i:end] if known is None else [token.become(each.text, each.kind) for each in known]
        i = end
    return result


def _clauses(tokens: list[Token], query: Query) -> dict[str, list[Token]]:
    """The tokens of each clause, with its word, but those of SELECT without."""
    parts: dict[str, list[Token]] = {}
    current, depth = "", 0
    for i, token in enumerate(tokens):
        depth += (token.text in OPEN) - (token.text in CLOSE)
        word = token.word
        if depth == 0 and (word == "SELECT" or (word in _CLAUSES and _begins(tokens, i))):
            if word in parts:
                raise query.error(token, f"there are two {word}", "leave one out, or put a query in brackets")
            current = word
            parts[word] = [] if word == "SELECT" else [token]
        else:
            parts.setdefault(current, []).append(token)
    return parts


def _begins(tokens: list[Token], at: int) -> bool:
    """Whether a clause begins with this word, which may mean something else as well."""
    word, before = tokens[at].word, tokens[at - 1].word if at else ""
    after = tokens[at + 1].word if at + 1 < len(tokens) else ""
    if before == "." or (before == "AS" and word != "FROM"):
        return False
    match word:
        case "FROM":
            return not (before == "DISTINCT" and at > 1 and tokens[at - 2].word in ("IS", "NOT"))
        case "GROUP" | "ORDER" | "SORT":
            return after == "BY" and before != "WITHIN"
        case "WINDOW":
            return at + 2 < len(tokens) and tokens[at + 1].is_name and tokens[at + 2].word == "AS"
        case "EMIT":
            return after in EMITS
        case "OFFSET" | "LIMIT" | "QUALIFY":
            return after not in ("", ",", ".", "(", "AS", "FROM", "=")
    return True


EMITS = ("FINAL", "CHANGES", "AFTER", "ON", "WITH", "WITHOUT", "EARLY", "LATE", "LATENESS", "ACCUMULATING", "DISCARDING", "RETRACTING")


def _item(tokens: list[Token], query: Query, at: Token) -> Item:
    if not tokens:
        raise query.error(at, "SELECT has a comma too many", "leave it out")
    if len(tokens) > 2 and tokens[-2].word == "AS" and tokens[-1].is_name:
        return Item(tokens[:-2], tokens[-1])
    bare = len(tokens) > 1 and tokens[-1].is_name and tokens[-1].word != "END" and tokens[-2].word not in _OPERATORS
    if bare and (tokens[-2].is_name or tokens[-2].text in CLOSE or tokens[-2].kind in ("string", "number")):
        if tokens[-2].kind == "string" and len(tokens) > 2 and tokens[-3].word == "INTERVAL":
            return Item(tokens)
        return Item(tokens[:-1], tokens[-1])
    return Item(tokens)


_OPERATORS = {"AND", "OR", "NOT", "IS", "IN", "LIKE", "BETWEEN", "DIV", "DISTINCT", "FROM", "INTERVAL", "CASE", "WHEN", "THEN", "ELSE", "."}


def _relations(tokens: list[Token], query: Query, at: Token) -> tuple[Primary, list[Join]]:
    if not tokens:
        raise query.error(at, "FROM names nothing", "name a stream: FROM clicks")
    pieces: list[tuple[list[Token], list[Token]]] = [([], [])]
    depth = 0
    for i, token in enumerate(tokens):
        depth += (token.text in OPEN) - (token.text in CLOSE)
        after = [each.word for each in tokens[i + 1 : i + 3]]
        joining = token.word == "JOIN" or (token.word in _JOINS and ("JOIN" in after) and all(w in _JOINS | {"JOIN"} for w in after[:1]))
        if depth == 0 and (token.text == "," or joining):
            if pieces[-1][1] or not pieces[-1][0] or pieces[-1][0][-1].word == "JOIN" or len(pieces) == 1:
                pieces.append(([token], []))
            else:
                pieces[-1][0].append(token)
        else:
            pieces[-1][1].append(token)
    first = _primary(pieces[0][1], query, at)
    return first, [_join(words, rest, query) for words, rest in pieces[1:]]


def _join(words: list[Token], tokens: list[Token], query: Query) -> Join:
    kinds = {word.word for word in words}
    if kinds & {"NATURAL"}:
        raise query.error(words, "which columns a NATURAL join compares is not written", "name them: JOIN … ON a.id = b.id, or USING (id)")
    how = next((name.lower() for name in ("SEMI", "ANTI", "LEFT", "RIGHT", "FULL", "CROSS", "ASOF") if name in kinds), "inner")
    at = next((i for i in _outside(tokens) if tokens[i].word in ("ON", "USING")), len(tokens))
    right = _primary(tokens[:at], query, words[-1])
    rest = tokens[at:]
    if rest and rest[0].word == "USING":
        return Join(how, words[0], right, using=[part[0] for part in split(rest[2:-1])])
    return Join(how, words[0], right, on=rest[1:])


def _outside(tokens: Iterable[Token]) -> list[int]:
    """The places outside of brackets."""
    places, depth = [], 0
    for i, token in enumerate(tokens):
        depth += (token.text in OPEN) - (token.text in CLOSE)
        if depth == 0 and token.text not in CLOSE:
            places.append(i)
    return places


def _primary(tokens: list[Token], query: Query, at: Token) -> Primary:
    if not tokens:
        raise query.error(at, "there is no relation here", "name a stream, or put a query in brackets")
    end, primary = _relation(tokens, query)
    rest = tokens[end:]
    if rest and rest[0].word == "FOR" and [t.word for t in rest[1:4]] == ["SYSTEM_TIME", "AS", "OF"]:
        stop = next((i for i in range(4, len(rest)) if rest[i].word == "AS"), len(rest))
        if stop == len(rest) and len(rest) > 5 and rest[-1].is_name and rest[-2].text != ".":
            stop = len(rest) - 1
        primary.as_of, rest = rest[4:stop], rest[stop:]
    if rest and rest[0].word == "MATCH_RECOGNIZE":
        rest = _match(primary, rest, query)
        primary.match_alias, _, rest = _alias(rest, query)
    else:
        primary.alias, primary.columns, rest = _alias(rest, query)
        if rest and rest[0].word == "MATCH_RECOGNIZE":
            rest = _match(primary, rest, query)
            primary.match_alias, _, rest = _alias(rest, query)
    if rest and rest[0].word not in ("LATERAL", "TABLESAMPLE", "PIVOT", "UNPIVOT"):
        raise query.error(
            rest, "FROM does not go on like this", "write FROM name AS alias, JOIN … ON …, or a comma before the next relation"
        )
    primary.more = rest
    return primary


def _match(primary: Primary, rest: list[Token], query: Query) -> list[Token]:
    if len(rest) < 2 or rest[1].text != "(":
        raise query.error(
            rest[0], "MATCH_RECOGNIZE wants a bracket after it", "write MATCH_RECOGNIZE (PARTITION BY … PATTERN (…) DEFINE …)"
        )
    end = closing(rest, 1, query)
    primary.match, primary.match_at = rest[2:end], rest[0]
    return rest[end + 1 :]


def _relation(tokens: list[Token], query: Query) -> tuple[int, Primary]:
    first = tokens[0]
    if first.text == "(":
        end = closing(tokens, 0, query)
        inner = tokens[1:end]
        if inner and inner[0].word in ("SELECT", "WITH", "FROM", "("):
            return end + 1, Primary(tokens, "query", query=node(inner, query))
        return end + 1, Primary(tokens, "raw")
    if first.word == "TABLE" and len(tokens) > 1 and tokens[1].text == "(":
        end = closing(tokens, 1, query)
        inner = tokens[2:end]
        if inner and inner[0].word in WINDOWS:
            return end + 1, Primary(inner, "window", arguments=inner[2:-1])
    if first.word in WINDOWS and len(tokens) > 1 and tokens[1].text == "(":
        end = closing(tokens, 1, query)
        return end + 1, Primary(tokens[: end + 1], "window", arguments=tokens[2:end])
    if not first.is_name or first.word in ("LATERAL", "VALUES", "UNNEST"):
        return len(tokens), Primary(tokens, "raw")
    end = 1
    while end + 1 < len(tokens) and tokens[end].text == "." and tokens[end + 1].is_name:
        end += 2
    if end < len(tokens) and tokens[end].text == "(":
        return len(tokens), Primary(tokens, "raw")
    return end, Primary(tokens[:end], "name")


def _alias(tokens: list[Token], query: Query) -> tuple[Token | None, list[Token], list[Token]]:
    rest = tokens[1:] if tokens and tokens[0].word == "AS" else tokens
    if not rest or not rest[0].is_name or rest[0].word in ("MATCH_RECOGNIZE", "LATERAL", "TABLESAMPLE", "PIVOT", "UNPIVOT"):
        return None, [], tokens
    if len(rest) > 1 and rest[1].text == "(":
        end = closing(rest, 1, query)
        return rest[0], [part[0] for part in split(rest[2:end])], rest[end + 1 :]
    return rest[0], [], rest[1:]
