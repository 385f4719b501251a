"""From headrace's own streams: the columns become the fields of a Row."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import functions as F
from pyspark.sql import types as T

from headrace.definitions import arguments
from headrace.errors import DefinitionError, user_line
from headrace.fronts.flink.streams.parts import Part
from headrace.fronts.flink.types import TypeInformation, Types
from headrace.fronts.stream import Stream
from headrace.kernel.event_time import time_columns

_SIMPLE: Mapping[type[T.DataType], TypeInformation] = {
    type(kind.spark): kind
    for kind in (
        Types.STRING(), Types.BOOLEAN(), Types.BYTE(), Types.SHORT(), Types.INT(), Types.LONG(), Types.FLOAT(), Types.DOUBLE(),
        Types.SQL_DATE(), Types.SQL_TIMESTAMP(), Types.INSTANT(), Types.PRIMITIVE_ARRAY(Types.BYTE()),
    )
}  # fmt: skip


def part(stream: object, type_info: TypeInformation | None) -> Part:
    """A stream whose records are rows of its columns; an event time stays one."""
    if not isinstance(stream, Stream):
        raise DefinitionError(
            f"from_source: {arguments.shown(stream)} is no source",
            fix="give a KafkaSource, or a Stream of headrace's: hr.read.…",
            where=user_line(),
        )
    kind = type_of(stream.schema) if type_info is None else type_info
    times = time_columns(stream.step.preview)
    value = F.struct(*(F.col(f"`{name}`") for name in stream.columns))
    time = F.col(f"`{times[0]}`") if times else F.lit(None).cast("timestamp")
    rows = stream.select(time.alias("time"), value.cast(kind.spark).alias("value"))
    return Part(rows, kind, timed=bool(times), has_time=bool(times))


def type_of(kind: T.DataType) -> TypeInformation:
    """A type of Spark's in Flink's words."""
    match kind:
        case T.StructType():
            return Types.ROW_NAMED(kind.names, [type_of(field.dataType) for field in kind])
        case T.ArrayType():
            return Types.LIST(type_of(kind.elementType))
        case T.MapType():
            return Types.MAP(type_of(kind.keyType), type_of(kind.valueType))
        case T.DecimalType():
            return TypeInformation("BIG_DEC", kind)
    if type(kind) not in _SIMPLE:
        raise DefinitionError(f"from_stream: {kind.simpleString()} is no type of Flink's", fix="cast the column before", where=user_line())
    return _SIMPLE[type(kind)]
