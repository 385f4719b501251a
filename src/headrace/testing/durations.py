"""Durations as Spark writes them: "10 seconds", "1 minute 30 seconds", "250 ms"."""

from __future__ import annotations

import re
from datetime import timedelta

from headrace.errors import DefinitionError, user_line

_MICROSECONDS = {
    "microsecond": 1,
    "us": 1,
    "millisecond": 1_000,
    "ms": 1_000,
    "second": 1_000_000,
    "s": 1_000_000,
    "minute": 60_000_000,
    "m": 60_000_000,
    "hour": 3_600_000_000,
    "h": 3_600_000_000,
    "day": 86_400_000_000,
    "d": 86_400_000_000,
    "week": 604_800_000_000,
}
_PART = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*([a-z]+)")


def duration(value: str | timedelta) -> timedelta:
    """The length of time that `value` names. Months and years have no fixed length and are refused.

    >>> duration("1 minute 30 seconds")
    datetime.timedelta(seconds=90)
    """
    if isinstance(value, timedelta):
        return value
    text = value.strip().lower().removeprefix("interval ")
    parts = _PART.findall(text)
    unknown = [unit for _, unit in parts if unit not in _MICROSECONDS and unit.removesuffix("s") not in _MICROSECONDS]
    if not parts or unknown or _PART.sub("", text).strip():
        raise DefinitionError(f'"{value}" is not a duration', fix='write it as "10 seconds" or "1 minute 30 seconds"', where=user_line())
    return timedelta(microseconds=sum(round(float(n) * _unit(unit)) for n, unit in parts))


def _unit(name: str) -> int:
    return _MICROSECONDS[name] if name in _MICROSECONDS else _MICROSECONDS[name.removesuffix("s")]
