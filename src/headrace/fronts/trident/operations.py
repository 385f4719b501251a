"""What programs fill in: functions, filters, aggregators, queries and updaters of states. A plain Python function will do for most."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.fronts.trident.spelling import Spelled
from headrace.fronts.trident.tuples import TridentCollector, TridentTuple


@dataclass(frozen=True)
class TransactionAttempt:
    """Which batch: `txid` 1, 2, 3 …, the same when it is replayed; `attempt` 0, then higher. A DRPC request has no txid."""

    txid: int | None
    attempt: int = 0

    def getTransactionId(self) -> int | None:
        """The txid."""
        return self.txid

    def getAttemptId(self) -> int:
        """The attempt."""
        return self.attempt

    get_transaction_id, get_attempt_id = getTransactionId, getAttemptId

    def __str__(self) -> str:
        return f"{self.txid}:{self.attempt}"


@dataclass(frozen=True)
class Task:
    """One partition of one batch."""

    batch: TransactionAttempt
    partition: int
    partitions: int
    conf: Mapping[str, Any] = field(default_factory=dict)


class Operation(Spelled):
    """`prepare` and `cleanup` around the work. In-process they are called once for the topology; on Spark once for each partition of each
    batch, since each of these has its own copy."""

    def prepare(self, conf: Mapping[str, Any], context: Any) -> None:
        """Before the first tuple."""

    def cleanup(self) -> None:
        """After the last one."""


class BaseFunction(Operation):
    """For `each` with new fields: zero or more emits for a tuple, each appended to a copy of it.

    The same as a Python function: one that returns a list of (or yields) lists of values.
    """

    def execute(self, tuple: TridentTuple, collector: TridentCollector) -> None:
        """Emit."""
        raise NotImplementedError(f"{type(self).__name__} has no execute(self, tuple, collector)")


class BaseFilter(Operation):
    """For `each` without new fields, and for `filter`."""

    def isKeep(self, tuple: TridentTuple) -> bool:
        """Whether the tuple stays."""
        raise NotImplementedError(f"{type(self).__name__} has no isKeep(self, tuple)")


class CombinerAggregator(Spelled):
    """One value of many, in any order and grouping: `combine` must be associative and commutative. Computed within each partition first."""

    def init(self, tuple: TridentTuple) -> Any:
        """The value of one tuple."""
        raise NotImplementedError(f"{type(self).__name__} has no init(self, tuple)")

    def combine(self, one: Any, other: Any) -> Any:
        """The value of both."""
        raise NotImplementedError(f"{type(self).__name__} has no combine(self, one, other)")

    def zero(self) -> Any:
        """The value of no tuple at all."""


class ReducerAggregator(Spelled):
    """One value of many, one tuple after the other."""

    def init(self) -> Any:
        """The value before the first tuple."""
        raise NotImplementedError(f"{type(self).__name__} has no init(self)")

    def reduce(self, current: Any, tuple: TridentTuple) -> Any:
        """The value with one tuple more."""
        raise NotImplementedError(f"{type(self).__name__} has no reduce(self, current, tuple)")


class Aggregator(Operation):
    """Any number of tuples of many, emitted at any time: `init` gives a state of your own, which the other two get."""

    def init(self, batchId: TransactionAttempt, collector: TridentCollector) -> Any:
        """Before the first tuple of the batch, partition or group."""

    def aggregate(self, state: Any, tuple: TridentTuple, collector: TridentCollector) -> None:
        """For each tuple."""
        raise NotImplementedError(f"{type(self).__name__} has no aggregate(self, state, tuple, collector)")

    def complete(self, state: Any, collector: TridentCollector) -> None:
        """After the last tuple."""


BaseAggregator = Aggregator


class BaseQueryFunction(Operation):
    """For `stateQuery`: all keys of a partition at once, then one answer after the other."""

    def batchRetrieve(self, state: Any, tuples: list[TridentTuple]) -> Sequence[Any]:
        """An answer for each tuple, in their order."""
        raise NotImplementedError(f"{type(self).__name__} has no batchRetrieve(self, state, tuples)")

    def execute(self, tuple: TridentTuple, result: Any, collector: TridentCollector) -> None:
        """Emit what is appended to the tuple."""
        raise NotImplementedError(f"{type(self).__name__} has no execute(self, tuple, result, collector)")


class BaseStateUpdater(Operation):
    """For `partitionPersist`: once for each partition of a batch that has tuples, in the order of the txids."""

    def updateState(self, state: Any, tuples: list[TridentTuple], collector: TridentCollector) -> None:
        """Change the state; what is emitted is its `newValuesStream`."""
        raise NotImplementedError(f"{type(self).__name__} has no updateState(self, state, tuples, collector)")


class MultiReducer(Operation):
    """For `multiReduce`: the general form of merge and join. `streamIndex` is the place of the tuple's stream among the streams."""

    def init(self, collector: TridentCollector) -> Any:
        """Before the first tuple of a partition."""

    def execute(self, state: Any, streamIndex: int, input: TridentTuple, collector: TridentCollector) -> None:
        """For each tuple."""
        raise NotImplementedError(f"{type(self).__name__} has no execute(self, state, streamIndex, input, collector)")

    def complete(self, state: Any, collector: TridentCollector) -> None:
        """After the last tuple."""


class GroupedMultiReducer(Operation):
    """The same over grouped streams: once for each group, whose values are `group`."""

    def init(self, collector: TridentCollector, group: TridentTuple) -> Any:
        """Before the first tuple of a group."""

    def execute(self, state: Any, streamIndex: int, group: TridentTuple, input: TridentTuple, collector: TridentCollector) -> None:
        """For each tuple."""
        raise NotImplementedError(f"{type(self).__name__} has no execute(self, state, streamIndex, group, input, collector)")

    def complete(self, state: Any, group: TridentTuple, collector: TridentCollector) -> None:
        """After the last tuple."""


class CustomStreamGrouping(Spelled):
    """For `partition`: the places that a tuple goes to. A function `(values, partitions) -> place, or list of places` will do."""

    def prepare(self, context: Any, stream: str, targetTasks: list[int]) -> None:
        """Called with the numbers of the partitions."""

    def chooseTasks(self, taskId: int, values: list[Any]) -> list[int]:
        """Some of these numbers."""
        raise NotImplementedError(f"{type(self).__name__} has no chooseTasks(self, taskId, values)")


def called(operation: Any) -> str:
    """What messages call an operation."""
    return getattr(operation, "__name__", None) or type(operation).__name__


def method(operation: Any, name: str) -> Callable[..., Any] | None:
    """The operation's method of that name, or the operation itself if it is a function; None if it is neither."""
    if isinstance(operation, type):
        return None
    own = getattr(operation, name, None)
    return own if callable(own) else operation if callable(operation) else None
