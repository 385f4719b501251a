"""Text tables in, text tables out.

    events = table(spark, '''
        customer | amount:double | ts:timestamp
        ann      | 10            | 10:00:00
        bob      | -             | 10:00:01
    ''')
    assert_table(events.groupBy("customer").count(), '''
        customer | count
        ann      | 1
        bob      | 1
    ''')

How each cell is written: `headrace.testing.cells`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.serializers import AutoBatchedSerializer, CPickleSerializer
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import types as T
from pyspark.sql.types import _create_converter, _make_type_verifier

from headrace.errors import DefinitionError, user_line
from headrace.kernel.jvm import java_class
from headrace.testing.cells import guess, parse
from headrace.testing.results import Result, difference

Schema = str | T.StructType
Rows = str | DataFrame | Sequence[Any]
"""Input of a test: a text table, a batch DataFrame, or tuples, dicts or Rows that go with a schema."""


def table(spark: SparkSession, text: Rows, schema: Schema | None = None) -> DataFrame:
    """A batch DataFrame, one partition, rows in the order written.

    A column's type is what its header says (`amount:double`), else what `schema` says (the two must not differ), else bigint, double,
    boolean, timestamp or string, whichever its cells can all be read as. With a schema the columns may come in any order, and one that is
    left out is null.
    """
    if isinstance(text, DataFrame):
        return text.coalesce(1)
    known = structure_of(schema) if schema is not None else None
    if isinstance(text, str):
        rows, structure = _read(text, known)
        if known is not None:
            _agree(structure, known)
            rows = [tuple(dict(zip(structure.names, row, strict=True)).get(name) for name in known.names) for row in rows]
            structure = known
    elif known is None:
        raise DefinitionError("rows need a schema", fix='pass schema="customer string, amount double"', where=user_line())
    else:
        rows, structure = list[Any](text), known
    return _frame(spark, rows, structure)


def _frame(spark: SparkSession, rows: list[Any], structure: T.StructType) -> DataFrame:
    """What `createDataFrame` gives, in a tenth of the time: PySpark sends rows through Python workers, one for each task slot, only to have
    them pickled in batches, which in one partition they are already."""
    verify, tuple_of = _make_type_verifier(structure), _create_converter(structure)
    for row in rows:
        verify(row)
    pickled = spark.sparkContext.parallelize([structure.toInternal(tuple_of(row)) for row in rows], 1)
    pickled._jrdd_deserializer = AutoBatchedSerializer(CPickleSerializer())  # type: ignore[no-untyped-call]
    arrays = java_class(spark, "org.apache.spark.api.python.SerDeUtil").toJavaArray(pickled._to_java_object_rdd())
    return DataFrame(spark._jsparkSession.applySchemaToPythonRDD(arrays.rdd(), structure.json()), spark)


def assert_table(actual: DataFrame | Result | Sequence[Row], expected: str, *, ordered: bool = False, tolerance: float = 0.0) -> None:
    """Fail, with both tables side by side, unless `actual` holds exactly the rows of the text table `expected`.

    Rows are compared as a multiset (twice is not once), or in order. Numbers must be equal to the last bit unless a `tolerance` (absolute)
    is given. The header must name every column of the result, in any order; where it says a type (`n:bigint`), that must be the column's.
    """
    got = Result.of(actual)
    rows, structure = _read(expected, got.schema)
    if sorted(structure.names) != sorted(got.schema.names):
        raise AssertionError(f"the columns differ\n  expected  {', '.join(structure.names)}\n  got       {', '.join(got.schema.names)}")
    for field in structure.fields:
        if not _same_type(field, own := got.schema[field.name]) and not isinstance(actual, Sequence):  # plain rows have no types
            expected, is_of = field.dataType.simpleString(), own.dataType.simpleString()
            raise AssertionError(f'the types differ: the column "{field.name}" is {is_of}, where {expected} is expected')
    want = Result(structure, tuple(Row(*structure.names)(*row) for row in rows))
    differing = difference(want, got.select(structure.names), ordered=ordered, tolerance=tolerance)
    if differing:
        raise AssertionError(differing)


def structure_of(schema: Schema) -> T.StructType:
    """A schema that may be written as DDL, `"customer string, amount double"`."""
    kind = schema if isinstance(schema, T.StructType) else T.DataType.fromDDL(schema)
    return kind if isinstance(kind, T.StructType) else T.StructType([T.StructField("value", kind)])  # of one type, as in PySpark


def _agree(written: T.StructType, known: T.StructType) -> None:
    for field in written.fields:
        if field.name not in known.names:
            raise DefinitionError(
                f'there is no column "{field.name}" in the schema', fix=f"use one of {', '.join(known.names)}", where=user_line()
            )
        if not _same_type(field, of := known[field.name]):
            raise DefinitionError(
                f'"{field.name}" is {field.dataType.simpleString()} in the header and {of.dataType.simpleString()} in the schema',
                fix="leave the type out of the header",
                where=user_line(),
            )


def _same_type(one: T.StructField, other: T.StructField) -> bool:
    return one.dataType.simpleString() == other.dataType.simpleString()  # inner fields may be nullable or not


def _read(text: str, known: T.StructType | None) -> tuple[list[tuple[Any, ...]], T.StructType]:
    lines = [[cell.strip() for cell in line.split("|")] for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not all(len(cell) > 1 and set(cell) <= set("-+:") for cell in line)]
    if not lines:
        raise DefinitionError("a text table has a header", fix="write the names of the columns in its first line", where=user_line())
    header, body = lines[0], lines[1:]
    ragged = next((line for line in body if len(line) != len(header)), None)
    if ragged is not None:
        raise DefinitionError(
            f"the row {' | '.join(ragged)} has {len(ragged)} cells, the header {len(header)}",
            fix='write one cell for each column; "-" is null, and a "|" in text cannot be written',
            where=user_line(),
        )
    columns = [_column(title, [line[i] for line in body], known) for i, title in enumerate(header)]
    return [tuple(parse(cell, field.dataType) for cell, field in zip(line, columns, strict=True)) for line in body], T.StructType(columns)


def _column(title: str, cells: list[str], known: T.StructType | None) -> T.StructField:
    name, _, kind = (part.strip() for part in title.partition(":"))
    if kind:
        return T.StructField(name, structure_of(f"`{name}` {kind}")[0].dataType)
    if known is not None and name in known.names:
        return T.StructField(name, known[name].dataType)
    return T.StructField(name, guess(cells))
