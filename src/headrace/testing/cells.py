"""One cell of a text table: from text to a value of a Spark type, and back.

    null        -  or nothing
    text        ann, or "quoted" where it would read as null
    timestamp   2026-01-31 10:00:05, or only 10:00:05, which is on 1970-01-01
    interval    10 seconds
    binary      the text's UTF-8 bytes, or 0x00ff
    array, map, struct   JSON: [1, null], {"a": 1}

Timestamps without a zone are in UTC.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from pyspark.sql import Row
from pyspark.sql import types as T

from headrace.definitions.durations import micros
from headrace.errors import DefinitionError, user_line

_EPOCH = date(1970, 1, 1)
_TRUTH = {"true": True, "false": False}


class ExactFloat(str):
    """A float by its shortest text, so that every NaN is equal to itself and -0.0 is not 0.0."""


def parse(cell: str, kind: T.DataType) -> Any:
    """The value of type `kind` that a cell's text means."""
    if cell in ("", "-"):
        return None
    if isinstance(kind, T.ArrayType | T.MapType | T.StructType):
        return _from_json(json.loads(cell), kind)
    reader = _READERS.get(type(kind))
    if reader is None:
        raise DefinitionError(f"a text table cannot hold {kind.simpleString()}", fix="pass rows and a schema", where=user_line())
    try:
        return reader(cell)
    except (ValueError, KeyError, ArithmeticError):
        raise DefinitionError(
            f'"{cell}" is no {kind.simpleString()}', fix="mend the cell, or the type in the header", where=user_line()
        ) from None


def guess(cells: Iterable[str]) -> T.DataType:
    """The narrowest of bigint, double, boolean, timestamp and string that all cells of an untyped column can be read as."""
    written = [cell for cell in cells if cell not in ("", "-")]
    for kind in (T.LongType(), T.DoubleType(), T.BooleanType(), T.TimestampType()):
        if written and all(_reads(cell, kind) for cell in written):
            return kind
    return T.StringType()


def render(value: Any) -> str:
    """The text of a value, as a person would write it in a table."""
    match value:
        case None:
            return "-"
        case str():
            return json.dumps(value) if value.strip() != value or value in ("", "-") or "|" in value or "\n" in value else value
        case bool():
            return str(value).lower()
        case datetime():
            moment = value.replace(tzinfo=None)
            return str(moment.time()) if moment.date() == _EPOCH else str(moment)
        case bytes() | bytearray():
            return "0x" + bytes(value).hex()
        case Row() | list() | tuple() | dict():
            return json.dumps(_to_json(value))
        case _:
            return str(value)


def exact(value: Any, kind: T.DataType | None = None) -> Any:
    """A hashable stand-in that is equal only for equal values: NaN equals itself, -0.0 is not 0.0, and an instant is in UTC.

    PySpark hands timestamps out in the local zone of the Python process; without this a table would read differently from place to place.
    """
    match value:
        case float():
            return ExactFloat(repr(value))
        case datetime():
            return value if isinstance(kind, T.TimestampNTZType) else value.astimezone(UTC).replace(tzinfo=None)
        case Row() | tuple():
            kinds = [f.dataType for f in kind.fields] if isinstance(kind, T.StructType) else [None] * len(value)
            return tuple(exact(item, of) for item, of in zip(value, kinds, strict=True))
        case list():
            of = kind.elementType if isinstance(kind, T.ArrayType) else None
            return tuple(exact(item, of) for item in value)
        case dict():
            key, item = (kind.keyType, kind.valueType) if isinstance(kind, T.MapType) else (None, None)
            return frozenset((exact(k, key), exact(v, item)) for k, v in value.items())
        case bytearray():
            return bytes(value)
        case _:
            return value


def _moment(cell: str) -> datetime:
    return datetime.fromisoformat(f"{_EPOCH} {cell}" if cell[2:3] == ":" else cell)


def _instant(cell: str) -> datetime:
    moment = _moment(cell)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _duration(cell: str) -> timedelta:
    length = timedelta(microseconds=micros(cell.removeprefix("-")))
    return -length if cell.startswith("-") else length


def _text(cell: str) -> str:
    return str(json.loads(cell)) if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell


def _bytes(cell: str) -> bytearray:
    return bytearray(bytes.fromhex(cell[2:]) if cell.startswith("0x") else _text(cell).encode())


_READERS: dict[type[T.DataType], Callable[[str], Any]] = {
    T.StringType: _text,
    T.BooleanType: lambda cell: _TRUTH[cell.lower()],
    **dict.fromkeys((T.ByteType, T.ShortType, T.IntegerType, T.LongType), int),
    **dict.fromkeys((T.FloatType, T.DoubleType), float),
    T.DecimalType: Decimal,
    T.DateType: date.fromisoformat,
    T.TimestampType: _instant,
    T.TimestampNTZType: _moment,
    T.DayTimeIntervalType: _duration,
    T.BinaryType: _bytes,
}


def _reads(cell: str, kind: T.DataType) -> bool:
    try:
        parse(cell, kind)
    except DefinitionError:
        return False
    return True


def _from_json(value: Any, kind: T.DataType) -> Any:
    if value is None:
        return None
    match kind:
        case T.ArrayType():
            return [_from_json(item, kind.elementType) for item in value]
        case T.MapType():
            return {parse(key, kind.keyType): _from_json(item, kind.valueType) for key, item in value.items()}
        case T.StructType():
            values = value if isinstance(value, dict) else dict(zip(kind.names, value, strict=True))
            return Row(*kind.names)(*(_from_json(values.get(field.name), field.dataType) for field in kind.fields))
        case T.StringType():
            return str(value)
        case _:
            return parse(value if isinstance(value, str) else json.dumps(value), kind)


def _to_json(value: Any) -> Any:
    match value:
        case Row():
            return {name: _to_json(item) for name, item in value.asDict().items()}
        case list() | tuple():
            return [_to_json(item) for item in value]
        case dict():
            return {render(key): _to_json(item) for key, item in value.items()}
        case None | bool() | int() | float() | str():
            return value
        case timedelta():
            return str(value)
        case _:
            return render(value)
