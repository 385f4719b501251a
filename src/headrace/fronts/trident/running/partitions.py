"""The tuples of a node, by partition, in this process. `distributed.py` has the same over an RDD; what is done with them is one code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from headrace.fronts.trident.running.work import Work
from headrace.fronts.trident.tuples import Row


class Partitions(Protocol):
    """What a batch's tuples can do, wherever they are."""

    @property
    def count(self) -> int:
        """How many partitions."""

    def process(self, work: Work) -> Partitions:
        """`work(partition, rows)` of each partition."""

    def exchange(self, work: Work, count: int) -> Partitions:
        """`work(partition, rows)` says which of `count` partitions each row goes to."""

    def beside(self, others: Sequence[Partitions], work: Work) -> Partitions:
        """`work(partition, rows, rows of the first other, …)` of each partition, all of which are equally many."""

    def computed(self) -> Partitions:
        """The same, computed once and not again."""

    def here(self) -> Local:
        """The same in this process."""


@dataclass(frozen=True)
class Local:
    """A list for each partition."""

    rows: list[list[Row]]

    @property
    def count(self) -> int:
        """How many partitions."""
        return len(self.rows)

    def process(self, work: Work) -> Local:
        """Of each partition, one after the other."""
        return Local([work(number, rows) for number, rows in enumerate(self.rows)])

    def exchange(self, work: Work, count: int) -> Local:
        """Rows keep the order of their partitions."""
        made: list[list[Row]] = [[] for _ in range(count)]
        for number, rows in enumerate(self.rows):
            for place, row in work(number, rows):
                made[place].append(row)
        return Local(made)

    def beside(self, others: Sequence[Partitions], work: Work) -> Local:
        """Partition by partition."""
        sides = [self.rows, *(other.here().rows for other in others)]
        return Local([work(number, *rows) for number, rows in enumerate(zip(*sides, strict=True))])

    def computed(self) -> Local:
        """It is."""
        return self

    def here(self) -> Local:
        """It is."""
        return self
