"""Around a map or a store: a key of one's own for the value without one, and a memory of the last keys."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from headrace.fronts.trident.states.kinds import GLOBAL, IBackingMap, Key, MapState, Updater, call


class SnapshottableMap(MapState):
    """A map whose value without a key is kept under a key of your own."""

    def __init__(self, delegate: MapState, key: Sequence[Any]) -> None:
        self._delegate, self._key = delegate, tuple(key)
        self.beginCommit, self.commit = delegate.beginCommit, delegate.commit  # type: ignore[method-assign]

    def multiGet(self, keys: Sequence[Sequence[Any]]) -> list[Any]:
        """The value of each key."""
        return self._delegate.multiGet([self._key if tuple(key) == GLOBAL else key for key in keys])

    def multiUpdate(self, keys: Sequence[Sequence[Any]], updaters: Sequence[Updater]) -> list[Any]:
        """The new value of each key."""
        return self._delegate.multiUpdate([self._key if tuple(key) == GLOBAL else key for key in keys], updaters)


class CachedMap(IBackingMap):
    """A store whose last `size` keys are also kept in memory. What is written goes to the store at once."""

    def __init__(self, delegate: Any, size: int) -> None:
        self._delegate, self._size = delegate, size
        self._kept: OrderedDict[Key, Any] = OrderedDict()

    def multiGet(self, keys: list[Key]) -> list[Any]:
        """From memory, or else from the store."""
        unknown = [key for key in keys if key not in self._kept]
        fetched = dict(zip(unknown, call(self._delegate, "multiGet", unknown), strict=True)) if unknown else {}
        answers = [fetched[key] if key in fetched else self._kept[key] for key in keys]
        self._keep(keys, answers)
        return answers

    def multiPut(self, keys: list[Key], values: list[Any]) -> None:
        """To the store, and to memory."""
        call(self._delegate, "multiPut", keys, values)
        self._keep(keys, values)

    def rewind(self, txid: int) -> None:
        """As the store does it, if it can."""
        if callable(rewind := getattr(self._delegate, "rewind", None)):
            rewind(txid)
            self._kept.clear()

    def _keep(self, keys: Sequence[Key], values: Sequence[Any]) -> None:
        for key, value in zip(keys, values, strict=True):
            self._kept[key] = value
            self._kept.move_to_end(key)
        while len(self._kept) > self._size:
            self._kept.popitem(last=False)
