"""Repartitioning: which partitions a tuple goes to. Each route gives the same for the same batch, however often it is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from headrace.errors import DefinitionError
from headrace.fronts.trident.operations import CustomStreamGrouping, Task
from headrace.fronts.trident.tuples import Row, stable_hash

Route = Callable[[Task, Iterable[Row], int], Iterator[tuple[int, Row]]]
"""(the partition that sends, its rows, how many partitions there are) -> (partition, row)."""


def shuffle(task: Task, rows: Iterable[Row], partitions: int) -> Iterator[tuple[int, Row]]:
    """Round robin."""
    return (((task.partition + number) % partitions, row) for number, row in enumerate(rows))


def broadcast(task: Task, rows: Iterable[Row], partitions: int) -> Iterator[tuple[int, Row]]:  # noqa: ARG001
    """A copy to each."""
    return ((place, row) for row in rows for place in range(partitions))


def everything(task: Task, rows: Iterable[Row], partitions: int) -> Iterator[tuple[int, Row]]:  # noqa: ARG001
    """All batches to one and the same partition, the first."""
    return ((0, row) for row in rows)


def each_batch(task: Task, rows: Iterable[Row], partitions: int) -> Iterator[tuple[int, Row]]:
    """Each batch to one partition; which one goes by its txid."""
    return (((task.batch.txid or 0) % partitions, row) for row in rows)


def first(task: Task) -> int:  # noqa: ARG001
    """The partition that `everything` goes to."""
    return 0


def of_batch(task: Task) -> int:
    """The partition that `each_batch` goes to."""
    return (task.batch.txid or 0) % task.partitions


def stay(task: Task, rows: Iterable[Row], partitions: int) -> Iterator[tuple[int, Row]]:
    """Partition i to partition i, or i modulo their number."""
    return ((task.partition % partitions, row) for row in rows)


def by_fields(places: Sequence[int]) -> Route:
    """The hash of these values, modulo the number of partitions: equal values, the same partition."""

    def route(task: Task, rows: Iterable[Row], partitions: int) -> Iterator[tuple[int, Row]]:  # noqa: ARG001
        return ((stable_hash(row[place] for place in places) % partitions, row) for row in rows)

    return route


def custom(grouping: Any) -> Route:
    """The user's rule: a CustomStreamGrouping, or a function `(values, partitions)`."""

    def route(task: Task, rows: Iterable[Row], partitions: int) -> Iterator[tuple[int, Row]]:
        if isinstance(grouping, CustomStreamGrouping):
            grouping.prepare(task, "default", list(range(partitions)))
        for row in rows:
            chosen = (
                grouping.chooseTasks(task.partition, list(row))
                if isinstance(grouping, CustomStreamGrouping)
                else grouping(list(row), partitions)
            )
            for place in [chosen] if isinstance(chosen, int) else chosen:
                if not isinstance(place, int) or not 0 <= place < partitions:
                    raise DefinitionError(
                        f"partition: the grouping chose {place!r}, but the partitions are 0 to {partitions - 1}",
                        fix="let it choose among these: their number is that of parallelismHint(n) behind it",
                    )
                yield place, row

    return route
