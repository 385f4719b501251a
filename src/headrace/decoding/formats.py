"""Which decoder reads which format, and what cannot be read at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import reduce
from operator import ge, gt, le, lt, or_
from typing import Any, Literal

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType

from headrace.decoding import native
from headrace.decoding import times as declared
from headrace.decoding.times import Times
from headrace.definitions import schemas
from headrace.errors import DefinitionError, user_line

Format = Literal["json", "csv", "avro", "raw"]

_OUTSIDE: dict[str, Callable[[Column, Any], Column]] = {"gt": le, "ge": lt, "lt": ge, "le": gt}


def outcome(column: Column, format: str, schema: Any, *, tag: str | None, separator: str, times: Times | None) -> Column:
    """`struct<record, reason>` from the bytes in `column`, for `decoding.decode`, where the formats are described."""
    if format not in ("json", "csv", "avro", "raw"):
        raise _refuse(f"{format!r} is no format", "use 'json', 'csv', 'avro' or 'raw'")
    if tag is not None and format != "json":
        raise _refuse(f"records of several kinds (tag={tag!r}) cannot be {format}", "use 'json', or a topic for each kind")
    if times is not None and format not in ("json", "csv"):
        raise _refuse(f"times={times!r} cannot be told of {format}", "leave it out: times= is for json and csv")
    if format == "raw":
        if schema is not None:
            raise _refuse("format 'raw' has no schema: the bytes stay as they are", "leave the schema out, or name another format")
        return F.struct(F.struct(column.alias("value")).alias("record"), F.lit(None).cast("string").alias("reason"))
    if schema is None:
        raise _refuse(f"format {format!r} needs a schema", "give a dataclass, a pydantic model, a DDL string or a StructType")
    if format == "avro":
        return _avro(column.cast("binary"), schema)
    if tag is not None:
        return _tagged(column, tag, schema, times)
    if isinstance(schema, Mapping):
        raise _refuse("several schemas were given, and nothing that tells which is a record's", "name the field that does: tag='type'")
    schema = schemas.schema(schema)
    forms = declared.forms(times, schema)
    return native.json(column, schema, forms) if format == "json" else _csv(column, schema, separator, forms)


def out_of_range(schema: Any, *, tag: str | None) -> dict[str, Column]:
    """The bounds that classes declare, as reasons and the conditions of a bad record."""
    kinds = [(F.col(tag) == kind, each) for kind, each in schema.items()] if tag is not None else [(F.lit(True), schema)]
    reasons: dict[str, Column] = {}
    for of_kind, each in kinds:
        for path, bounds in schemas.bounds(each).items():
            outside = reduce(or_, (_OUTSIDE[name](F.col(path), value) for name, value in bounds.items()))
            reason = f"out_of_range:{path}"
            reasons[reason] = reasons[reason] | (of_kind & outside) if reason in reasons else of_kind & outside
    return reasons


def _tagged(column: Column, tag: str, by_kind: Any, times: Times | None) -> Column:
    if not isinstance(by_kind, Mapping) or not by_kind:
        raise _refuse(f"tag={tag!r} needs a schema for each of its values", "give a dict: schema={'order': Order, 'payment': Payment}")
    fields: dict[str, StructField] = {tag: StructField(tag, StringType(), nullable=False)}
    kinds = {name: schemas.schema(each) for name, each in by_kind.items()}
    for kind, schema in kinds.items():
        for field in schema:
            known = fields.setdefault(field.name, StructField(field.name, field.dataType, nullable=False))
            if known.dataType != field.dataType:
                raise _refuse(
                    f"{field.name} is {field.dataType.simpleString()} in {kind!r}, and {known.dataType.simpleString()} elsewhere",
                    "give it one type in all kinds, or decode a topic for each kind",
                )
    for schema in kinds.values():
        for field in fields.values():
            own = field.name in schema.fieldNames()
            field.nullable |= field.name != tag and (not own or schema[field.name].nullable)
    with_tag = {kind: StructType([fields[tag], *(f for f in schema if f.name != tag)]) for kind, schema in kinds.items()}
    schema = StructType(list(fields.values()))
    return native.tagged_json(column, schema, tag, with_tag, declared.forms(times, schema))


def _csv(column: Column, schema: StructType, separator: str, forms: Mapping[str, str]) -> Column:
    if len(separator) != 1 or not separator.isascii() or separator in '"\r\n':
        raise _refuse(f"{separator!r} cannot separate the cells of CSV", "use one ASCII character, such as ',' or ';' or '\\t'")
    for field in schema:
        if isinstance(field.dataType, ArrayType | MapType | StructType):
            raise _refuse(f"{field.name} is of the type {field.dataType.simpleString()}, and CSV has no such cells", "use JSON or Avro")
    return native.csv(column, schema, separator, forms)


def _avro(column: Column, schema: Any) -> Column:
    text = json.dumps(schema) if isinstance(schema, Mapping) else schema
    try:
        kind = json.loads(text)["type"]
    except (TypeError, ValueError, KeyError):
        kind = None
    if kind != "record":
        raise _refuse(
            "Avro is read with the schema of its writer, and this is none", "give the record's Avro schema, as JSON text or a dict"
        )
    try:
        SparkSession.active().range(0).select(native.avro(F.lit(b""), text))
    except (PySparkException, Py4JError) as error:
        java = getattr(error, "java_exception", None)
        refusal = str(java.getMessage() if java is not None else error).strip().splitlines()[0]
        raise _refuse(f"the Avro schema is not one: {refusal}", "correct it; a type that contains itself is not supported") from None
    return native.avro(column, text)


def _refuse(what: str, fix: str) -> DefinitionError:
    return DefinitionError(what, fix=fix, where=user_line())
