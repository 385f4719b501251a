"""PATTERN (…) and the other clauses of MATCH_RECOGNIZE, read."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import permutations

from headrace.fronts.sql.reading.tokens import CLOSE, OPEN, Query, Token, closing, split
from headrace.ops.patterns.preferred import Choice, Repeated, RowPattern, Sequel, Variable

_CLAUSES = {
    "PARTITION": "BY", "ORDER": "BY", "MEASURES": None, "ONE": "ROW", "ALL": "ROWS", "AFTER": "MATCH", "PATTERN": "(", "WITHIN": None,
    "SUBSET": None, "DEFINE": None,
}  # fmt: skip
_MOST_PERMUTED = 5


@dataclass
class Clauses:
    """The tokens of each clause, behind its words; and its first word."""

    parts: dict[str, list[Token]] = field(default_factory=dict)
    words: dict[str, Token] = field(default_factory=dict)

    def part(self, name: str) -> list[Token]:
        return self.parts.get(name, [])


def clauses(tokens: list[Token], query: Query, at: Token) -> Clauses:
    result, current, depth = Clauses(), "", 0
    i = 0
    while i < len(tokens):
        token = tokens[i]
        depth += (token.text in OPEN) - (token.text in CLOSE)
        after = tokens[i + 1].word if i + 1 < len(tokens) else ""
        wanted = _CLAUSES.get(token.word, "") if token.kind == "word" else ""
        if depth == 0 and token.word in _CLAUSES and token.kind == "word" and (wanted is None or after == wanted):
            current = token.word
            result.parts[current], result.words[current] = [], token
            i += 1 if wanted in (None, "(") else 2
            continue
        if not current:
            raise query.error(
                token, "MATCH_RECOGNIZE does not begin like this", "write PARTITION BY … ORDER BY … MEASURES … PATTERN (…) DEFINE …"
            )
        result.parts[current].append(token)
        i += 1
    if "PATTERN" not in result.parts:
        raise query.error(at, "MATCH_RECOGNIZE has no PATTERN", "write PATTERN (A B+) and DEFINE B AS …")
    return result


def pattern(tokens: list[Token], query: Query) -> RowPattern:
    """The pattern between the brackets of PATTERN."""
    if len(tokens) < 3 or tokens[0].text != "(" or closing(tokens, 0, query) != len(tokens) - 1:
        raise query.error(tokens, "PATTERN is in brackets, and behind it are WITHIN, SUBSET and DEFINE", "write PATTERN (A B+)")
    return _Reader(tokens[1:-1], query).choice()


class _Reader:
    def __init__(self, tokens: list[Token], query: Query) -> None:
        self.tokens, self.query, self.at = tokens, query, 0

    @property
    def next(self) -> str:
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    def choice(self) -> RowPattern:
        parts = [self._sequel()]
        while self.next == "|":
            self.at += 1
            parts.append(self._sequel())
        if self.at < len(self.tokens):
            raise self.query.error(self.tokens[self.at], "the pattern does not go on like this", "write variables, ( ), |, and * + ? {n,m}")
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _sequel(self) -> RowPattern:
        parts = []
        while self.at < len(self.tokens) and self.next != "|":
            parts.append(self._quantified(self._one()))
        if not parts:
            at = self.tokens[min(self.at, len(self.tokens) - 1)] if self.tokens else self.tokens
            raise self.query.error(at, "a part of the pattern is empty", "name a variable; for something that may be missing write (A)?")
        return parts[0] if len(parts) == 1 else Sequel(tuple(parts))

    def _one(self) -> RowPattern:
        token = self.tokens[self.at]
        if token.text == "(":
            end = closing(self.tokens, self.at, self.query)
            inner = self.tokens[self.at + 1 : end]
            self.at = end + 1
            if not inner:
                raise self.query.error(token, "the empty pattern fits everywhere", "leave it out")
            return _Reader(inner, self.query).choice()
        if token.word == "PERMUTE" and self.at + 1 < len(self.tokens) and self.tokens[self.at + 1].text == "(":
            end = closing(self.tokens, self.at + 1, self.query)
            parts = [_Reader(part, self.query).choice() for part in split(self.tokens[self.at + 2 : end])]
            if len(parts) > _MOST_PERMUTED:
                raise self.query.error(token, f"PERMUTE of {len(parts)} parts has too many orders", f"give at most {_MOST_PERMUTED}")
            self.at = end + 1
            return Choice(tuple(Sequel(order) for order in permutations(parts)))
        if token.text == "$":
            raise self.query.error(
                token, "$ is the last row of a partition, and a stream has no last row", "leave it out; give WITHIN to bound a match"
            )
        if token.text == "^":
            raise self.query.error(
                token, "^ is the first row of a partition, and a stream forgets rows that are in no match", "leave it out"
            )
        if token.text == "{":
            raise self.query.error(
                token, "{- … -} leaves rows out of ALL ROWS PER MATCH, which is not known here", "leave it out, and filter by CLASSIFIER()"
            )
        if not token.is_name:
            raise self.query.error(token, "the pattern has no variable here", "write variables, ( ), |, and * + ? {n,m}")
        self.at += 1
        return Variable(token.name.upper() if token.kind == "word" else token.name)

    def _quantified(self, part: RowPattern) -> RowPattern:
        least: int
        most: int | None
        match self.next:
            case "*":
                least, most = 0, None
            case "+":
                least, most = 1, None
            case "?":
                least, most = 0, 1
            case "{" if self.at + 1 < len(self.tokens) and self.tokens[self.at + 1].text != "-":
                least, most = self._numbers()
            case _:
                return part
        self.at += 1
        reluctant = self.next == "?"
        self.at += reluctant
        return Repeated(part, least, most, reluctant)

    def _numbers(self) -> tuple[int, int | None]:
        end = closing(self.tokens, self.at, self.query)
        inner = self.tokens[self.at + 1 : end]
        texts = ["".join(token.text for token in part) for part in split(inner)]
        if len(texts) > 2 or not any(texts) or not all(text.isdigit() or not text for text in texts):
            raise self.query.error(self.tokens[self.at : end + 1], "this says not how often", "write {3}, {2,}, {2,4} or {,4}")
        least = int(texts[0] or 0)
        most = least if len(texts) == 1 else int(texts[1]) if texts[1] else None
        if most is not None and (most < least or most == 0):
            raise self.query.error(
                self.tokens[self.at : end + 1], "the second number is less than the first, or none at all", "write {2,4}"
            )
        self.at = end
        return least, most
