"""Times as text, and the rhythm of a day."""

from __future__ import annotations

from datetime import UTC, datetime

from headrace_fraud.world.cities import CITIES

START = datetime(2026, 2, 2, 8, tzinfo=UTC)
QUARTER_MS = 15 * 60 * 1000

# How likely a customer buys when it is their turn, in the local hours 0 to 23.
AWAKE = (
    0.12,
    0.08,
    0.06,
    0.06,
    0.08,
    0.15,
    0.35,
    0.65,
    0.9,
    0.85,
    0.85,
    0.9,
    1.0,
    0.95,
    0.85,
    0.85,
    0.95,
    1.0,
    1.0,
    0.95,
    0.8,
    0.6,
    0.4,
    0.2,
)


def local_hours(at_ms: int) -> list[int]:
    """The hour on the clock of each city."""
    minutes = at_ms // 60_000
    return [(minutes + city.utc_offset_min) // 60 % 24 for city in CITIES]


class Clock:
    """Milliseconds since 1970 as `2026-02-02T08:00:00.005Z`. Most follow the one before within a second, so that text is kept."""

    def __init__(self) -> None:
        self._second = -1
        self._text = ""

    def text(self, at_ms: int) -> str:
        second, ms = divmod(at_ms, 1000)
        if second != self._second:
            self._second = second
            self._text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S.")
        return f"{self._text}{ms:03}Z"
