"""Times and durations of batches. Within the front all are whole milliseconds; users give seconds."""

from __future__ import annotations

from datetime import datetime, timedelta

from headrace.errors import ArgumentError, user_line

Duration = float | timedelta
"""Seconds, fractions allowed, or a timedelta."""


def Seconds(seconds: float) -> float:
    """So many seconds, as durations are written in Scala: `Seconds(1)`. A plain number says the same."""
    return seconds


def Minutes(minutes: float) -> float:
    """So many minutes: `Minutes(1)` is 60."""
    return 60 * minutes


def Milliseconds(milliseconds: float) -> float:
    """So many milliseconds: `Milliseconds(500)` is 0.5."""
    return milliseconds / 1000


def millis(at: str, duration: Duration) -> int:
    """A duration in milliseconds; `at` says what it is for."""
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else duration
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or round(seconds * 1000) <= 0:
        raise ArgumentError(f"{at}: {duration!r} is no duration", fix="give seconds, at least 0.001, or a timedelta", where=user_line())
    return round(seconds * 1000)


def words(milliseconds: int) -> str:
    """A duration for people.

    >>> words(1500), words(200), words(1000)
    ('1.5 s', '200 ms', '1 s')
    """
    return f"{milliseconds / 1000:g} s" if milliseconds >= 1000 else f"{milliseconds} ms"


def moment(milliseconds: int) -> datetime:
    """A batch's time as functions of the user get it: this machine's local time, without a zone."""
    return datetime.fromtimestamp(milliseconds / 1000)


def instant(at: str, time: datetime | float) -> int:
    """A moment that the user gives: a datetime (local time if it has no zone) or seconds since 1970."""
    if isinstance(time, bool) or not isinstance(time, datetime | int | float):
        raise ArgumentError(f"{at}: {time!r} is no time", fix="give a datetime, or seconds since 1970", where=user_line())
    return round((time.timestamp() if isinstance(time, datetime) else time) * 1000)


class Time:
    """A batch's time as listeners see it."""

    def __init__(self, milliseconds: int) -> None:
        self._milliseconds = milliseconds

    def milliseconds(self) -> int:
        """Since 1970."""
        return self._milliseconds

    def __repr__(self) -> str:
        return f"{self._milliseconds} ms"
