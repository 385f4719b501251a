"""How Spark's types are sent to a Python worker and back: the worker's converters, by type, and the values that a state begins with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headrace.kernel.python.worker.converters import (
    Again,
    Convert,
    Elements,
    ReadDict,
    ReadMap,
    Values,
    WriteMap,
    double_again,
    in_utc,
    read_date,
    read_local_time,
    read_time,
    write_bytes,
    write_date,
    write_decimal,
    write_local_time,
    write_time,
)  # fmt: skip
from headrace.kernel.python.worker.functions import Fields

_SIMPLE: Mapping[type[T.DataType], tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    T.DateType: (read_date, write_date),
    T.TimestampType: (read_time, write_time),
    T.TimestampNTZType: (read_local_time, write_local_time),
    T.DecimalType: (Decimal, write_decimal),
    T.BinaryType: (write_bytes, write_bytes),
}


def reading(struct: T.StructType) -> Fields:
    """The fields of a struct that is sent to Python."""
    return Fields(struct.names, [_converter(field.dataType, 0) for field in struct])


def writing(struct: T.StructType) -> Fields:
    """The fields of a struct that comes from Python."""
    return Fields(struct.names, [_converter(field.dataType, 1) for field in struct])


def returning(struct: T.StructType) -> Again:
    """A struct of simple values and lists of them, as it would come back (`Chain` in PythonCall.scala says of which types)."""
    return Again([_again(field.dataType) for field in struct])


def _again(kind: T.DataType) -> Convert:
    if isinstance(kind, T.ArrayType):
        element = _again(kind.elementType)
        return None if element is None else Elements(element)
    return double_again if isinstance(kind, T.DoubleType) else None


def _converter(kind: T.DataType, way: int) -> Convert:
    if type(kind) in _SIMPLE:
        return _SIMPLE[type(kind)][way]
    if isinstance(kind, T.ArrayType):
        element = _converter(kind.elementType, way)
        if element is not None:
            return Elements(element)
        return None if way else list  # a list of its own: if the function changes it and then fails, the state stays as it was
    if isinstance(kind, T.MapType):
        parts = _converter(kind.keyType, way), _converter(kind.valueType, way)
        return (WriteMap if way else ReadMap)(*parts)
    if isinstance(kind, T.StructType):
        return writing(kind).write if way else reading(kind).read
    return None


def from_arrow(kind: T.DataType) -> Convert:
    """What makes a value as Arrow gives it one as a call gets it: only times differ, wherever they are."""
    match kind:
        case T.TimestampType():
            return in_utc
        case T.ArrayType():
            element = from_arrow(kind.elementType)
            return None if element is None else Elements(element)
        case T.MapType():
            key, value = from_arrow(kind.keyType), from_arrow(kind.valueType)
            return None if key is None and value is None else ReadDict(key, value)
        case T.StructType():
            converters = {field.name: convert for field in kind if (convert := from_arrow(field.dataType)) is not None}
            return Values(converters) if converters else None
    return None


def literal(value: Any, kind: T.DataType) -> Column:
    """A Python value as a constant column of this type."""
    if value is None:
        return F.lit(None).cast(kind)
    if isinstance(kind, T.ArrayType):
        return F.array(*(literal(each, kind.elementType) for each in value)).cast(kind)
    if isinstance(kind, T.MapType):
        pairs = [part for key, each in value.items() for part in (literal(key, kind.keyType), literal(each, kind.valueType))]
        return F.create_map(*pairs).cast(kind)
    if isinstance(kind, T.StructType):
        return F.struct(*(literal(value[field.name], field.dataType).alias(field.name) for field in kind)).cast(kind)
    return F.lit(value).cast(kind)
