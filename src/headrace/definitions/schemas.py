"""What a record looks like: a dataclass, a pydantic model, a DDL string or a StructType, as one StructType.

Required are the fields that cannot be null: those of a class whose type is not `X | None`, those of a DDL string with `NOT NULL`.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Reading:
    ...     sensor: str
    ...     celsius: float
    ...     note: str | None
    >>> [(field.name, field.dataType.simpleString(), field.nullable) for field in schema(Reading)]
    [('sensor', 'string', False), ('celsius', 'double', False), ('note', 'string', True)]
"""

from __future__ import annotations

from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from headrace.definitions import arguments, record_classes, refusals
from headrace.errors import DefinitionError, user_line

Schema = type | str | T.StructType

SUPPORTED = (
    "string, boolean, tinyint, smallint, int, bigint, float, double, decimal, date, timestamp, timestamp_ntz, binary, "
    "array<X>, map<string, X>, struct<...>"
)

_SCALARS = (
    T.StringType, T.BooleanType, T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.FloatType, T.DoubleType,
    T.DecimalType, T.DateType, T.TimestampType, T.TimestampNTZType, T.BinaryType,
)  # fmt: skip


def schema(of: Schema) -> T.StructType:
    """The StructType that `of` describes; DefinitionError, with the field, if it describes none."""
    kind = record_classes.read(of)[0] if isinstance(of, type) else of if isinstance(of, T.StructType) else _ddl(of)
    _check(kind, of.__name__ if isinstance(of, type) else "the schema")
    return kind


def bounds(of: Schema) -> dict[str, record_classes.Bounds]:
    """The bounds (`gt`, `ge`, `lt`, `le`) that the fields of a class declare, by the field's path.

    >>> from pydantic import BaseModel, Field
    >>> class Payment(BaseModel):
    ...     id: str
    ...     amount: float = Field(gt=0)
    >>> bounds(Payment)
    {'amount': {'gt': 0}}
    """
    return {path: each for path, each in record_classes.read(of)[1].items() if each} if isinstance(of, type) else {}


def structure(at: str, of: str | T.StructType | None) -> T.StructType:
    """The StructType that a DDL string or a StructType is, of whatever types: for what is not decoded. `at` says where it was given."""
    if not isinstance(of, str | T.StructType):
        raise _refuse(f"{at}: {arguments.shown(of)} is no schema", "write 'n int, name string', or give a StructType")
    try:
        return of if isinstance(of, T.StructType) else _ddl(of)
    except DefinitionError as error:
        raise _refuse(f"{at}: {error.what}", error.fix) from None


def _ddl(text: Any) -> T.StructType:
    if not isinstance(text, str):
        raise _refuse(
            f"{arguments.shown(text)} is no schema",
            "write 'id string not null, amount double', or give a dataclass, a pydantic model or a StructType",
        )
    if SparkSession.getActiveSession() is None:
        raise _refuse("a DDL string is read by Spark, and no session is running", "call headrace.session() first, or give a dataclass")
    try:
        kind = T.DataType.fromDDL(text)
    except PySparkException as error:
        raise _refuse(f"{text!r} is no DDL: {refusals.first_line(str(error))}", _DDL) from None
    if not isinstance(kind, T.StructType):
        raise _refuse(f"{text!r} is a type and no record", _DDL)
    return kind


_DDL = f"write 'name TYPE [NOT NULL], ...', with types such as {SUPPORTED}"


def _check(kind: T.StructType, path: str) -> None:
    if not kind.fields:
        raise _refuse(f"{path} has no fields", "give it at least one")
    seen: dict[str, str] = {}
    for field in kind.fields:
        if field.name.lower() in seen:
            twins = f"{seen[field.name.lower()]} and {field.name}"
            raise _refuse(f"{path} has the fields {twins}, which Spark cannot tell apart", "rename one of them")
        seen[field.name.lower()] = field.name
        _check_type(field.dataType, f"{path}.{field.name}")


def _check_type(kind: T.DataType, path: str) -> None:
    if isinstance(kind, T.StructType):
        _check(kind, path)
    elif isinstance(kind, T.ArrayType):
        _check_type(kind.elementType, f"{path}[]")
    elif isinstance(kind, T.MapType) and isinstance(kind.keyType, T.StringType):
        _check_type(kind.valueType, f"{path}[]")
    elif not isinstance(kind, _SCALARS):
        raise _refuse(f"{path} is of the type {kind.simpleString()}, which cannot be decoded", f"use one of: {SUPPORTED}")


def _refuse(what: str, fix: str) -> DefinitionError:
    return DefinitionError(what, fix=fix, where=user_line())
