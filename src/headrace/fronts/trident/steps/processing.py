"""What the operations do with the tuples of one partition. Each function here makes such a function: (task, rows) -> rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from headrace.errors import DefinitionError
from headrace.fronts.trident.nodes import Process
from headrace.fronts.trident.operations import BaseFunction, Task, called, method
from headrace.fronts.trident.tuples import Row, TridentCollector, TridentTuple, unfit, view


def each(function: Any, fields: Sequence[str], inputs: Sequence[str], new: Sequence[str], label: str) -> Process:
    """Every emit is appended to a copy of the tuple."""
    see = view(fields, inputs)
    emits = isinstance(function, BaseFunction) or hasattr(function, "execute")

    def process(task: Task, rows: Iterable[Row]) -> Iterator[Row]:  # noqa: ARG001
        collector = TridentCollector(label, new)
        for row in rows:
            if emits:
                function.execute(see(row), collector)
            else:
                for values in function(see(row)) or ():
                    collector.emit(values)
            yield from (row + values for values in collector.take())

    return process


def keep(function: Any, fields: Sequence[str], inputs: Sequence[str]) -> Process:
    """Tuples stay if the filter is true."""
    see, is_keep = view(fields, inputs), method(function, "isKeep")
    assert is_keep is not None
    return lambda task, rows: (row for row in rows if is_keep(see(row)))


def replace(function: Callable[..., Any], fields: Sequence[str], new: Sequence[str], label: str) -> Process:
    """One tuple for each."""
    see = view(fields, fields)
    return lambda task, rows: (_checked(function(see(row)), new, label) for row in rows)


def replace_by_many(function: Callable[..., Any], fields: Sequence[str], new: Sequence[str], label: str) -> Process:
    """Any number of tuples for each."""
    see = view(fields, fields)
    return lambda task, rows: (_checked(values, new, label) for row in rows for values in function(see(row)) or ())


def _checked(values: Any, fields: Sequence[str], label: str) -> Row:
    if isinstance(values, str | bytes) or not isinstance(values, Sequence) or len(values) != len(fields):
        raise unfit(label, values, fields)
    return tuple(values)


def look(consumer: Callable[..., Any], fields: Sequence[str]) -> Process:
    """Tuples pass."""
    see = view(fields, fields)

    def process(task: Task, rows: Iterable[Row]) -> Iterator[Row]:  # noqa: ARG001
        for row in rows:
            consumer(see(row))
            yield row

    return process


def project(fields: Sequence[str], names: Sequence[str]) -> Process:
    """Some of the values."""
    places = [list(fields).index(name) for name in names]
    return lambda task, rows: (tuple(row[place] for place in places) for row in rows)


def extreme(fields: Sequence[str], by: Sequence[str], key: Callable[[Any], Any] | None, *, least: bool, whole: bool) -> Process:
    """The one tuple of a partition that is least or greatest: the first of equals; none if there are none."""
    see, choose = view(fields, by), min if least else max

    def rank(row: Row) -> Any:
        seen: Any = see(row) if whole else see(row)[0]
        return seen if key is None else key(seen)

    return lambda task, rows: [choose(rows, key=rank)] if rows else []


def query(function: Any, fields: Sequence[str], inputs: Sequence[str], new: Sequence[str], label: str) -> Process:
    """Ask for all tuples at once, then append each answer."""
    see = view(fields, inputs)

    def process(task: Task, state: Any, rows: list[Row]) -> Iterator[Row]:  # noqa: ARG001
        tuples = [see(row) for row in rows]
        answers = list(function.batchRetrieve(state, tuples)) if rows else []
        if len(answers) != len(rows):
            raise DefinitionError(
                f"{label}: batchRetrieve gave {len(answers)} answers for {len(rows)} tuples", fix="give one for each tuple, in their order"
            )
        collector = TridentCollector(label, new)
        for row, seen, answer in zip(rows, tuples, answers, strict=True):
            function.execute(seen, answer, collector)
            yield from (row + values for values in collector.take())

    return process


def update(updater: Any, fields: Sequence[str], inputs: Sequence[str], new: Sequence[str], label: str) -> Process:
    """Change a state by all tuples at once, if there are any."""
    see = view(fields, inputs)

    def process(task: Task, state: Any, rows: list[Row]) -> list[Row]:
        if not rows:  # so that of many partitions only those do something that have something
            return []
        collector = TridentCollector(label, new)
        state.beginCommit(task.batch.txid)
        updater.updateState(state, [see(row) for row in rows], collector)
        state.commit(task.batch.txid)
        return collector.take()

    return process


def multi_reduce(reducer: Any, sides: Sequence[tuple[Sequence[str], Sequence[str]]], new: Sequence[str]) -> Process:
    """All tuples of all streams of a partition; `sides` are the fields of each stream, and those that the reducer wants of it."""
    views = [view(fields, inputs) for fields, inputs in sides]

    def process(task: Task, *streams: Iterable[Row]) -> list[Row]:  # noqa: ARG001
        collector = TridentCollector(f"multiReduce({called(reducer)})", new)
        state = reducer.init(collector)
        for index, rows in enumerate(streams):
            for row in rows:
                reducer.execute(state, index, views[index](row), collector)
        reducer.complete(state, collector)
        return collector.take()

    return process


def grouped_multi_reduce(
    reducer: Any, sides: Sequence[tuple[Sequence[str], Sequence[str], Sequence[str]]], new: Sequence[str], *, with_group: bool
) -> Process:
    """The same for each group; `sides` also have the fields of the group, equally many for all, which may come out first."""
    views = [(view(fields, by), view(fields, inputs)) for fields, by, inputs in sides]

    def process(task: Task, *streams: Iterable[Row]) -> Iterator[Row]:  # noqa: ARG001
        groups: dict[Row, list[tuple[int, TridentTuple]]] = {}
        names: dict[Row, TridentTuple] = {}
        for index, rows in enumerate(streams):
            for row in rows:
                group = views[index][0](row)
                names.setdefault(tuple(group), group)
                groups.setdefault(tuple(group), []).append((index, views[index][1](row)))
        for key, members in groups.items():
            collector = TridentCollector(f"multiReduce({called(reducer)})", new)
            state = reducer.init(collector, names[key])
            for index, member in members:
                reducer.execute(state, index, names[key], member, collector)
            reducer.complete(state, names[key], collector)
            yield from ((key if with_group else ()) + values for values in collector.take())

    return process
