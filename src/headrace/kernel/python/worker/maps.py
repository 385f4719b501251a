"""Maps of a key that a function reads and writes, entry by entry."""

from __future__ import annotations

from collections.abc import Callable


class EntryMap:
    """A map of the key at hand, from bytes to bytes. What is written goes with the answer of the call, and this call sees it already."""

    def __init__(self, number: int, ask: Callable[..., list[tuple[bytes, bytes]]]) -> None:
        self._number, self._ask = number, ask
        self._read: dict[bytes, bytes | None] = {}
        self._written: dict[bytes, bytes | None] = {}

    def get(self, key: bytes) -> bytes | None:
        """The value of a key; None if it has none."""
        if key in self._written:
            return self._written[key]
        if key not in self._read:
            self._read[key] = next((value for _, value in self._ask(self._number, False, key, None)), None)
        return self._read[key]

    def put(self, key: bytes, value: bytes) -> None:
        """Set the value of a key."""
        self._written[key] = value

    def delete(self, key: bytes) -> None:
        """Remove a key; nothing happens if it is not there."""
        self._written[key] = None

    def between(self, start: bytes | None = None, end: bytes | None = None) -> list[tuple[bytes, bytes]]:
        """The entries from `start` (included) to `end` (excluded), in the order of their keys; None: no bound on that side."""
        entries: dict[bytes, bytes | None] = dict(self._ask(self._number, True, start, end))
        entries |= {key: value for key, value in self._written.items() if (start is None or start <= key) and (end is None or key < end)}
        return sorted((key, value) for key, value in entries.items() if value is not None)

    def changes(self) -> list[tuple[int, bytes, bytes | None]]:
        """What was written, as it goes with the answer."""
        return [(self._number, key, value) for key, value in self._written.items()]
