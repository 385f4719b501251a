"""Durations, and how a stream's time is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from headrace.definitions import arguments
from headrace.errors import DefinitionError, user_line

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MIN_TIMESTAMP, MAX_TIMESTAMP = -(2**63), 2**63 - 1
_LAST = 253_402_214_400_000  # the last day of year 9999, which is Spark's last

_UNITS = {"milliseconds": 1, "seconds": 1000, "minutes": 60_000, "hours": 3_600_000, "days": 86_400_000}


@dataclass(frozen=True)
class Time:
    """A duration, in milliseconds: `Time.seconds(5)`."""

    millis: int

    def to_milliseconds(self) -> int:
        """How long it is."""
        return self.millis

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        """So many milliseconds."""
        return _time("milliseconds", milliseconds)

    @staticmethod
    def seconds(seconds: int) -> Time:
        """So many seconds."""
        return _time("seconds", seconds)

    @staticmethod
    def minutes(minutes: int) -> Time:
        """So many minutes."""
        return _time("minutes", minutes)

    @staticmethod
    def hours(hours: int) -> Time:
        """So many hours."""
        return _time("hours", hours)

    @staticmethod
    def days(days: int) -> Time:
        """So many days."""
        return _time("days", days)


class Duration(Time):
    """The same under its other name: `Duration.of_seconds(5)`."""

    @staticmethod
    def of_millis(millis: int) -> Time:
        """So many milliseconds."""
        return _time("milliseconds", millis)

    @staticmethod
    def of_seconds(seconds: int) -> Time:
        """So many seconds."""
        return _time("seconds", seconds)

    @staticmethod
    def of_minutes(minutes: int) -> Time:
        """So many minutes."""
        return _time("minutes", minutes)

    @staticmethod
    def of_hours(hours: int) -> Time:
        """So many hours."""
        return _time("hours", hours)

    @staticmethod
    def of_days(days: int) -> Time:
        """So many days."""
        return _time("days", days)


def _time(unit: str, number: Any) -> Time:
    if not isinstance(number, int | float) or isinstance(number, bool):
        raise DefinitionError(f"Time.{unit}: {arguments.shown(number)} is no number", fix=f"give one: Time.{unit}(5)", where=user_line())
    return Time(round(number * _UNITS[unit]))


def millis(at: str, argument: Any) -> int:
    """A duration in milliseconds, as a `Time`, a `Duration`, a timedelta, or a number of them."""
    if isinstance(argument, Time):
        return argument.millis
    if isinstance(argument, timedelta):
        return argument // timedelta(milliseconds=1)
    if isinstance(argument, int) and not isinstance(argument, bool):
        return argument
    raise DefinitionError(f"{at}: {arguments.shown(argument)} is no duration", fix="give one: Time.seconds(5)", where=user_line())


def positive(at: str, argument: Any) -> int:
    """The same, which must be more than nothing."""
    if (length := millis(at, argument)) <= 0:
        raise DefinitionError(f"{at}: {length} ms is no length of time", fix="give more than 0: Time.seconds(5)", where=user_line())
    return length


def to_millis(time: datetime | None) -> int | None:
    """A time of Spark's as Flink has it."""
    return None if time is None else (time - EPOCH) // timedelta(milliseconds=1)


def to_time(timestamp: int | None) -> datetime | None:
    """A time of Flink's as Spark has it."""
    return None if timestamp is None else EPOCH + timedelta(milliseconds=min(timestamp, _LAST))


class TimestampAssigner:
    """Gives a record its time: `extract_timestamp(value, record_timestamp)`, in milliseconds since 1970. `record_timestamp` is what it had
    before, such as the time of a Kafka record, or the least number there is."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """The time of the value."""
        raise NotImplementedError


@dataclass(frozen=True)
class WatermarkStrategy:
    """How far time has come, and which time a record has.

    >>> WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5)).delay
    5000
    """

    delay: int | None = 0
    assigner: Callable[[Any, int], int] | None = None
    idle: bool = False

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: Time) -> WatermarkStrategy:
        """Records are at most so late: time is that of the newest record, less so much."""
        return WatermarkStrategy(millis("for_bounded_out_of_orderness", max_out_of_orderness))

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """Records come in the order of their time."""
        return WatermarkStrategy(0)

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """Records may have a time, but it does not go on."""
        return WatermarkStrategy(None)

    def with_timestamp_assigner(self, timestamp_assigner: TimestampAssigner | Callable[[Any, int], int]) -> WatermarkStrategy:
        """The time of a record: a `TimestampAssigner`, or a function of the value and the time that it had."""
        function: Any = getattr(timestamp_assigner, "extract_timestamp", timestamp_assigner)
        return replace(self, assigner=arguments.function("with_timestamp_assigner", function, "value", "record_timestamp"))

    def with_idleness(self, idle_timeout: Time) -> WatermarkStrategy:
        """A part of the source that is silent does not hold time up: here it never does. Of two sources, a silent one does, so streams with
        this are refused in a union."""
        positive("with_idleness", idle_timeout)
        return replace(self, idle=True)

    def with_watermark_alignment(self, *_: Any) -> WatermarkStrategy:
        """Refused: sources are not paused for one another."""
        raise DefinitionError(
            "with_watermark_alignment: no source is held back for another", fix="leave it out; a micro-batch reads all sources up to now",
            where=user_line(),
        )  # fmt: skip


def strategy(at: str, argument: object) -> WatermarkStrategy:
    """A watermark strategy, or a refusal."""
    if not isinstance(argument, WatermarkStrategy):
        raise DefinitionError(
            f"{at}: {arguments.shown(argument)} is no WatermarkStrategy",
            fix="give one: WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))", where=user_line(),
        )  # fmt: skip
    return argument
