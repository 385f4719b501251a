"""Dead letters: by reason, and the newest ones to read."""

from __future__ import annotations

import base64
from collections import deque
from itertools import islice
from typing import Any

NEWEST, REASONS = 50, 100
_READABLE = 600  # bytes of a letter that are shown
_REMEMBERED = 50_000  # ids of letters from topics other than `transactions`, to know repeats by


class Letters:
    def __init__(self) -> None:
        self.count = 0
        self.elsewhere = 0  # from topics that are no part of the sum
        self._reasons: dict[str, int] = {}
        self._newest: deque[dict[str, Any]] = deque(maxlen=NEWEST)
        self._ids: dict[tuple[str, int, int], None] = {}

    def first(self, place: tuple[str, int, int]) -> bool:
        """Whether a letter from another topic than `transactions` is met for the first time."""
        if place in self._ids:
            return False
        self._ids[place] = None
        if len(self._ids) > _REMEMBERED:
            del self._ids[next(iter(self._ids))]
        self.elsewhere += 1
        return True

    def add(self, place: tuple[str, int, int], letter: dict[str, Any]) -> None:
        reason = letter["reason"] if letter["reason"] in self._reasons or len(self._reasons) < REASONS else "other"
        self._reasons[reason] = self._reasons.get(reason, 0) + 1
        self.count += 1
        raw = base64.b64decode(letter["raw"] or "")[:_READABLE].decode("utf-8", "backslashreplace")
        topic, partition, offset = place
        self._newest.append(
            {"n": self.count, "reason": letter["reason"], "raw": raw, "topic": topic, "partition": partition, "offset": offset}
        )

    def shown(self, newest: int = NEWEST) -> dict[str, Any]:
        """The newest first."""
        return {"count": self.count, "reasons": dict(self._reasons), "newest": list(islice(reversed(self._newest), newest))}
