"""Text tables in, text tables out."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import types as T

from headrace.errors import DefinitionError
from headrace.testing import Result, assert_table, table
from headrace.testing.cells import guess, parse, render


@pytest.mark.parametrize(
    ("cell", "kind", "value"),
    [
        ("-", T.StringType(), None),
        ("", T.LongType(), None),
        ('""', T.StringType(), ""),
        ('"-"', T.StringType(), "-"),
        ("ann lee", T.StringType(), "ann lee"),
        ("-7", T.LongType(), -7),
        ("1e3", T.DoubleType(), 1000.0),
        ("true", T.BooleanType(), True),
        ("1.50", T.DecimalType(10, 2), Decimal("1.50")),
        ("2026-01-31", T.DateType(), date(2026, 1, 31)),
        ("2026-01-31 10:00:05", T.TimestampType(), datetime(2026, 1, 31, 10, 0, 5, tzinfo=UTC)),
        ("10:00:05.5", T.TimestampNTZType(), datetime(1970, 1, 1, 10, 0, 5, 500_000)),
        ("90 seconds", T.DayTimeIntervalType(), timedelta(seconds=90)),
        ("-1 minute", T.DayTimeIntervalType(), timedelta(minutes=-1)),
        ("0x00ff", T.BinaryType(), bytearray(b"\x00\xff")),
        ("[1, null]", T.ArrayType(T.LongType()), [1, None]),
        ('{"a": 1}', T.MapType(T.StringType(), T.LongType()), {"a": 1}),
        ('{"a": "x"}', T.StructType([T.StructField("a", T.StringType())]), Row(a="x")),
    ],
    ids=lambda x: x.simpleString() if isinstance(x, T.DataType) else None,
)
def test_a_cell_is_read_by_the_type_of_its_column(cell: str, kind: T.DataType, value: object) -> None:
    assert parse(cell, kind) == value


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "-", "2"], "bigint"),
        (["1", "2.5"], "double"),
        (["true", "false"], "boolean"),
        (["10:00:00", "2026-01-01 10:00:00"], "timestamp"),
        (["1", "ann"], "string"),
        (["-", ""], "string"),
    ],
)
def test_an_untyped_column_is_what_all_its_cells_can_be_read_as(cells: list[str], kind: str) -> None:
    assert guess(cells).simpleString() == kind


def test_a_cell_that_does_not_fit_names_itself_the_type_and_the_line() -> None:
    with pytest.raises(DefinitionError) as error:
        parse("ann", T.LongType())
    assert error.value.what == '"ann" is no bigint'
    assert "test_tables.py" in (error.value.where or "")


@pytest.mark.parametrize("value", [None, "", "-", " padded ", "a|b", 1.5, True, Decimal("1.50"), datetime(2026, 1, 1, 10)])
def test_what_is_rendered_does_not_read_as_null(value: object) -> None:
    assert (render(value) in ("", "-")) == (value is None)


def test_types_come_from_the_header_then_the_schema_then_the_cells(spark: SparkSession) -> None:
    typed = table(spark, "a:double | b\n 1 | 2")
    assert typed.schema.simpleString() == "struct<a:double,b:bigint>"
    given = table(spark, "b | a\n 2 | 1", "a double, b string, c int")
    assert given.collect() == [Row(a=1.0, b="2", c=None)]


def test_rows_stay_in_the_order_written_in_one_partition(spark: SparkSession) -> None:
    written = table(spark, "n\n" + "\n".join(str(n) for n in range(50)))
    assert written.rdd.getNumPartitions() == 1
    assert [row.n for row in written.collect()] == list(range(50))


def test_a_table_of_only_a_header_is_empty(spark: SparkSession) -> None:
    assert table(spark, "a:double | b:string").collect() == []


def test_a_ragged_row_is_refused(spark: SparkSession) -> None:
    with pytest.raises(DefinitionError) as error:
        table(spark, "a | b\n 1")
    assert error.value.what == "the row 1 has 1 cells, the header 2"


def test_a_column_that_the_schema_lacks_is_refused(spark: SparkSession) -> None:
    with pytest.raises(DefinitionError) as error:
        table(spark, "a | x\n 1 | 2", "a double, b string")
    assert error.value.what == 'there is no column "x" in the schema'


def test_a_header_that_says_another_type_than_the_schema_is_refused(spark: SparkSession) -> None:
    assert table(spark, "a:double | b\n 1 | 2", "a double, b string").collect() == [Row(a=1.0, b="2")]
    with pytest.raises(DefinitionError) as error:
        table(spark, "a:int\n 1", "a double, b string")
    assert error.value.what == '"a" is int in the header and double in the schema'


def test_a_type_in_the_header_must_be_that_of_the_column(spark: SparkSession) -> None:
    made = spark.sql("SELECT 1L AS n, array(named_struct('x', 1)) AS l")
    assert_table(made, """n:bigint | l:array<struct<x: int>>\n 1 | [{"x": 1}]""")
    with pytest.raises(AssertionError) as error:
        assert_table(made, """n:double | l\n 1 | [{"x": 1}]""")
    assert str(error.value) == 'the types differ: the column "n" is bigint, where double is expected'


def test_of_plain_rows_a_type_says_how_to_read_the_cells(spark: SparkSession) -> None:  # noqa: ARG001 - which reads types
    assert_table([Row(n=1, at=None)], "n:int | at:timestamp\n 1 | -")


ROWS = [Row(name="ann", n=1.0), Row(name="bob", n=None), Row(name="ann", n=1.0)]


def test_equal_tables_pass_in_any_order_of_rows_and_columns() -> None:
    assert_table(ROWS, "n | name\n - | bob\n 1 | ann\n 1 | ann")


def test_twice_is_not_once() -> None:
    with pytest.raises(AssertionError) as error:
        assert_table(ROWS, "name | n\n ann | 1\n bob | -")
    assert str(error.value).splitlines() == [
        "the rows differ: 0 only expected, 1 only got",
        "expected       got",
        "name | n       name | n",
        "ann  | 1.0  =  ann  | 1.0",
        "bob  | -    =  bob  | -",
        "            >  ann  | 1.0",
    ]


def test_order_counts_when_asked_for() -> None:
    assert_table(ROWS, "name | n\n ann | 1\n bob | -\n ann | 1", ordered=True)
    with pytest.raises(AssertionError):
        assert_table(ROWS, "name | n\n bob | -\n ann | 1\n ann | 1", ordered=True)


def test_numbers_are_equal_to_the_last_bit_unless_a_tolerance_is_given() -> None:
    third = [Row(x=0.1 + 0.2)]
    with pytest.raises(AssertionError):
        assert_table(third, "x\n 0.3")
    assert_table(third, "x\n 0.3", tolerance=1e-9)


def test_nan_is_equal_to_itself_and_minus_zero_is_not_zero() -> None:
    assert_table([Row(x=float("nan"))], "x\n nan")
    with pytest.raises(AssertionError):
        assert_table([Row(x=-0.0)], "x\n 0.0")


def test_the_header_must_name_every_column() -> None:
    with pytest.raises(AssertionError, match="the columns differ"):
        assert_table(ROWS, "name\n ann\n bob\n ann")


def test_timestamps_are_in_utc(spark: SparkSession) -> None:
    made = spark.sql("SELECT timestamp'2026-01-01 10:00:00' AS at, timestamp_ntz'2026-01-01 10:00:00' AS plain")
    assert_table(made, "at | plain\n 2026-01-01 10:00:00 | 2026-01-01 10:00:00")


def test_nested_values_are_json(spark: SparkSession) -> None:
    made = spark.sql("SELECT array(1, null) AS a, named_struct('x', 1, 'y', 'z') AS s, map('k', 1.5D) AS m")
    assert_table(made, """a | s | m\n [1, null] | {"x": 1, "y": "z"} | {"k": 1.5}""")


def test_of_updates_to_a_table_the_last_of_each_key_stays() -> None:
    updates = Result.of([Row(k="a", n=1), Row(k=None, n=1), Row(k="a", n=2)])
    assert_table(updates.latest_by(["k"]), "k | n\n a | 2\n - | 1")
