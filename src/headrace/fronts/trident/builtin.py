"""Trident's own operations, and those of its tests."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from headrace.fronts.trident.operations import (
    Aggregator,
    BaseFilter,
    BaseFunction,
    BaseQueryFunction,
    CombinerAggregator,
    TransactionAttempt,
    called,
)
from headrace.fronts.trident.tuples import TridentCollector, TridentTuple

_log = logging.getLogger("headrace.trident")


class Count(CombinerAggregator):
    """How many tuples; 0 of none."""

    def init(self, tuple: TridentTuple) -> int:
        """1."""
        return 1

    def combine(self, one: int, other: int) -> int:
        """Their sum."""
        return one + other

    def zero(self) -> int:
        """0."""
        return 0


class Sum(CombinerAggregator):
    """The sum of the first input field; 0 of none."""

    def init(self, tuple: TridentTuple) -> Any:
        """The value."""
        return tuple[0]

    def combine(self, one: Any, other: Any) -> Any:
        """Their sum."""
        return one + other

    def zero(self) -> int:
        """0."""
        return 0


class _Comparison(Aggregator):
    """The one tuple, of all fields that it is given, that comes first; the first of equals. Of no tuples, nothing."""

    def __init__(self, field: str | None, better: Callable[[Any, Any], bool]) -> None:
        self._field, self._better = field, better

    def init(self, batchId: TransactionAttempt, collector: TridentCollector) -> list[TridentTuple]:
        return []

    def aggregate(self, state: list[TridentTuple], tuple: TridentTuple, collector: TridentCollector) -> None:
        if not state or self._better(self._seen(tuple), self._seen(state[0])):
            state[:] = [tuple]

    def complete(self, state: list[TridentTuple], collector: TridentCollector) -> None:
        for best in state:
            collector.emit(list(best))

    def _seen(self, tuple: TridentTuple) -> Any:
        return tuple if self._field is None else tuple[self._field]


class Min(_Comparison):
    """The whole tuple whose value of a field is the least: `partitionAggregate(fields, Min("count"), fields)`."""

    def __init__(self, inputFieldName: str) -> None:
        super().__init__(inputFieldName, lambda one, other: one < other)


class Max(_Comparison):
    """The whole tuple whose value of a field is the greatest."""

    def __init__(self, inputFieldName: str) -> None:
        super().__init__(inputFieldName, lambda one, other: one > other)


class MinWithComparator(_Comparison):
    """`MinWithComparator(comparator)` for whole tuples, `MinWithComparator("field", comparator)` for one value of them."""

    def __init__(self, *arguments: Any) -> None:
        *field, comparator = arguments
        super().__init__(field[0] if field else None, lambda one, other: comparator(one, other) < 0)


class MaxWithComparator(_Comparison):
    """As MinWithComparator, the greatest."""

    def __init__(self, *arguments: Any) -> None:
        *field, comparator = arguments
        super().__init__(field[0] if field else None, lambda one, other: comparator(one, other) > 0)


class FirstN:
    """The first n tuples of the batch, or by a field: `stream.applyAssembly(FirstN(3, "count", reverse=True))`."""

    def __init__(self, n: int, sortField: str | None = None, reverse: bool = False) -> None:
        self._aggregator = _FirstN(n, sortField, reverse)

    def apply(self, stream: Any) -> Any:
        """Of each partition first, then of all."""
        fields = stream.fields
        some = stream.partitionAggregate(fields, self._aggregator, fields)
        return some.global_().partitionAggregate(fields, self._aggregator, fields)


class _FirstN(Aggregator):
    def __init__(self, n: int, field: str | None, reverse: bool) -> None:
        self._n, self._field, self._reverse = n, field, reverse

    def init(self, batchId: TransactionAttempt, collector: TridentCollector) -> list[TridentTuple]:
        return []

    def aggregate(self, state: list[TridentTuple], tuple: TridentTuple, collector: TridentCollector) -> None:
        state.append(tuple)

    def complete(self, state: list[TridentTuple], collector: TridentCollector) -> None:
        ordered = state if self._field is None else sorted(state, key=lambda each: each[self._field], reverse=self._reverse)
        for best in ordered[: self._n]:
            collector.emit(list(best))


class Debug(BaseFilter):
    """Keeps everything, and logs it (to the logger "headrace.trident")."""

    def __init__(self, name: str = "DEBUG") -> None:
        self._name = name

    def isKeep(self, tuple: TridentTuple) -> bool:
        """Always."""
        _log.info("%s: %s", self._name, list(tuple))
        return True


class Equals(BaseFilter):
    """Keeps tuples whose input fields are all equal."""

    def isKeep(self, tuple: TridentTuple) -> bool:
        """Whether they are."""
        return all(value == tuple[0] for value in tuple)


class FilterNull(BaseFilter):
    """Keeps tuples none of whose input fields is None."""

    def isKeep(self, tuple: TridentTuple) -> bool:
        """Whether none is."""
        return all(value is not None for value in tuple)


class TrueFilter(BaseFilter):
    """Keeps everything."""

    def isKeep(self, tuple: TridentTuple) -> bool:
        """Always."""
        return True


class Negate(BaseFilter):
    """Keeps what another filter drops."""

    def __init__(self, delegate: Any) -> None:
        self._delegate = delegate
        self.__name__ = f"Negate {called(delegate)}"

    def isKeep(self, tuple: TridentTuple) -> bool:
        """The opposite."""
        keep = getattr(self._delegate, "isKeep", self._delegate)
        return not keep(tuple)


class Split(BaseFunction):
    """The words of the first input field: split at blanks; of an empty text none."""

    def execute(self, tuple: TridentTuple, collector: TridentCollector) -> None:
        """One emit for each word."""
        for word in tuple[0].split(" "):
            if word:
                collector.emit([word])


class StringLength(BaseFunction):
    """The length of the first input field."""

    def execute(self, tuple: TridentTuple, collector: TridentCollector) -> None:
        """One emit."""
        collector.emit([len(tuple[0])])


class CountAsAggregator(Aggregator):
    """Count, as an Aggregator."""

    def init(self, batchId: TransactionAttempt, collector: TridentCollector) -> list[int]:
        """0."""
        return [0]

    def aggregate(self, state: list[int], tuple: TridentTuple, collector: TridentCollector) -> None:
        """One more."""
        state[0] += 1

    def complete(self, state: list[int], collector: TridentCollector) -> None:
        """One emit."""
        collector.emit([state[0]])


class MapGet(BaseQueryFunction):
    """The value of a key in a map state: the input fields are the key. None if there is none."""

    def batchRetrieve(self, state: Any, tuples: list[TridentTuple]) -> Sequence[Any]:
        """All keys at once."""
        return state.multiGet([tuple(each) for each in tuples])  # type: ignore[no-any-return]

    def execute(self, tuple: TridentTuple, result: Any, collector: TridentCollector) -> None:
        """One emit."""
        collector.emit([result])


class SnapshotGet(BaseQueryFunction):
    """The value of a state without keys."""

    def batchRetrieve(self, state: Any, tuples: list[TridentTuple]) -> Sequence[Any]:
        """The same for all."""
        return [state.get()] * len(tuples)

    def execute(self, tuple: TridentTuple, result: Any, collector: TridentCollector) -> None:
        """One emit."""
        collector.emit([result])


class TupleCollectionGet(BaseQueryFunction):
    """Every key of a state with its value, one emit each: behind a `broadcast`, of all partitions."""

    def batchRetrieve(self, state: Any, tuples: list[TridentTuple]) -> Sequence[Any]:
        """The same for all."""
        everything = list(state.getTuples())
        return [everything for _ in tuples]

    def execute(self, tuple: TridentTuple, result: Any, collector: TridentCollector) -> None:
        """As many emits as there are keys."""
        for values in result:
            collector.emit(values)
