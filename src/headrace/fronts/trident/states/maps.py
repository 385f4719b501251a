"""Three kinds of map over any store, which differ in what they remember of the last batch.

| kind | stored with a key | a batch with txid t changes it by d |
|---|---|---|
| non-transactional | value | value + d |
| transactional | value, txid | stored txid = t: it is in already, skip; else value + d |
| opaque | value, previous value, txid | stored txid < t: previous = value, value + d; stored txid = t: previous + d |

Several updates of a key within one batch add up in all three.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from headrace.errors import JobError
from headrace.fronts.trident.states.kinds import Key, Kind, MapState, StateFactory, Updater, call

S = TypeVar("S")


@dataclass(frozen=True)
class TransactionalValue:
    """What a transactional map stores."""

    txid: int | None
    val: Any


@dataclass(frozen=True)
class OpaqueValue:
    """What an opaque map stores.

    >>> OpaqueValue(2, 4, prev=1).update(3, 4 + 2)
    OpaqueValue(txid=3, val=6, prev=4)
    >>> OpaqueValue(2, 4, prev=1).update(2, 1 + 2)
    OpaqueValue(txid=2, val=3, prev=1)
    """

    txid: int | None
    val: Any
    prev: Any = None

    def get(self, txid: int | None) -> Any:
        """The value before the batch `txid`: of a replay, without what its earlier attempt did."""
        return self.prev if self._is_of(txid) else self.val

    def update(self, txid: int | None, value: Any) -> OpaqueValue:
        """The value with that batch."""
        return OpaqueValue(txid, value, self.prev if self._is_of(txid) else self.val)

    def _is_of(self, txid: int | None) -> bool:
        if txid is None or self.txid is None or self.txid < txid:
            return False
        if self.txid == txid:
            return True
        raise JobError(
            f"batch {txid} is behind the state's batch: {self}",
            fix="the state has seen later batches than this topology: give it the home (or checkpoint) that it had, or a new state",
        )


class StoredMap(MapState, Generic[S]):
    """A map over a store. What a batch has written is remembered until its commit, so that several updates of a key add up."""

    def __init__(self, backing: Any) -> None:
        self.backing = backing
        self._txid: int | None = None
        self._written: dict[Key, S] = {}

    @classmethod
    def build(cls, backing: Any) -> Any:
        """This kind of map over a store: whatever has `multiGet` and `multiPut`, or `multi_get` and `multi_put`."""
        return cls(backing)

    @classmethod
    def factory(cls, store: Callable[[], Any], *, remote: bool = False) -> StateFactory:
        """What makes this kind of map for each partition; `store()` makes, or opens, the store below it."""
        return _MapFactory(cls, store, remote)

    def beginCommit(self, txid: int | None) -> None:
        """Before the updates of a batch."""
        self._txid, self._written = txid, {}

    def commit(self, txid: int | None) -> None:
        """After them."""
        self._txid, self._written = None, {}

    def multiGet(self, keys: Sequence[Sequence[Any]]) -> list[Any]:
        """The value of each key, None where there is none."""
        wanted = [tuple(key) for key in keys]
        stored = self._stored(wanted)
        return [self._value(stored.get(key), key in self._written) for key in wanted]

    def multiUpdate(self, keys: Sequence[Sequence[Any]], updaters: Sequence[Updater]) -> list[Any]:
        """The new value of each key; a replay of a transactional batch leaves them as they are."""
        wanted = [tuple(key) for key in keys]
        stored, values, changed = self._stored(wanted), [], {}
        for key, updater in zip(wanted, updaters, strict=True):
            old, ours = stored.get(key), key in self._written
            if not self._skips(old, ours):
                stored[key] = changed[key] = self._written[key] = self._updated(old, ours, updater)
            values.append(self._plain(stored.get(key)))
        if changed:
            call(self.backing, "multiPut", list(changed), list(changed.values()))
        return values

    def rewind(self, txid: int) -> None:
        """Take back what an earlier attempt of this batch wrote, if the store below can find it."""

    def close(self) -> None:
        """Let go of the store, if it says how."""
        if callable(close := getattr(self.backing, "close", None)):
            close()

    def _stored(self, keys: list[Key]) -> dict[Key, Any]:
        known = {key: self._written[key] for key in keys if key in self._written}
        unknown = list(dict.fromkeys(key for key in keys if key not in known))
        return known | (dict(zip(unknown, call(self.backing, "multiGet", unknown), strict=True)) if unknown else {})

    def _value(self, stored: S | None, ours: bool) -> Any:
        """The value that this batch sees. `ours`: it has been written in this batch."""
        return self._plain(stored)

    def _skips(self, stored: S | None, ours: bool) -> bool:
        """Whether this batch is in already."""
        return False

    @abstractmethod
    def _plain(self, stored: S | None) -> Any:
        """The value of what is stored."""

    @abstractmethod
    def _updated(self, stored: S | None, ours: bool, updater: Updater) -> S:
        """What is to be stored instead."""


class NonTransactionalMap(StoredMap[Any]):
    """Remembers nothing of batches: a replay is counted again."""

    kind = "non-transactional"

    def _plain(self, stored: Any) -> Any:
        return stored

    def _updated(self, stored: Any, ours: bool, updater: Updater) -> Any:
        return updater(stored)


class TransactionalMap(StoredMap[TransactionalValue]):
    """Skips a batch that a key has seen: right if a txid always means the same tuples."""

    kind = "transactional"

    def _plain(self, stored: TransactionalValue | None) -> Any:
        return None if stored is None else stored.val

    def _skips(self, stored: TransactionalValue | None, ours: bool) -> bool:
        return stored is not None and not ours and self._txid is not None and stored.txid == self._txid

    def _updated(self, stored: TransactionalValue | None, ours: bool, updater: Updater) -> TransactionalValue:
        return TransactionalValue(self._txid, updater(self._plain(stored)))


class OpaqueMap(StoredMap[OpaqueValue]):
    """Goes back to the value before the batch when it is replayed: right even if the replay has other tuples.

    The rule alone has a gap, for it works key by key: a key that the first attempt changed and the replay does not have keeps the change. A
    store with a method `rewind(txid)`, which gives every key of that batch its previous value, closes it. Those of headrace have it.
    """

    kind = "opaque"

    def rewind(self, txid: int) -> None:
        """Give every key that an earlier attempt of this batch changed its previous value, if the store below can."""
        if callable(rewind := getattr(self.backing, "rewind", None)):
            rewind(txid)

    def _value(self, stored: OpaqueValue | None, ours: bool) -> Any:
        return None if stored is None else stored.val if ours else stored.get(self._txid)

    def _plain(self, stored: OpaqueValue | None) -> Any:
        return None if stored is None else stored.val

    def _updated(self, stored: OpaqueValue | None, ours: bool, updater: Updater) -> OpaqueValue:
        if stored is None:
            return OpaqueValue(self._txid, updater(None))
        return stored.update(self._txid, updater(self._value(stored, ours)))


@dataclass(frozen=True, eq=False)
class _MapFactory(StateFactory):
    map: type[StoredMap[Any]]
    store: Callable[[], Any]
    remote: bool = False

    @property
    def kind(self) -> Kind | None:  # type: ignore[override]
        return self.map.kind

    def makeState(self, conf: Mapping[str, Any], partitionIndex: int, numPartitions: int) -> Any:
        return self.map(self.store())
