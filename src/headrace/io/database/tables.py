"""A table that rows go to: its columns, what a row's key is, and what happens when a key comes again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)  # fmt: skip

from headrace.errors import DefinitionError, JobError, user_line

Family = Literal[
    "boolean", "short", "integer", "long", "float", "double", "decimal", "text", "binary", "date", "time", "local time", "json"
]

_FAMILIES: dict[type[DataType], Family] = {
    BooleanType: "boolean", ByteType: "short", ShortType: "short", IntegerType: "integer", LongType: "long", FloatType: "float",
    DoubleType: "double", DecimalType: "decimal", StringType: "text", BinaryType: "binary", DateType: "date", TimestampType: "time",
    TimestampNTZType: "local time", ArrayType: "json", MapType: "json", StructType: "json", VariantType: "json",
}  # fmt: skip

PROGRESS = "headrace_progress"
"""The table beside it that says which batch was the last, and which run may write the next."""


@dataclass(frozen=True)
class Column:
    """`kind` as Spark has it, `family` as databases know it. A key's column, or one that Spark knows to have a value, is `required`."""

    name: str
    kind: DataType
    family: Family
    required: bool


@dataclass(frozen=True)
class Table:
    """What is written.

    key      the columns that name a row; without any, rows are only ever added
    delete   a column, which is not stored: a row for which it is true removes the row of its key
    newest   a row takes the place of the one that is there unless these columns are smaller
    """

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    delete: str | None = None
    newest: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def written(self) -> tuple[str, ...]:
        """The columns of a row as it comes: with the mark that it is to be removed, if there is one, as the last."""
        return (*self.names, *([self.delete] if self.delete else []))


def table(name: str, schema: StructType, *, key: Sequence[str], delete: str | None, newest: Sequence[str]) -> Table:
    """A table for rows of this schema. DefinitionError for a column that is not there, or of a kind that no database has."""
    named = {"key": key, "delete": [delete] if delete else [], "newest": newest}
    for option, names in named.items():
        for each in names:
            if each not in schema.fieldNames():
                raise _refused(f"{option}: there is no column {each!r}", f"name one of {', '.join(schema.fieldNames())}")
    for option in ("delete", "newest"):
        if named[option] and not key:
            raise _refused(f"{option}= is about the row of a key, and there is no key", 'give key="id", too')
    if delete and not isinstance(schema[delete].dataType, BooleanType):
        raise _refused(f"delete: {delete} is {schema[delete].dataType.simpleString()}, and not true or false", "make it a condition")
    if delete and delete in (*key, *newest):
        raise _refused(f"delete: {delete} is not stored, so it is in no key", "name another column")
    if any(not part for part in name.split(".")) or "\0" in name or name.split(".")[-1] == PROGRESS:
        raise _refused(f"{name!r} cannot be the name of a table", "give a name, or schema.name")
    columns = []
    for field in schema:
        family = _FAMILIES.get(type(field.dataType))
        if family is None:
            raise _refused(
                f"{field.name} is {field.dataType.simpleString()}, which no database has",
                f"cast it, or leave it out: .drop({field.name!r})",
            )
        if field.name != delete:
            columns.append(Column(field.name, field.dataType, family, field.name in (*key, *newest) or not field.nullable))
    return Table(name, tuple(columns), tuple(key), delete, tuple(newest))


@dataclass(frozen=True)
class Existing:
    """A column of a table that is there: `required` if a row must have a value for it."""

    type: str
    required: bool = False


def compare(
    table: Table, there: Mapping[str, Existing], unique: Sequence[frozenset[str]], accepts: Mapping[Family, frozenset[str]], place: str
) -> None:
    """JobError, with every difference, if a table that is there is not one for these rows. A family that `accepts` lacks fits anything."""
    differences: list[tuple[str, str]] = []
    for column in table.columns:
        if column.name not in there:
            differences.append((column.name, f"{column.kind.simpleString()} in the rows, and not in the table"))
        elif column.family in accepts and there[column.name].type not in accepts[column.family]:
            differences.append((column.name, f"{column.kind.simpleString()} in the rows, {there[column.name].type} in the table"))
    differences += [
        (name, f"{column.type} in the table, which wants a value, and not in the rows")
        for name, column in there.items()
        if column.required and name not in table.names
    ]
    if table.key and frozenset(table.key) not in unique:
        differences.append((", ".join(table.key), "the key of the rows, and in the table neither primary key nor unique"))
    if differences:
        width = max(len(name) for name, _ in differences)
        lines = "".join(f"\n    {name:{width}}  {what}" for name, what in differences)
        raise JobError(
            f"the table {table.name} at {place} is not one for these rows:{lines}",
            fix="change the table, or the rows: .select(…), .rename(…); or name a table that is not there, and it is made",
        )


def _refused(what: str, fix: str) -> DefinitionError:
    return DefinitionError(f"to.database: {what}", fix=fix, where=user_line())
