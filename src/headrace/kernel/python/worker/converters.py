"""How a value is made of what was sent, or the other way round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

Convert = Callable[[Any], Any] | None
"""How a value is made of what was sent, or the other way round; None if it is sent as it is."""

_EPOCH, _NAIVE_EPOCH, _FIRST_DAY = datetime(1970, 1, 1, tzinfo=UTC), datetime(1970, 1, 1), date(1970, 1, 1).toordinal()
_MICROSECOND = timedelta(microseconds=1)


def in_utc(time: datetime) -> datetime:
    """A time as Arrow gives it, whose zone is UTC under another name."""
    return time.replace(tzinfo=UTC)


def read_date(days: int) -> date:
    return date.fromordinal(days + _FIRST_DAY)


def write_date(day: date) -> int:
    return day.toordinal() - _FIRST_DAY


def read_time(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def write_time(time: datetime) -> int:
    return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND


def read_local_time(micros: int) -> datetime:
    return _NAIVE_EPOCH + timedelta(microseconds=micros)


def write_local_time(time: datetime) -> int:
    return (time.replace(tzinfo=None) - _NAIVE_EPOCH) // _MICROSECOND


def write_decimal(number: Decimal) -> str:
    return format(number, "f") if isinstance(number, Decimal) else str(number)


def write_bytes(value: Any) -> bytes:
    return bytes(value)


class Elements:
    """All elements of an array."""

    def __init__(self, convert: Callable[[Any], Any]) -> None:
        self.convert = convert

    def __call__(self, values: Iterable[Any]) -> list[Any]:
        return [None if value is None else self.convert(value) for value in values]


class Again:
    """The fields of a struct as they would come back if they were sent away."""

    def __init__(self, converters: Sequence[Convert]) -> None:
        self.converters = [convert or same for convert in converters]

    def __call__(self, values: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(None if value is None else convert(value) for convert, value in zip(self.converters, values, strict=True))


def double_again(number: Any) -> Any:
    return float(number) if type(number) is int else number


class Values:
    """The fields of a dict that have a converter, each by its own; the others as they are."""

    def __init__(self, converters: Mapping[str, Callable[[Any], Any]]) -> None:
        self.converters = converters

    def __call__(self, fields: dict[str, Any]) -> dict[str, Any]:
        changed = {name: convert(fields[name]) for name, convert in self.converters.items() if fields[name] is not None}
        return fields | changed


class ReadDict:
    """The keys and values of a dict."""

    def __init__(self, key: Convert, value: Convert) -> None:
        self.key, self.value = key or same, value or same

    def __call__(self, entries: Mapping[Any, Any]) -> dict[Any, Any]:
        return {self.key(key): None if value is None else self.value(value) for key, value in entries.items()}


class ReadMap:
    def __init__(self, key: Convert, value: Convert) -> None:
        self.key, self.value = key or same, value or same

    def __call__(self, pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
        return {self.key(key): None if value is None else self.value(value) for key, value in pairs}


class WriteMap(ReadMap):
    def __call__(self, pairs: Any) -> Any:
        return [(self.key(key), None if value is None else self.value(value)) for key, value in pairs.items()]


def same(value: Any) -> Any:
    return value
