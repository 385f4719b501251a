"""Aggregates over the tuples of a partition or of a group: the three kinds of aggregator as one, and several at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from headrace.errors import DefinitionError, user_line
from headrace.fronts.trident.nodes import Process
from headrace.fronts.trident.operations import Aggregator, CombinerAggregator, ReducerAggregator, Task, called
from headrace.fronts.trident.tuples import Fields, Row, TridentCollector, by_key, check_known, view


@dataclass(frozen=True)
class Part:
    """One aggregator of a chain: what it reads, and what it gives."""

    inputs: Fields
    aggregator: Any
    outputs: Fields

    @property
    def combines(self) -> bool:
        """Whether a part of the work can be done before the tuples come together."""
        return isinstance(self.aggregator, CombinerAggregator)


def parts(operation: str, arguments: Sequence[Any], fields: Sequence[str]) -> Part:
    """`[inFields,] aggregator, outFields`, as every aggregating operation takes them."""
    if len(arguments) not in (2, 3):
        raise _unclear(operation)
    inputs = Fields(arguments[0]) if len(arguments) == 3 else Fields()
    aggregator, outputs = arguments[-2], Fields(arguments[-1])
    if not isinstance(aggregator, CombinerAggregator | ReducerAggregator | Aggregator):
        raise _unclear(operation, aggregator)
    if isinstance(aggregator, CombinerAggregator | ReducerAggregator) and len(outputs) != 1:
        raise DefinitionError(
            f"{operation}: {called(aggregator)} gives one value, not {len(outputs)}",
            fix='name one field for it: ["count"]',
            where=user_line(),
        )
    check_known(f"{operation}({called(aggregator)})", inputs, fields)
    return Part(inputs, aggregator, outputs)


def _unclear(operation: str, aggregator: Any = None) -> DefinitionError:
    what = f"{operation}: {aggregator!r} is no aggregator" if aggregator is not None else f"{operation}: which fields and which aggregator?"
    return DefinitionError(
        what, fix=f'write {operation}(["in"], aggregator, ["out"]), or {operation}(aggregator, ["out"]); it is an object: Count()',
        where=user_line(),
    )  # fmt: skip


def full(chain: Sequence[Part], fields: Sequence[str], label: str) -> Process:
    """All of the work over some tuples: `init`, then each tuple, then `complete`."""
    return _run([_whole(part, fields, label) for part in chain])


def rest(chain: Sequence[Part], fields: Sequence[str]) -> Process:
    """Where all of the chain combine: the values that `full` gave for each partition, together."""
    return _run([_combining(part, list(fields).index(part.outputs[0])) for part in chain])


def grouped(process: Process, keys: Sequence[str], fields: Sequence[str], operation: str) -> Process:
    """The same for each group on its own; the key comes first."""
    places = [list(fields).index(name) for name in keys]

    def groups(task: Task, rows: Iterable[Row]) -> Iterator[Row]:
        for key, some in by_key(rows, places, operation).items():
            yield from (key + values for values in process(task, some))

    return groups


def once(process: Process, place: Callable[[Task], int]) -> Process:
    """Only in one partition, the one that has all tuples: others have nothing to say, not even that there were none."""
    return lambda task, rows: process(task, rows) if task.partition == place(task) else []


Fold = Callable[[Task, Iterable[Row]], list[Row]]


def _run(folds: Sequence[Fold]) -> Process:
    def run(task: Task, rows: Iterable[Row]) -> Iterator[Row]:
        rows = list(rows)
        outputs = [fold(task, rows) for fold in folds]
        return (sum(combination, ()) for combination in product(*outputs))

    return run


def _whole(part: Part, fields: Sequence[str], label: str) -> Fold:
    see, aggregator = view(fields, part.inputs), part.aggregator

    def combine(task: Task, rows: Iterable[Row]) -> list[Row]:  # noqa: ARG001
        value = aggregator.zero()
        for row in rows:
            new = aggregator.init(see(row))
            value = new if value is None else aggregator.combine(value, new)
        return [(value,)]

    def reduce(task: Task, rows: Iterable[Row]) -> list[Row]:  # noqa: ARG001
        value = aggregator.init()
        for row in rows:
            value = aggregator.reduce(value, see(row))
        return [(value,)]

    def aggregate(task: Task, rows: Iterable[Row]) -> list[Row]:
        collector = TridentCollector(label, part.outputs)
        state = aggregator.init(task.batch, collector)
        for row in rows:
            aggregator.aggregate(state, see(row), collector)
        aggregator.complete(state, collector)
        return collector.take()

    return combine if part.combines else reduce if isinstance(aggregator, ReducerAggregator) else aggregate


def _combining(part: Part, place: int) -> Fold:
    aggregator = part.aggregator

    def combine(task: Task, rows: Iterable[Row]) -> list[Row]:  # noqa: ARG001
        value = aggregator.zero()
        for row in rows:
            value = row[place] if value is None else aggregator.combine(value, row[place])
        return [(value,)]

    return combine
