"""Inputs for the laws, made by hypothesis: few keys, ties, disorder, nulls and values at the edge of their type.

    @given(rows("customer string, amount double, ts timestamp", keys=("customer",)))
    def test_the_law(given):
        laws.same_in_every_shape(operator, given, SCHEMA)

A Spark run costs tenths of a second for each micro-batch: keep `max_size` and the number of examples small.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st
from pyspark.sql import Row
from pyspark.sql import types as T

from headrace.errors import DefinitionError, user_line
from headrace.testing.clocks import START

Values = st.SearchStrategy[Any]


@st.composite
def rows(
    draw: st.DrawFn,
    schema: str | T.StructType,
    *,
    keys: tuple[str, ...] = (),
    nulls: bool = True,
    columns: Mapping[str, Values] | None = None,
    min_size: int = 4,
    max_size: int = 10,
) -> list[Row]:
    """Lists of rows of a schema. Key columns take one of three values, or null; a column given in `columns` what that strategy makes.

    Floats are multiples of a quarter, infinite or NaN, so that a sum does not depend on the order of its terms; timestamps are few and
    close together, so that there are ties and disorder. Without `nulls` no value is null.
    """
    structure = schema if isinstance(schema, T.StructType) else _parsed(schema)
    chosen = columns or {}
    fields = [chosen[f.name] if f.name in chosen else _column(f, f.name in keys, nulls) for f in structure.fields]
    drawn = draw(st.lists(st.tuples(*fields), min_size=min_size, max_size=max_size))
    return [Row(*structure.names)(*values) for values in drawn]


def values(kind: T.DataType) -> Values:
    """Values of a type, its edge cases among them, never null itself."""
    match kind:
        case T.ArrayType():
            return st.lists(st.none() | values(kind.elementType), max_size=3)
        case T.MapType():
            return st.dictionaries(values(kind.keyType), st.none() | values(kind.valueType), max_size=3)
        case T.StructType():
            return st.tuples(*(st.none() | values(f.dataType) for f in kind.fields)).map(lambda v: Row(*kind.names)(*v))
        case T.DecimalType():
            return st.integers(-400, 400).map(lambda n: Decimal(n).scaleb(-kind.scale))
        case _ if type(kind) in _VALUES:
            return _VALUES[type(kind)]()
        case _:
            raise DefinitionError(f"there is no strategy for {kind.simpleString()}", fix="give one in `columns`", where=user_line())


def _parsed(schema: str) -> T.StructType:
    structure = T.StructType.fromDDL(schema)
    assert isinstance(structure, T.StructType)
    return structure


def _column(field: T.StructField, key: bool, nulls: bool) -> Values:
    whole = st.sampled_from(_KEYS[type(field.dataType)]) if key and type(field.dataType) in _KEYS else values(field.dataType)
    return st.one_of(whole, whole, whole, st.none()) if nulls else whole


def _instants() -> st.SearchStrategy[datetime]:
    seconds = st.integers(0, 12).map(lambda n: START + timedelta(seconds=n))
    return st.one_of(seconds, seconds, st.just(START + timedelta(seconds=5, microseconds=1)))


_KEYS: dict[type[T.DataType], list[Any]] = {
    T.StringType: ["ann", "bob", ""],
    **{kind: [1, 2, -1] for kind in (T.ByteType, T.ShortType, T.IntegerType, T.LongType)},
}

_VALUES: dict[type[T.DataType], Callable[[], Values]] = {
    T.BooleanType: st.booleans,
    T.ByteType: lambda: st.integers(-100, 100),
    T.ShortType: lambda: st.integers(-100, 100) | st.sampled_from([-(2**15), 2**15 - 1]),
    T.IntegerType: lambda: st.integers(-100, 100) | st.sampled_from([-(2**31), 2**31 - 1]),
    T.LongType: lambda: st.integers(-100, 100) | st.sampled_from([-(2**53), 2**53]),
    T.FloatType: lambda: _quarters(),
    T.DoubleType: lambda: _quarters(),
    T.StringType: lambda: st.sampled_from(["", "a", "A", "é", "-", "null", " ", "a|b", "x" * 300]),
    T.BinaryType: lambda: st.sampled_from([bytearray(), bytearray(b"\x00\xff")]),
    T.DateType: lambda: st.sampled_from([date(1970, 1, 1), date(2026, 1, 1), date(2024, 2, 29), date(9999, 12, 31)]),
    T.TimestampType: _instants,
    T.TimestampNTZType: lambda: _instants().map(lambda at: at.replace(tzinfo=None)),
    T.DayTimeIntervalType: lambda: st.integers(-60, 60).map(lambda n: timedelta(seconds=n)),
}


def _quarters() -> st.SearchStrategy[float]:
    whole = st.integers(-400, 400).map(lambda n: n / 4)
    return st.one_of(whole, whole, whole, st.sampled_from([float("nan"), float("inf"), float("-inf")]))
