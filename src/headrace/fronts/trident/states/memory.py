"""States in the memory of this process: for tests and first steps. They end with the process."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from headrace.fronts.trident.states.kinds import IBackingMap, Key, StateFactory
from headrace.fronts.trident.states.maps import OpaqueMap, OpaqueValue


class _Memory(IBackingMap):
    """A dict, of at most so many keys: the one that was longest not used goes first."""

    def __init__(self, size: int | None = None) -> None:
        self._values: OrderedDict[Key, Any] = OrderedDict()
        self._size = size

    def multiGet(self, keys: list[Key]) -> list[Any]:
        for key in keys:
            if key in self._values:
                self._values.move_to_end(key)
        return [self._values.get(key) for key in keys]

    def multiPut(self, keys: list[Key], values: list[Any]) -> None:
        for key, value in zip(keys, values, strict=True):
            self._values[key] = value
            self._values.move_to_end(key)
        while self._size is not None and len(self._values) > self._size:
            self._values.popitem(last=False)

    def rewind(self, txid: int) -> None:
        for key, stored in self._values.items():
            if isinstance(stored, OpaqueValue) and stored.txid == txid:
                self._values[key] = replace(stored, val=stored.prev)

    def forget(self, keys: list[Key]) -> None:
        for key in keys:
            self._values.pop(key, None)

    def items(self) -> dict[Key, Any]:
        return {key: stored.val if isinstance(stored, OpaqueValue) else stored for key, stored in self._values.items()}


class MemoryMapState(OpaqueMap):
    """An opaque map in memory. `MemoryMapState.Factory()` makes one for each partition, and keeps them as long as the factory itself.

    >>> state = MemoryMapState()
    >>> state.beginCommit(1)
    >>> state.multiUpdate([("cat",)], [lambda count: (count or 0) + 2])
    [2]
    """

    size: int | None = None

    def __init__(self, backing: Any = None) -> None:
        super().__init__(_Memory(self.size) if backing is None else backing)
        self._removed: list[Key] = []
        self._last: int | None = None

    def beginCommit(self, txid: int | None) -> None:
        """Before the updates of a batch. What the batch before it removed is now gone for good; what an earlier attempt removed is not."""
        super().beginCommit(txid)
        if txid is None or txid != self._last:
            self.backing.forget(self._removed)
        self._removed, self._last = [], txid

    def multiRemove(self, keys: list[Key]) -> None:
        """Remove keys; a replay of the batch has them again."""
        gone = [tuple(key) for key in keys]
        self.multiPut(gone, [None] * len(gone))
        self._removed += gone

    def getTuples(self) -> Iterator[list[Any]]:
        """Every key with its value."""
        return tuples(self.backing.items())

    class Factory(StateFactory):
        """One map for each partition, the same again when a topology of this process starts again."""

        kind = "opaque"

        def __init__(self) -> None:
            self._made: dict[int, MemoryMapState] = {}

        def makeState(self, conf: Mapping[str, Any], partitionIndex: int, numPartitions: int) -> MemoryMapState:
            """The map of this partition."""
            return self._made.setdefault(partitionIndex, MemoryMapState())


class LRUMemoryMapState(MemoryMapState):
    """An opaque map in memory that forgets: of more than `size` keys a partition keeps those that were used last."""

    class Factory(MemoryMapState.Factory):
        """`LRUMemoryMapState.Factory(1000)`."""

        def __init__(self, size: int) -> None:
            super().__init__()
            self._size = size

        def makeState(self, conf: Mapping[str, Any], partitionIndex: int, numPartitions: int) -> MemoryMapState:
            """The map of this partition."""
            return self._made.setdefault(partitionIndex, LRUMemoryMapState(_Memory(self._size)))


def tuples(values: Mapping[Key, Any]) -> Iterator[list[Any]]:
    """Keys with their values, as `TupleCollectionGet` gives them."""
    return ([*key, value] for key, value in values.items() if value is not None)
