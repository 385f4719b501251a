"""Local stores: what a task keeps, by key. A store is part of the task's state in the kernel, and of no other task's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.fronts.samza.messages import Entry, SamzaException
from headrace.fronts.samza.serdes import Serde


@dataclass(frozen=True)
class StoreSpec:
    """A store as configuration declares it; `column` is its field in the state, `changelog` the stream that its writes go to."""

    name: str
    column: str
    key: Serde
    value: Serde
    changelog: str | None = None


class KeyValueStore:
    """A map from keys to values, both neither null; ordered by the bytes of the key.

    State: all entries are one field of the task's state, which each message reads and writes: a message costs as much as the store is
    large (some microseconds for an entry).
    """

    def __init__(self, spec: StoreSpec) -> None:
        self._spec = spec
        self._entries: dict[bytes, bytes] = {}
        self._changes: list[tuple[bytes, bytes | None]] = []

    def get(self, key: Any) -> Any:
        """The value of a key, or None."""
        found = self._entries.get(self._key("get", key))
        return None if found is None else self._spec.value.fromBytes(found)

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
        first, last = self._key("range", start), self._key("range", end)
        return KeyValueIterator(self._decoded(key for key in sorted(self._entries) if first <= key < last))

    snapshot = range

    def all(self) -> KeyValueIterator:
        """All entries, in the order of the keys' bytes, as they are now."""
        return KeyValueIterator(self._decoded(sorted(self._entries)))

    def flush(self) -> None:
        """Nothing: what was written is in the state already, and saved with the batch."""

    close = flush

    def _decoded(self, keys: Iterable[bytes]) -> list[Entry]:
        return [Entry(self._spec.key.fromBytes(key), self._spec.value.fromBytes(self._entries[key])) for key in keys]

    def _key(self, call: str, key: Any) -> bytes:
        if key is None:
            raise SamzaException(
                f"store {self._spec.name!r}: {call}: the key is null", "give a key; a message without one has to be skipped"
            )
        return self._spec.key.toBytes(key)

    def _write(self, key: bytes, value: bytes | None) -> None:
        if value is not None:
            self._entries[key] = value
        else:
            self._entries.pop(key, None)
        if self._spec.changelog is not None:
            self._changes.append((key, value))

    def _load(self, entries: list[bytes] | None) -> None:
        """The entries as the state has them: key, value, key, value and so on. (Spark's state has no maps whose keys are bytes.)"""
        flat = entries or []
        self._entries, self._changes = dict(zip(flat[::2], flat[1::2], strict=True)), []

    def _state(self) -> list[bytes]:
        return [part for entry in self._entries.items() for part in entry]


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
