"""What runs in Spark's tasks. It is sent there as it is (see the end), so executors need not have headrace."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

from pyspark import cloudpickle
from pyspark.core.rdd import portable_hash

Pair = tuple[Any, Any]

# Elements of the RDD of a mapWithState, each with its kind in front.
STATE, MAPPED, RECORD = 0, 1, 2

_BUCKETS = 64
"""The state of a partition is pickled in so many parts, of which a batch opens only those that it has keys of."""


class StateError(RuntimeError):
    """A state was used in a way that has no meaning: read while there is none, changed after it was removed."""


class State:
    """What `mapWithState` knows of a key, as its function sees it."""

    __slots__ = ("_exists", "_removed", "_timing_out", "_updated", "_value")

    def __init__(self, exists: bool, value: Any = None, timing_out: bool = False) -> None:
        self._exists, self._value, self._timing_out = exists, value, timing_out
        self._updated = self._removed = False

    def exists(self) -> bool:
        """Whether the key has a state."""
        return self._exists

    def get(self) -> Any:
        """The state; StateError if there is none."""
        if not self._exists:
            raise StateError("get: the key has no state; ask exists() first, or use getOption(), which gives None then")
        return self._value

    def getOption(self) -> Any:
        """The state, None if there is none."""
        return self._value if self._exists else None

    def update(self, newState: Any) -> None:
        """This is the state from now on. Not after `remove`, and not while the key is timing out."""
        self._refuse("update")
        self._exists, self._updated, self._value = True, True, newState

    def remove(self) -> None:
        """Forget the key. Not twice, and not while it is timing out: then it is forgotten anyway."""
        self._refuse("remove")
        self._exists, self._removed, self._updated, self._value = False, True, False, None

    def isTimingOut(self) -> bool:
        """Whether this is the last call for the key, without a value, since it was idle for longer than the time-out."""
        return self._timing_out

    def _refuse(self, call: str) -> None:
        if self._timing_out:
            raise StateError(f"{call}: the key is timing out, and will be forgotten after this call; look at isTimingOut() first")
        if self._removed:
            raise StateError(f"{call}: the state was removed already in this call")

    def __repr__(self) -> str:
        return f"State({self._value!r})" if self._exists else "State()"


def records(pairs: Iterable[Pair]) -> Iterator[tuple[int, Pair]]:
    return ((RECORD, pair) for pair in pairs)


def states(elements: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    return (element for element in elements if element[0] == STATE)


def mapped(elements: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
    return (element[1] for element in elements if element[0] == MAPPED)


def entries(elements: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, Pair]]:
    """All (key, (state, when it was touched)) of a partition."""
    for element in states(elements):
        yield from pickle.loads(element[3]).items()


def packed(entries: Iterable[tuple[Any, Pair]], partitions: int) -> Iterator[tuple[Any, ...]]:
    """The elements that keep such entries."""
    buckets: dict[int, dict[Any, Pair]] = {}
    for key, entry in entries:
        buckets.setdefault(_bucket(key, partitions), {})[key] = entry
    yield from (_closed(number, bucket) for number, bucket in buckets.items())


def at(time: datetime, function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda key, value, state: function(time, key, value, state)


def stepped(
    elements: Iterable[tuple[Any, ...]], function: Callable[..., Any], time: int, timeout: int | None, partitions: int
) -> Iterator[tuple[Any, ...]]:
    """One batch of a partition: its state and then its records in; what the function gave and then the new state out."""
    closed: dict[int, tuple[Any, ...]] = {}
    opened: dict[int, dict[Any, Pair]] = {}

    def bucket(number: int) -> dict[Any, Pair]:
        if number not in opened:
            opened[number] = pickle.loads(closed.pop(number)[3]) if number in closed else {}
        return opened[number]

    for element in elements:
        if element[0] == STATE:
            closed[element[1]] = element
            continue
        key, value = element[1]
        mine = bucket(_bucket(key, partitions))
        state = State(True, mine[key][0]) if key in mine else State(False)
        result = function(key, value, state)
        if state._exists and (state._updated or timeout is not None):
            mine[key] = (state._value, time)
        elif not state._exists:
            mine.pop(key, None)
        if result is not None:
            yield MAPPED, result

    if timeout is not None:
        limit = time - timeout
        for number in [number for number, element in closed.items() if element[2] < limit] + list(opened):
            mine = bucket(number)
            for key in [key for key, (_, touched) in mine.items() if touched < limit]:
                result = function(key, None, State(True, mine.pop(key)[0], timing_out=True))
                if result is not None:
                    yield MAPPED, result

    yield from closed.values()
    yield from (_closed(number, mine) for number, mine in opened.items() if mine)


def _bucket(key: Any, partitions: int) -> int:
    return portable_hash(key) // partitions % _BUCKETS


def _closed(number: int, bucket: dict[Any, Pair]) -> tuple[Any, ...]:
    oldest = min(touched for _, touched in bucket.values())
    return STATE, number, oldest, cloudpickle.dumps(bucket)  # type: ignore[no-untyped-call]


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
