"""Patterns of rows as SQL's MATCH_RECOGNIZE has them: records of a key that follow each other directly, and of each start one match.

That is the *preferred* one: of alternatives the left one; of a greedy quantifier the most repetitions, of a reluctant one the fewest, and
earlier parts of the pattern decide before later ones. Branches of one start are kept in that order; when one is complete those behind it
are dropped, and it is known to be the match when those before it have ended.

    A B+ C? with rows  a b b b x      the match a b b b is known with x: until then one more b, or a c, would be preferred

A match that could go on with the next record, as one that ends with a greedy loop, comes with the first record that does not fit, when the
time of `within` is over, or at the end of the input.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column, DataFrame

from headrace.definitions import arguments, durations
from headrace.errors import DefinitionError, user_line
from headrace.kernel.patterns import Condition, PatternSpec, scan_pattern
from headrace.ops.patterns.matching import MOST

COMPLETE = -1
MOST_STATES = 10_000


@dataclass(frozen=True)
class Variable:
    """A row that meets the condition of this name."""

    name: str


@dataclass(frozen=True)
class Sequel:
    """One after the other."""

    parts: tuple[RowPattern, ...]


@dataclass(frozen=True)
class Choice:
    """One of these, the first if it can be."""

    parts: tuple[RowPattern, ...]


@dataclass(frozen=True)
class Repeated:
    """So often at least, and `most` (None: no end) at most; as often as can be, or, `reluctant`, as few times."""

    part: RowPattern
    least: int
    most: int | None
    reluctant: bool = False


RowPattern = Variable | Sequel | Choice | Repeated


@dataclass(frozen=True, kw_only=True)
class Rows:
    """What is looked for.

    pattern   the pattern
    define    the condition of a variable, over what the match has taken with the record at hand; one that has none fits every record
    measures  columns of a match: aggregates over what a variable has taken (`sum(A.price)`), `A.price` of its last record, `match` for all
    unions    names that stand for several variables
    skip      where the next match may begin: "next", the record behind the first one of the match; "last", behind its last one; "to first"
              or "to last" of the variable `skip_to`
    within    the last record is less than this after the first
    """

    pattern: RowPattern
    define: Mapping[str, Column]
    measures: Sequence[Column]
    unions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    skip: str = "last"
    skip_to: str | None = None
    within: str | None = None


def recognize(
    df: DataFrame,
    rows: Rows,
    *,
    keys: Sequence[str],
    event_time: str,
    order: Sequence[str] = (),
    delay: str = "0 seconds",
    most: int = MOST,
) -> DataFrame:
    """The matches among the records of each key, in the order of `event_time`: the columns `start`, `end` (when it was known), the keys and
    the measures, in the port `main`; and the port `late`.

    State: for each match on its way what conditions and measures ask for. So many may a key have as `most` says.
    """
    names = variables(rows.pattern)
    automaton = _Machine(names).automaton(rows.pattern, set(rows.define))
    if COMPLETE in automaton["start"]:
        raise DefinitionError(
            "match: the pattern also fits no rows, and so everywhere", fix="say of a variable that it comes once: A+ in the place of A*",
            where=user_line(),
        )  # fmt: skip
    spec = PatternSpec(
        automaton=json.dumps(
            automaton
            | {
                "done": -1, "preferred": True, "skip": rows.skip, "skipStep": -1 if rows.skip_to is None else names.index(rows.skip_to),
                "mustSkip": rows.skip_to is not None, "within": 0 if rows.within is None else durations.micros(rows.within, "within"),
            }
        ),
        steps=names,
        unions=rows.unions,
        conditions=[
            Condition(arguments.expression(f"match: {name}", rows.define[name]), f"the condition of '{name}'", user_line())
            for name in names if name in rows.define
        ],
        output=list(rows.measures),
        time=event_time,
        timed_out=False,
        alarm=True,
        most=most,
    )  # fmt: skip
    return scan_pattern(df, keys=list(keys), spec=spec, time={"event_time": event_time, "delay": delay, "order": list(order)})


def variables(pattern: RowPattern) -> list[str]:
    """The variables of a pattern, in the order in which they are first named."""
    match pattern:
        case Variable(name):
            return [name]
        case Repeated(part):
            return variables(part)
        case Sequel(parts) | Choice(parts):
            return list(dict.fromkeys(name for part in parts for name in variables(part)))


class _Machine:
    """The pattern as states: one takes a row for a variable and goes on with another, or it is several of which one is chosen."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.takes: dict[int, tuple[str, int]] = {}
        self.chooses: dict[int, list[int]] = {}
        self.number = 0

    def automaton(self, pattern: RowPattern, defined: set[str]) -> dict[str, Any]:
        end = self._new()
        start = self._state(pattern, end)
        items = {state: i for i, state in enumerate(sorted(self.takes))}
        conditions = {name: i + 1 for i, name in enumerate(name for name in self.names if name in defined)}

        def ordered(state: int) -> list[int]:
            return [COMPLETE if each == end else items[each] for each in self._reached(state, set())]

        edges = [
            {
                "step": self.names.index(name),
                "when": [conditions[name]] if name in conditions else [],
                "to": ordered(to),
                "completes": False,
            }
            for name, to in (self.takes[state] for state in sorted(self.takes))
        ]
        return {
            "items": [{"edges": [edge], "kills": -1, "alive": True, "pending": False, "own": 0} for edge in edges],
            "start": ordered(start),
        }

    def _new(self) -> int:
        self.number += 1
        if self.number > MOST_STATES:
            raise DefinitionError(
                f"match: the pattern has more than {MOST_STATES} states, written out", fix="use smaller numbers in {…}", where=user_line()
            )
        return self.number

    def _state(self, pattern: RowPattern, to: int) -> int:
        """The state from which the pattern leads to another one."""
        match pattern:
            case Variable(name):
                state = self._new()
                self.takes[state] = (name, to)
                return state
            case Sequel(parts):
                for part in reversed(parts):
                    to = self._state(part, to)
                return to
            case Choice(parts):
                return self._choice([self._state(part, to) for part in parts])
            case Repeated():
                return self._repeated(pattern, to)

    def _repeated(self, pattern: Repeated, to: int) -> int:
        def chosen(more: int) -> list[int]:
            return [to, more] if pattern.reluctant else [more, to]

        if pattern.most is None:
            state = self._choice([])
            self.chooses[state] = chosen(self._state(pattern.part, state))
        else:
            state = to
            for _ in range(pattern.most - pattern.least):
                state = self._choice(chosen(self._state(pattern.part, state)))
        for _ in range(pattern.least):
            state = self._state(pattern.part, state)
        return state

    def _choice(self, states: list[int]) -> int:
        state = self._new()
        self.chooses[state] = states
        return state

    def _reached(self, state: int, seen: set[int]) -> list[int]:
        """The states that take a row, or the end, that are reached from this one, in the order of preference."""
        if state in seen:
            return []
        seen.add(state)
        if state not in self.chooses:
            return [state]
        return [each for to in self.chooses[state] for each in self._reached(to, seen)]
