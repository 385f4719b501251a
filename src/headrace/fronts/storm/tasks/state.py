"""The state of a stateful component: a map that outlives its process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

CHECKPOINT = "$checkpoint"
"""The stream of the clock's tuples at which state is saved."""


class KeyValueState:
    """A map of keys to values, both of which can be pickled. `state["n"] = 1` is Heron's way to say `state.put("n", 1)`.

    What is changed inside a value is not noticed: put the value again.
    """

    def __init__(self, saved: Mapping[Any, Any] | None = None) -> None:
        self._values = dict(saved or {})
        self._changed: dict[Any, None] = {}

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a key, or the default."""
        return self._values.get(key, default)

    getOrDefault = get  # noqa: N815 - Java's name

    def put(self, key: Any, value: Any) -> None:
        """Set the value of a key."""
        self._values[key] = value
        self._changed[key] = None

    def delete(self, key: Any) -> None:
        """Remove a key; nothing happens if it is not there."""
        if key in self._values:
            del self._values[key]
            self._changed[key] = None

    def clear(self) -> None:
        """Remove all keys."""
        for key in list(self._values):
            self.delete(key)

    def enumerate(self) -> Iterator[tuple[int, Any]]:
        """The keys, numbered, as Heron's Python has it."""
        return enumerate(list(self._values))

    def __getitem__(self, key: Any) -> Any:
        return self._values[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.put(key, value)

    def __contains__(self, key: Any) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """Pairs of a key and its value, as Storm's Java has it."""
        return iter(list(self._values.items()))

    def __len__(self) -> int:
        return len(self._values)

    def __str__(self) -> str:
        return str(self._values)

    def changes(self) -> dict[Any, tuple[Any, ...]]:
        """For the task: what has changed since the last call; a key with its value, or with nothing if it was deleted."""
        changed, self._changed = self._changed, {}
        return {key: (self._values[key],) if key in self._values else () for key in changed}
