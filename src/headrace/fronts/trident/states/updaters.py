"""How `persistentAggregate` changes a state: the aggregate of this batch on top of what is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.fronts.trident.operations import BaseStateUpdater, CombinerAggregator, ReducerAggregator
from headrace.fronts.trident.states.kinds import Updater
from headrace.fronts.trident.tuples import TridentCollector, TridentTuple


def combined(aggregator: CombinerAggregator, value: Any) -> Updater:
    """What a stored value becomes when `value`, of this batch, comes to it."""
    return lambda stored: value if stored is None else aggregator.combine(stored, value)


def reduced(aggregator: ReducerAggregator, tuples: Sequence[TridentTuple]) -> Updater:
    """What a stored value becomes when these tuples come to it."""

    def update(stored: Any) -> Any:
        value = aggregator.init() if stored is None else stored
        for each in tuples:
            value = aggregator.reduce(value, each)
        return value

    return update


@dataclass
class CombineByKey(BaseStateUpdater):
    """The tuples are keys with the aggregate of the batch behind them: each key once."""

    aggregator: CombinerAggregator

    def updateState(self, state: Any, tuples: list[TridentTuple], collector: TridentCollector) -> None:
        """One read and one write for all of them."""
        keys = [tuple(each)[:-1] for each in tuples]
        values = state.multiUpdate(keys, [combined(self.aggregator, tuple(each)[-1]) for each in tuples])
        for key, value in zip(keys, values, strict=True):
            collector.emit([*key, value])


@dataclass
class ReduceByKey(BaseStateUpdater):
    """The tuples are the batch's own: the first `keys` values are the key."""

    aggregator: ReducerAggregator
    keys: int

    def updateState(self, state: Any, tuples: list[TridentTuple], collector: TridentCollector) -> None:
        """One read and one write for all of them."""
        groups: dict[tuple[Any, ...], list[TridentTuple]] = {}
        for each in tuples:
            names, values = each.getFields(), tuple(each)
            groups.setdefault(values[: self.keys], []).append(TridentTuple.of(names[self.keys :], values[self.keys :]))
        values = state.multiUpdate(list(groups), [reduced(self.aggregator, group) for group in groups.values()])
        for key, value in zip(groups, values, strict=True):
            collector.emit([*key, value])


@dataclass
class CombineAll(BaseStateUpdater):
    """The one tuple is the aggregate of the batch."""

    aggregator: CombinerAggregator

    def updateState(self, state: Any, tuples: list[TridentTuple], collector: TridentCollector) -> None:
        """The value without a key."""
        for each in tuples:
            collector.emit([state.update(combined(self.aggregator, each[0]))])


@dataclass
class ReduceAll(BaseStateUpdater):
    """The tuples are the batch's own."""

    aggregator: ReducerAggregator

    def updateState(self, state: Any, tuples: list[TridentTuple], collector: TridentCollector) -> None:
        """The value without a key."""
        collector.emit([state.update(reduced(self.aggregator, tuples))])
