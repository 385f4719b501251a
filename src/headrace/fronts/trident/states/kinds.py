"""What a state is: the interfaces, of which a program may fill in its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from headrace.fronts.trident.spelling import Spelled

Kind = Literal["non-transactional", "transactional", "opaque"]
Key = tuple[Any, ...]
Updater = Callable[[Any], Any]

GLOBAL: Key = ("$GLOBAL$",)
"""The key of an aggregate over everything."""


class IBackingMap(Spelled):
    """A store of your own: `multi_get(keys)`, a value or None for each, and `multi_put(keys, values)`. Keys are tuples.

    The values are what the map above it stores: plain ones, `TransactionalValue`s or `OpaqueValue`s.
    """

    def multiGet(self, keys: list[Key]) -> Sequence[Any]:
        """What is stored for these keys, None where there is nothing."""
        raise NotImplementedError(f"{type(self).__name__} has no multi_get(self, keys)")

    def multiPut(self, keys: list[Key], values: list[Any]) -> None:
        """Store all of these, best in one transaction."""
        raise NotImplementedError(f"{type(self).__name__} has no multi_put(self, keys, values)")


class State(Spelled):
    """What `partitionPersist` updates: between `beginCommit(txid)` and `commit(txid)`. The txid is None off a DRPC stream."""

    kind: ClassVar[Kind | None] = None

    def beginCommit(self, txid: int | None) -> None:
        """Before the updates of a batch."""

    def commit(self, txid: int | None) -> None:
        """After them."""


class MapState(State):
    """Values by key, and one value without a key (`get`, `update`, `set`), which aggregates over everything use."""

    @abstractmethod
    def multiGet(self, keys: Sequence[Sequence[Any]]) -> list[Any]:
        """The value of each key, None where there is none."""

    @abstractmethod
    def multiUpdate(self, keys: Sequence[Sequence[Any]], updaters: Sequence[Updater]) -> list[Any]:
        """The new value of each key: what its function makes of the old one (None if there is none)."""

    def multiPut(self, keys: Sequence[Sequence[Any]], values: Sequence[Any]) -> None:
        """New values, whatever was there."""
        self.multiUpdate(keys, [lambda _, value=value: value for value in values])  # type: ignore[misc]

    def get(self) -> Any:
        """The value without a key."""
        return self.multiGet([GLOBAL])[0]

    def update(self, updater: Updater) -> Any:
        """The new value without a key."""
        return self.multiUpdate([GLOBAL], [updater])[0]

    def set(self, value: Any) -> None:
        """A new value without a key."""
        self.multiPut([GLOBAL], [value])


class StateFactory(Spelled):
    """Makes the state of a partition.

    remote  whether any process can open it, as that of a database: on Spark such a state is updated within the tasks. Others live in the
            driver, and what updates them is brought there.
    """

    kind: Kind | None = None
    remote: bool = False

    def makeState(self, conf: Mapping[str, Any], partitionIndex: int, numPartitions: int) -> Any:
        """The state of this partition."""
        raise NotImplementedError(f"{type(self).__name__} has no makeState(self, conf, partitionIndex, numPartitions)")


def call(store: Any, name: str, *arguments: Any) -> Any:
    """A method in either spelling, of a store that need not be an IBackingMap."""
    spelled = {"multiGet": "multi_get", "multiPut": "multi_put"}[name]
    return (getattr(store, name, None) or getattr(store, spelled))(*arguments)
