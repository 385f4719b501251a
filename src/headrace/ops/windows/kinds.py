"""How a stream is cut into windows: values, which do nothing by themselves.

| window                               | the windows that a record at 12:07 is in                                                |
|--------------------------------------|------------------------------------------------------------------------------------------|
| `tumbling("10 minutes")`             | [12:00, 12:10)                                                                           |
| `sliding("10 minutes", "5 minutes")` | [12:00, 12:10) and [12:05, 12:15)                                                        |
| `cumulating("5 minutes", "1 hour")`  | [12:00, 12:10), [12:00, 12:15) and so on, up to [12:00, 13:00)                           |
| `sessions("10 minutes")`             | one from the first record of its key to 10 minutes after the last, no longer pause inside |
| `forever()`                          | the one that all records of a key are in                                                 |

A window's start is in it, its end is not. The first three begin at multiples of their length (or slide) since 1970-01-01 UTC, moved by
`offset`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column

from headrace.definitions import arguments, durations
from headrace.errors import DefinitionError, user_line


class Window:
    """How a stream is cut: one of the values that `tumbling`, `sliding`, `cumulating`, `sessions` and the like give."""

    @property
    def merges(self) -> bool:
        """Whether windows may become one: sessions."""
        return False

    @property
    def needs_time(self) -> bool:
        """Whether it is cut by time."""
        return True

    @property
    def decided(self) -> bool:
        """Whether its records decide on it, and no trigger."""
        return False

    @property
    def row(self) -> str:
        """Its row in the table of modes, if it has no trigger."""
        return "session_window" if self.merges else "policy_window" if self.decided else "window"

    def described(self) -> dict[str, Any]:
        """What a checkpoint depends on, in plain values."""
        return {"kind": type(self).__name__, **{name: str(value) for name, value in vars(self).items()}}


@dataclass(frozen=True)
class Fixed(Window):
    """Windows of one `length` that begin every `slide`, at `offset`; or, if there is a `step`, windows that begin together and end one step
    after the other. In microseconds."""

    length: int
    slide: int
    offset: int
    step: int = 0

    @property
    def several(self) -> int:
        """In how many windows a record is, at most."""
        return self.length // self.step if self.step else -(-self.length // self.slide)


@dataclass(frozen=True)
class Sessions(Window):
    """Records with no longer pause between them than `gap`: a duration, or a column of each record's own."""

    gap: str | Column

    @property
    def merges(self) -> bool:
        return True


@dataclass(frozen=True)
class Forever(Window):
    """One window for all."""

    @property
    def needs_time(self) -> bool:
        return False


def tumbling(length: str, *, offset: str = "0 seconds") -> Window:
    """Windows of one length, one after the other. `tumbling("1 day", offset="6 hours")` begins at six in the morning, UTC."""
    size = durations.micros(length, "tumbling")
    return Fixed(size, size, _offset("tumbling", offset, size))


def sliding(length: str, slide: str, *, offset: str = "0 seconds") -> Window:
    """Windows of one length that begin every `slide`; a record is in length/slide of them."""
    size, every = durations.micros(length, "sliding"), durations.micros(slide, "sliding: slide")
    if size < every:
        raise DefinitionError(
            f"sliding: the slide ({slide}) is longer than the window ({length}), and records between two windows would be in none",
            fix="give the length first, then the slide, which may be as long: sliding('10 minutes', '5 minutes')", where=user_line(),
        )  # fmt: skip
    return Fixed(size, every, _offset("sliding", offset, every))


def cumulating(step: str, length: str, *, offset: str = "0 seconds") -> Window:
    """Windows that begin together, every `length`, and end one step after the other: the day so far, hour by hour, is
    `cumulating("1 hour", "1 day")`. The length is a multiple of the step; a record is in at most length/step windows."""
    part, size = durations.micros(step, "cumulating"), durations.micros(length, "cumulating: length")
    if size % part:
        raise DefinitionError(
            f"cumulating: the length ({length}) is no multiple of the step ({step})",
            fix="give the step first, then a length that is some steps long: cumulating('1 hour', '1 day')", where=user_line(),
        )  # fmt: skip
    return Fixed(size, size, _offset("cumulating", offset, size), part)


def sessions(gap: str | Column) -> Window:
    """For each key, records with pauses of at most `gap` between them: one that is equal to it joins, as in Spark, Flink and Kafka.

    The gap may be a column: an interval, or a number of seconds, of each record. A session ends so long after its records, whichever is
    last. A record whose gap is null or not positive is in no session: it is late.
    """
    if not isinstance(gap, Column):
        durations.micros(gap, "sessions")
    return Sessions(gap)


def forever() -> Window:
    """One window that never ends: all records of a key. It puts out nothing without a trigger, but at the end of a batch; and of a stream
    that is finished, if it goes by event time."""
    return Forever()


def _offset(at: str, offset: str, within: int) -> int:
    moved = durations.offset(offset, f"{at}: offset")
    if abs(moved) >= within:
        raise DefinitionError(
            f"{at}: the offset ({arguments.shown(offset)}) is not shorter than the time between two windows",
            fix="take whole windows off it: 25 hours into the day is 1 hour into it", where=user_line(),
        )  # fmt: skip
    return moved
