"""Patterns and records by chance: words of the surface in any order that it takes."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from tests.ops.patterns.oracle import Meaning, Record
from tests.ops.patterns.running import is_, letter, number

from headrace.errors import DefinitionError
from headrace.ops.patterns.checks import check_pattern
from headrace.ops.patterns.pattern import Pattern, group, step

RISING = "n >= coalesce(last(match.n), 0)"
FEW = "coalesce(sum(match.n), 0) < 12 and left(v, 1) in ('a', 'b')"
UNLIKE_FIRST = "left(v, 1) <> left(first(match.v), 1)"

MEANINGS: dict[str, Meaning] = {
    **{text: meaning for one in "abcd" for text, meaning in letter(one).items()}, **letter("a", "b"), **letter("b", "c"),
    RISING: lambda record, taken: number(record.v) >= number(_all(taken)[-1].v) if _all(taken) else True,
    FEW: lambda record, taken: sum(number(each.v) for each in _all(taken)) < 12 and record.v[0] in "ab",
    UNLIKE_FIRST: lambda record, taken: bool(_all(taken)) and record.v[0] != _all(taken)[0].v[0],
}  # fmt: skip
CONDITIONS = [is_("a"), is_("b"), is_("c"), is_("d"), is_("a", "b"), is_("b", "c"), *(is_(one) for one in "abc"), RISING, FEW, UNLIKE_FIRST]


def _all(taken: Any) -> list[Record]:
    """What a match has taken, in the order of time; of one time, in that of arrival, which is that of their identity here."""
    return sorted((record for records in taken.values() for record in records), key=lambda record: record.place)


@dataclass(frozen=True)
class Chance:
    """One pattern with a way to skip, by its seed."""

    seed: int

    @property
    def pattern(self) -> Pattern:
        chance = random.Random(self.seed)
        while True:
            try:
                pattern = self._sequence(chance, [f"s{i}" for i in range(8)], chance.randint(1, 3), depth=0)
                if chance.random() < 0.7 or pattern.parts[-1].absent:
                    pattern = pattern.within(f"{chance.randint(2, 9)} seconds")
                check_pattern(pattern)
            except DefinitionError:
                continue
            return pattern

    @property
    def skip(self) -> str:
        chance, steps = random.Random(self.seed), [part.name for part in self.pattern.steps() if not part.absent]
        one = chance.choice(steps)
        return chance.choice(["none", "none", "to next", "past last", f"to first {one}", f"to last {one}"])

    def records(self, inputs: int) -> list[list[Record]]:
        """In the order of time, some of equal times."""
        chance = random.Random(self.seed)
        return [self._records(chance) for _ in range(inputs)]

    def _records(self, chance: random.Random) -> list[Record]:
        at, found = 0, []
        for place in range(chance.randint(2, 7)):
            at += chance.choice([0, 1, 1, 2, 4])
            found.append(Record(f"{chance.choice('aaabbbccd')}{chance.randint(1, 9)}", at, place))
        return found

    def _sequence(self, chance: random.Random, names: list[str], more: int, depth: int) -> Pattern:
        def head() -> Pattern:
            return self._sequence(chance, names, 1, depth + 1)

        grouped = depth == 0 and chance.random() < 0.2
        made = self._quantified(chance, group(head()) if grouped else step(names.pop(0), chance.choice(CONDITIONS)))
        for _ in range(more):
            word = chance.choice([
                made.next, made.followed_by, made.followed_by, made.followed_by_any, made.not_next, made.not_followed_by,
            ])  # fmt: skip
            absent = word in (made.not_next, made.not_followed_by)
            grouped = depth == 0 and not absent and chance.random() < 0.15
            made = word(head()) if grouped else word(names.pop(0), chance.choice(CONDITIONS))
            made = made if absent else self._quantified(chance, made)
            if chance.random() < 0.1:
                made = made.within(f"{chance.randint(1, 4)} seconds", after="previous")
        return made

    def _quantified(self, chance: random.Random, made: Pattern) -> Pattern:
        often = chance.choice(["", "", "", "one_or_more", "times", "times", "at_least"])
        if often:
            numbers = {"one_or_more": (), "times": (chance.randint(0, 2), chance.randint(1, 3)), "at_least": (2,)}[often]
            made = getattr(made, often)(*numbers)
            made = getattr(made, chance.choice(["consecutive", "combinations"]))() if chance.random() < 0.5 else made
            made = made.greedy() if chance.random() < 0.3 else made
            made = made.until(chance.choice(CONDITIONS)) if often != "times" and chance.random() < 0.3 else made
        return made.optional() if chance.random() < 0.2 else made
