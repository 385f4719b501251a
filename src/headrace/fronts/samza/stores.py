"""Local stores: what a task keeps, by key. A store is a map of the task in the kernel, and of no other task's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.fronts.samza.messages import Entry, SamzaException
from headrace.fronts.samza.serdes import Serde


@dataclass(frozen=True)
class StoreSpec:
    """A store as configuration declares it; `column` is its map in the kernel, `changelog` the stream that its writes go to."""

    name: str
    column: str
    key: Serde
    value: Serde
    changelog: str | None = None


class KeyValueStore:
    """A map from keys to values, both neither null; ordered by the bytes of the key.

    State: an entry of the state store for each key. A message costs what it reads and writes, however many entries there are; `range` and
    `all` read what they give, all of it at once.
    """

    def __init__(self, spec: StoreSpec) -> None:
        self._spec = spec
        self._map: Any = None
        self._changes: list[tuple[bytes, bytes | None]] = []

    def get(self, key: Any) -> Any:
        """The value of a key, or None."""
        value = self._entries.get(self._key("get", key))
        return None if value is None else self._spec.value.fromBytes(value)

    def getAll(self, keys: Iterable[Any]) -> dict[Any, Any]:
        """The values of these keys; of those that have one."""
        return {key: value for key in keys if (value := self.get(key)) is not None}

    def put(self, key: Any, value: Any) -> None:
        """Set the value of a key."""
        if value is None:
            raise SamzaException(f"store {self._spec.name!r}: put: the value of {key!r} is null", f"to remove it: delete({key!r})")
        self._write(self._key("put", key), self._spec.value.toBytes(value))

    def putAll(self, entries: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        """Set the values of several keys: a dict, or pairs."""
        for key, value in entries.items() if isinstance(entries, Mapping) else entries:
            self.put(key, value)

    def delete(self, key: Any) -> None:
        """Remove a key; nothing happens if it is not there."""
        self._write(self._key("delete", key), None)

    def deleteAll(self, keys: Iterable[Any]) -> None:
        """Remove several keys."""
        for key in list(keys):
            self.delete(key)

    def range(self, start: Any, end: Any) -> KeyValueIterator:
        """The entries from `start` (inclusive) to `end` (exclusive), in the order of the keys' bytes, as they are now."""
        return self._between(self._key("range", start), self._key("range", end))

    snapshot = range

    def all(self) -> KeyValueIterator:
        """All entries, in the order of the keys' bytes, as they are now."""
        return self._between(None, None)

    def flush(self) -> None:
        """Nothing: what was written is in the state already, and saved with the batch."""

    close = flush

    def _between(self, start: bytes | None, end: bytes | None) -> KeyValueIterator:
        entries = self._entries.between(start, end)
        return KeyValueIterator([Entry(self._spec.key.fromBytes(key), self._spec.value.fromBytes(value)) for key, value in entries])

    @property
    def _entries(self) -> Any:
        if self._map is None:
            raise SamzaException(
                f"store {self._spec.name!r} was used outside of a call of the task",
                "use it in init, process and window only, and not in a thread that goes on after them",
            )
        return self._map

    def _key(self, call: str, key: Any) -> bytes:
        if key is None:
            raise SamzaException(
                f"store {self._spec.name!r}: {call}: the key is null", "give a key; a message without one has to be skipped"
            )
        return self._spec.key.toBytes(key)

    def _write(self, key: bytes, value: bytes | None) -> None:
        if value is not None:
            self._entries.put(key, value)
        else:
            self._entries.delete(key)
        if self._spec.changelog is not None:
            self._changes.append((key, value))

    def _open(self, entries: Any) -> None:
        """For one call of the task: its entries, as the kernel has them."""
        self._map, self._changes = entries, []


class KeyValueIterator:
    """Entries one by one, as `Entry(key, value)`; in Python a plain iterator. `close` is there because Samza's programs call it."""

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = iter(entries)
        self._next: list[Entry] = []

    def __iter__(self) -> Iterator[Entry]:
        return self

    def __next__(self) -> Entry:
        return self._next.pop() if self._next else next(self._entries)

    def hasNext(self) -> bool:
        """Whether there is one more."""
        if not self._next:
            self._next = [entry] if (entry := next(self._entries, None)) is not None else []
        return bool(self._next)

    def next(self) -> Entry:
        """The next one."""
        return self.__next__()

    def close(self) -> None:
        """Nothing."""

    def __enter__(self) -> KeyValueIterator:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class ReadWriteTable:
    """A table of the newer API over a local store of the same name."""

    def __init__(self, store: KeyValueStore) -> None:
        self._store = store
        self.get, self.getAll = store.get, store.getAll
        self.putAll, self.delete, self.deleteAll = store.putAll, store.delete, store.deleteAll

    def put(self, key: Any, value: Any) -> None:
        """Set the value of a key; null removes it."""
        if value is None:
            self._store.delete(key)
        else:
            self._store.put(key, value)
