"""Which name means which column: a relation's columns by its alias, and what they are called once relations have been joined."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headrace.fronts.sql.reading.tokens import Token, Tokens, named


@dataclass(frozen=True)
class Scope:
    """For each alias, in the order of FROM, its columns as they are written, and as they are called in the stream."""

    columns: dict[str, dict[str, str]]

    @staticmethod
    def of(alias: str | None, columns: Iterable[str]) -> Scope:
        return Scope({(alias or "").lower(): {name: name for name in columns}})

    def called(self, name: str, alias: str | None = None) -> str | None:
        """What a column is called in the stream; None if there is none, or several."""
        tables = self.columns.values() if alias is None else [self.columns.get(alias.lower(), {})]
        names = {real for table in tables for written, real in table.items() if written.lower() == name.lower()}
        return names.pop() if len(names) == 1 else None

    def side(self, tokens: Tokens) -> set[str]:
        """The aliases whose columns an expression names."""
        sides = set()
        for i, token in enumerate(tokens):
            if not token.is_name or (i and tokens[i - 1].text == "."):
                continue
            if i + 2 < len(tokens) and tokens[i + 1].text == "." and self.called(tokens[i + 2].name, token.name) is not None:
                sides.add(token.name.lower())
            elif not (i + 1 < len(tokens) and tokens[i + 1].text == "("):
                sides |= {alias for alias, table in self.columns.items() if token.name.lower() in (name.lower() for name in table)}
        return sides

    def plain(self, tokens: Tokens) -> list[Token]:
        """The expression without aliases: each column by what it is called in the stream."""
        result: list[Token] = []
        i = 0
        while i < len(tokens):
            token = tokens[i]
            free = token.is_name and not (i and tokens[i - 1].text == ".")
            if free and i + 2 < len(tokens) and tokens[i + 1].text == ".":
                if (real := self.called(tokens[i + 2].name, token.name)) is not None and tokens[i + 2].is_name:
                    result.append(named(real, tokens[i + 2]))
                    i += 3
                    continue
                if tokens[i + 2].text == "*" and token.name.lower() in self.columns:
                    result += self._all([token.name.lower()], tokens[i + 2])
                    i += 3
                    continue
            call = i + 1 < len(tokens) and tokens[i + 1].text == "("
            if free and not call and (real := self.called(token.name)) is not None and real.lower() != token.name.lower():
                token = named(real, token)
            result.append(token)
            i += 1
        return result

    def star(self, at: Token) -> list[Token]:
        """`*`: all columns, by the names that they were written with."""
        return self._all(list(self.columns), at)

    def _all(self, aliases: Sequence[str], at: Token) -> list[Token]:
        result: list[Token] = []
        for alias in aliases:
            for written, real in self.columns[alias].items():
                result += [at.become(",", "mark")] if result else []
                result += [named(real, at), *([at.become("AS", "word"), named(written, at)] if written != real else [])]
        return result
