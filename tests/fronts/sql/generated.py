"""Patterns of rows and rows, made by chance; and the matches that backtracking finds."""

from __future__ import annotations

import random

from tests.fronts.sql.backtracking import matches

from headrace.ops.patterns.preferred import Choice, Repeated, RowPattern, Sequel, Variable, variables

CONDITIONS = {"A": lambda price: price != 1, "B": lambda price: price in (1, 2), "C": lambda price: price > 1}
DEFINE = {"A": "price <> 1", "B": "price IN (1, 2)", "C": "price > 1"}
COUNTS = [(0, None), (1, None), (0, 1), (2, 3), (2, None)]
SYMBOLS = 40


class Made:
    """A pattern that does not match no rows, and the prices of some symbols."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.past_last = self.random.random() < 0.5
        self.pattern = self._pattern(3)
        while matches(self.pattern, [], CONDITIONS, past_last=True) is None:
            self.pattern = self._pattern(3)
        self.symbols = {f"s{i}": [self.random.randrange(4) for _ in range(self.random.randrange(1, 10))] for i in range(SYMBOLS)}

    def _pattern(self, depth: int) -> RowPattern:
        kind = self.random.choice(["variable", "sequel", "choice", "repeated"]) if depth else "variable"
        if kind == "variable":
            return Variable(self.random.choice("ABC"))
        if kind == "repeated":
            least, most = self.random.choice(COUNTS)
            return Repeated(self._pattern(depth - 1), least, most, self.random.random() < 0.4)
        parts = tuple(self._pattern(depth - 1) for _ in range(self.random.randrange(2, 4)))
        return Sequel(parts) if kind == "sequel" else Choice(parts)

    @property
    def clauses(self) -> str:
        defined = ", ".join(f"{name} AS {condition}" for name, condition in DEFINE.items() if name in variables(self.pattern))
        skip = "PAST LAST ROW" if self.past_last else "TO NEXT ROW"
        return f"""MEASURES FIRST(at) AS f, LAST(at) AS l, array_join(collect_list(match.__step), '') AS taken
                   AFTER MATCH SKIP {skip} PATTERN ({written(self.pattern)}) DEFINE {defined}"""

    def matches(self, prices: list[int]) -> list[tuple[int, int, str]]:
        return matches(self.pattern, prices, CONDITIONS, past_last=self.past_last) or []


def written(pattern: RowPattern) -> str:
    match pattern:
        case Variable(name):
            return name
        case Sequel(parts):
            return "(" + " ".join(map(written, parts)) + ")"
        case Choice(parts):
            return "(" + " | ".join(map(written, parts)) + ")"
        case Repeated(part, least, most, reluctant):
            return f"({written(part)}){{{least},{'' if most is None else most}}}{'?' if reluctant else ''}"
