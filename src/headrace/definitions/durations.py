"""Durations as people write them: `"10 seconds"`, `"5 minutes"`, `"1 hour 30 minutes"`."""

from __future__ import annotations

import re

from headrace.errors import DefinitionError, user_line

_MICROS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+?)s?(?=\s|$)")


def micros(text: str, at: str = "") -> int:
    """The duration in microseconds. A month or a year has no fixed length, so there are none. `at` says where it was given."""
    total = _sum(text)
    if total is None or total <= 0:
        raise _refused(text, at, "a duration" if total is None else "a positive duration")
    return total


def offset(text: str, at: str = "") -> int:
    """How much later, in microseconds; with a minus, how much earlier: `"10 minutes"`, `"-5 minutes"`, `"0 seconds"`."""
    earlier = isinstance(text, str) and text.strip().startswith("-")
    total = _sum(text.strip()[1:] if earlier else text)
    if total is None:
        raise _refused(text, at, "a duration, with or without a minus")
    return -total if earlier else total


def _sum(text: str) -> int | None:
    """The parts of a duration together, in microseconds; None if it is no duration."""
    total, position = 0.0, 0
    lowered = text.strip().lower() if isinstance(text, str) else ""
    while position < len(lowered):
        part = _PART.match(lowered, position)
        if part is None or part[2] not in _MICROS:
            return None
        total += float(part[1]) * _MICROS[part[2]]
        position = part.end()
    return round(total) if lowered else None


def delay(text: str, at: str = "") -> int:
    """How late something may be, in microseconds: a duration, or none at all, `"0 seconds"`."""
    part = _PART.fullmatch(text.strip().lower()) if isinstance(text, str) else None
    return 0 if part is not None and part[2] in _MICROS and float(part[1]) == 0 else micros(text, at)


def spark(text: str) -> str:
    """A duration in Spark's words, which have no half minutes."""
    parts = _PART.findall(text.strip().lower())
    whole = all("." not in number for number, _ in parts)
    return " ".join(f"{number} {unit}" for number, unit in parts) if whole else f"{micros(text)} microseconds"


def _refused(text: str, at: str, what: str) -> DefinitionError:
    return DefinitionError(
        f"{at and at + ': '}{text!r} is not {what}",
        fix=f"write a number and a unit ({', '.join(_MICROS)}), such as '10 seconds'",
        where=user_line(),
    )
