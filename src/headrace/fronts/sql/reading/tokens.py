"""The words of a query, each with its place, and errors that point at them.

Expressions are not understood here: they are tokens that Spark reads itself. So they are exactly Spark's, and only what Spark lacks on a
stream is ours to know.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from headrace.errors import DefinitionError, QueryError, user_line

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*(?!\+).*?\*/)
      | (?P<hint>/\*\+.*?\*/)
      | (?P<string>[rR]?'(?:[^'\\]|\\.|'')*'|[rR]?"(?:[^"\\]|\\.|"")*")
      | (?P<quoted>`(?:[^`]|``)*`)
      | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[A-Za-z]{0,2}\b|\d+)
      | (?P<word>[^\W\d]\w*)
      | (?P<mark><=>|<=|>=|<>|!=|==|\|\||::|->|=>|[-+*/%=<>()\[\]{},.;:?!|&^~@$])""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    """A word, a name in back quotes, a string, a number or a mark; `start` and `end` are its place in the query that was written."""

    text: str
    kind: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """The word in capitals; of what is no word, its text."""
        return self.text.upper() if self.kind == "word" else self.text

    @property
    def name(self) -> str:
        """The name that it stands for, without quotes."""
        return self.text[1:-1].replace("``", "`") if self.kind == "quoted" else self.text

    @property
    def is_name(self) -> bool:
        return self.kind in ("word", "quoted")

    def become(self, text: str, kind: str = "written") -> Token:
        """Other text at the same place of the query."""
        return replace(self, text=text, kind=kind)


Tokens = Sequence[Token]


@dataclass(frozen=True)
class Query:
    """The text of a query, and the line of the program that has it."""

    text: str
    where: str | None

    def error(self, at: Token | Tokens | int, what: str, fix: str) -> QueryError:
        """An error that shows the word."""
        start, end = _span(at, len(self.text))
        line = self.text.count("\n", 0, start) + 1
        begin = self.text.rfind("\n", 0, start) + 1
        shown = self.text[begin:].split("\n", 1)[0]
        marks = "^" * max(1, min(end, begin + len(shown)) - start)
        lead = f"  {line} | "
        mark = f"{' ' * (len(lead) - 2)}| {' ' * (start - begin)}{marks}"
        return QueryError(f"sql: {what}\n{lead}{shown}\n{mark}", fix=fix, where=self.where, line=line, column=start - begin + 1)

    @contextmanager
    def pointing(self, at: Token | Tokens) -> Iterator[None]:
        """What an operator refuses inside is refused at this word."""
        try:
            yield
        except QueryError:
            raise
        except DefinitionError as error:
            raise self.error(at, error.what, error.fix) from None


def _span(at: Token | Tokens | int, length: int) -> tuple[int, int]:
    if isinstance(at, int):
        return min(at, length), min(at + 1, length)
    many = [at] if isinstance(at, Token) else list(at)
    return (min(token.start for token in many), max(token.end for token in many)) if many else (length, length)


def read(text: str) -> tuple[Query, list[Token]]:
    """A query and its tokens, without comments and the semicolon at the end."""
    query, tokens, place = Query(text, user_line()), [], 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            what = "a string or a name has no end" if text[place] in "'\"`" else f"{text[place]!r} means nothing here"
            raise query.error(place, what, "close the quotes" if text[place] in "'\"`" else "leave it out")
        if match.lastgroup != "space":
            tokens.append(Token(match[0], str(match.lastgroup), match.start(), match.end()))
        place = match.end()
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    if (more := next((token for token in tokens if token.text == ";"), None)) is not None:
        raise query.error(more, "there is more than one statement", "give each to a call of its own")
    for i, token in enumerate(tokens):
        if token.text in OPEN:
            closing(tokens, i, query)
    return query, tokens


OPEN, CLOSE = {"(", "[", "{"}, {")", "]", "}"}


def closing(tokens: Tokens, at: int, query: Query) -> int:
    """The place of the bracket that closes the one at this place."""
    depth = 0
    for i in range(at, len(tokens)):
        depth += (tokens[i].text in OPEN) - (tokens[i].text in CLOSE)
        if depth == 0:
            return i
    raise query.error(tokens[at], "this bracket is not closed", "close it")


def split(tokens: Tokens, on: str = ",") -> list[list[Token]]:
    """The parts between marks or words, outside of brackets; AND of a BETWEEN does not part."""
    parts: list[list[Token]] = [[]]
    depth = between = 0
    for token in tokens:
        depth += (token.text in OPEN) - (token.text in CLOSE)
        if depth == 0 and token.word == on and not (on == "AND" and between):
            parts.append([])
            continue
        if depth == 0 and on == "AND":
            between += (token.word == "BETWEEN") - (token.word == "AND" and between > 0)
        parts[-1].append(token)
    return parts


def conditions(tokens: Tokens) -> list[list[Token]]:
    """The conditions that are joined by AND; with an OR outside of brackets they are one."""
    if len(split(tokens, "OR")) > 1:
        return [[tokens[0].become("(", "mark"), *tokens, tokens[-1].become(")", "mark")]]
    return [part for part in split(tokens, "AND") if part]


def joined(parts: Iterable[Tokens], at: Token) -> list[Token]:
    """Conditions that must all hold, as one."""
    return [token for part in parts if part for token in (at.become("AND", "word"), at.become("(", "mark"), *part, at.become(")", "mark"))][
        1:
    ]


def same(one: Tokens, other: Tokens) -> bool:
    """Whether they read the same, whatever the case and the quotes of names."""
    return [_plain(token) for token in one] == [_plain(token) for token in other]


def _plain(token: Token) -> str:
    return token.name.lower() if token.is_name else token.text


def text(tokens: Iterable[Token]) -> str:
    return " ".join(token.text for token in tokens)


def shown(tokens: Tokens, query: Query) -> str:
    """As it was written."""
    return query.text[tokens[0].start : tokens[-1].end] if tokens else ""


def quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def named(name: str, at: Token) -> Token:
    """A column or table by its name, at a place of the query."""
    return at.become(quote(name), "quoted")


def words(written: str, at: Token) -> list[Token]:
    """Tokens of our own, at a place of the query."""
    return [at.become(match[0], str(match.lastgroup)) for match in _TOKEN.finditer(written) if match.lastgroup != "space"]
