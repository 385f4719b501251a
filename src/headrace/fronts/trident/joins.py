"""Joins within a batch: the tuples of several streams that have the same key."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import product
from typing import Any

from headrace.fronts.trident.operations import GroupedMultiReducer
from headrace.fronts.trident.tuples import TridentCollector, TridentTuple


class JoinType(Enum):
    """Of each stream: INNER, a key that it lacks does not come out; OUTER, it comes out with None for the stream's values."""

    INNER = "inner"
    OUTER = "outer"

    @staticmethod
    def mixed(*types: JoinType) -> list[JoinType]:
        """One for each stream: `JoinType.mixed(JoinType.INNER, JoinType.OUTER)` is a left outer join."""
        return list(types)


class JoinOutFieldsMode(Enum):
    """What comes out: COMPACT, the key once and then the other fields of each stream; PRESERVE, all fields of each stream."""

    COMPACT = "compact"
    PRESERVE = "preserve"


class Joiner(GroupedMultiReducer):
    """Every combination of one tuple of each stream, for one key."""

    def __init__(self, types: Sequence[JoinType], widths: Sequence[int]) -> None:
        self._types, self._widths = types, widths

    def init(self, collector: TridentCollector, group: TridentTuple) -> list[list[tuple[Any, ...]]]:
        """A list for each stream."""
        return [[] for _ in self._types]

    def execute(
        self, state: list[list[tuple[Any, ...]]], streamIndex: int, group: TridentTuple, input: TridentTuple, collector: TridentCollector
    ) -> None:
        """Into the list of its stream."""
        state[streamIndex].append(tuple(input))

    def complete(self, state: list[list[tuple[Any, ...]]], group: TridentTuple, collector: TridentCollector) -> None:
        """The combinations; a stream that lacks the key has one tuple of None if it is OUTER."""
        sides = [
            rows or ([(None,) * width] if kind is JoinType.OUTER else [])
            for rows, kind, width in zip(state, self._types, self._widths, strict=True)
        ]
        for combination in product(*sides):
            collector.emit([value for side in combination for value in side])
