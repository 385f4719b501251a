"""What is wrong with the reading of the topics, for as long as it is."""

from __future__ import annotations

ODD_MS = 60_000  # for so long an odd message is told: those after it were read
_LONGEST = 300  # characters of it


class Reading:
    """`away`: why the topics cannot be read now; None when they can."""

    def __init__(self) -> None:
        self.away: str | None = None
        self._odd: tuple[str, float] = "", -ODD_MS

    def odd(self, what: str, at_ms: float) -> None:
        """A message was not as agreed, and was left out."""
        self._odd = what[:_LONGEST], at_ms

    def shown(self, now_ms: float) -> dict[str, str | None]:
        what, at_ms = self._odd
        return {"away": self.away, "odd": what if now_ms - at_ms < ODD_MS else None}
