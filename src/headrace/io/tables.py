"""Static tables: files of one kind, or a table of Spark's catalog.

Read   all of it whenever a job starts, and in a stream with each batch. Which files it has is looked at when a job starts; with `reload`
       before each batch. A cell that is not of its column's type stops the job; it is never null instead.

A `Table` is a description. It has its columns from when it was made, and is read with these ever after.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.readwriter import DataFrameReader
from pyspark.sql.types import StringType, StructField, StructType

from headrace.definitions import schemas
from headrace.definitions.schemas import Schema
from headrace.errors import DefinitionError, user_line
from headrace.io import file_system

TableFormat = Literal["csv", "json", "parquet"]

_FORMATS: dict[str, TableFormat] = {
    "csv": "csv", "tsv": "csv",
    "json": "json", "jsonl": "json", "ndjson": "json",
    "parquet": "parquet",
}  # fmt: skip
_COMPRESSED = (".gz", ".bz2", ".zst")

# A quote inside a cell is doubled, as everyone but Spark has it, and a cell may have several lines.
_CSV = {"header": "true", "escape": '"', "multiLine": "true", "ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"}
_NO_GUESSES = {"mode": "FAILFAST"}


@dataclass(frozen=True, eq=False)
class Table:
    """A table and its columns. `format` is none for one of Spark's catalog; `stored` are the columns as the files have them."""

    name: str
    schema: StructType
    format: TableFormat | None = None
    stored: StructType | None = None
    options: Mapping[str, str] | None = None
    reload: bool = False

    @property
    def columns(self) -> list[str]:
        return self.schema.fieldNames()

    def open(self) -> DataFrame:
        """The rows that it has now."""
        spark = SparkSession.active()
        fresh = {"headrace.reload": "true"} if self.reload else {}  # FreshTables.scala looks for it
        if self.format is None:
            return spark.read.options(**fresh).table(self.name)
        assert self.stored is not None
        rows = _reader(spark, self.format, {**(self.options or {}), **fresh}).schema(self.stored).load(self.name)
        return rows.select(*(f"`{name}`" for name in self.columns))

    def __repr__(self) -> str:
        return f"Table[{', '.join(f'{field.name}: {field.dataType.simpleString()}' for field in self.schema)}]"


def find(name: str | Path, *, schema: Schema | None, format: TableFormat | None, separator: str | None, reload: bool = False) -> Table:
    """The table of that path or that name in the catalog. DefinitionError if there is none, or the schema names what it does not have."""
    return replace(_found(str(name), schema, format, separator), reload=reload)


def _found(path: str, schema: Schema | None, format: TableFormat | None, separator: str | None) -> Table:
    kind = format or _format_of(path)
    if kind is None and "/" not in path:
        return _in_catalog(path, schema)
    if kind is None or kind not in _FORMATS.values():
        what = f"which format {path} has cannot be seen from its name" if kind is None else f"tables of format {kind!r} are not known"
        raise _refused(what, f"give format=, one of {', '.join(dict.fromkeys(_FORMATS.values()))}")
    if not file_system.exists(path):
        raise _refused(f"there is no {path}", _nearest(path))
    return _in_files(path, kind, schema, separator or ("\t" if ".tsv" in Path(path).suffixes else ","))


def _format_of(path: str) -> TableFormat | None:
    plain = path.rstrip("/").lower()
    for ending in _COMPRESSED:
        plain = plain.removesuffix(ending)
    return _FORMATS.get(plain.rpartition(".")[2]) if "." in plain else None


def _in_catalog(name: str, schema: Schema | None) -> Table:
    spark = SparkSession.active()
    if not spark.catalog.tableExists(name):
        known = [*(table.name for table in spark.catalog.listTables()), *(file.name for file in Path().iterdir())]
        near = get_close_matches(name, known, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
        raise _refused(f"there is no table {name!r} in Spark's catalog", f"{hint}Give the name of one, or a path: 'countries.csv'")
    if schema is not None:
        raise _refused(f"the table {name!r} has its own schema", "leave schema= out; cast its columns afterwards")
    return Table(name, spark.table(name).schema)


def _in_files(path: str, format: TableFormat, schema: Schema | None, separator: str) -> Table:
    spark, options = SparkSession.active(), _NO_GUESSES
    if format == "csv":
        options = options | _CSV | {"sep": separator}
    if format == "json" and _is_one_array(spark, path):
        options = options | {"multiLine": "true"}
    guessing = {"inferSchema": "true"} if format == "csv" and schema is None else {}
    stored = _reader(spark, format, {**options, **guessing}).load(path).schema
    if not stored.fields:
        raise _refused(f"{path} has no columns", "a CSV file begins with a line of their names" if format == "csv" else "check the file")
    if schema is None:
        return Table(path, stored, format, stored, options)
    wanted = schemas.schema(schema)
    for name in wanted.fieldNames():
        if name not in stored.fieldNames():
            near = get_close_matches(name, stored.fieldNames(), n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise _refused(f"{path} has no column {name!r}", f"{hint}The columns there are {', '.join(stored.fieldNames())}")
    # CSV goes by position, so every column of the file has its place in what Spark is told; the others go by name.
    cells = StructType([wanted[name] if name in wanted.fieldNames() else StructField(name, StringType()) for name in stored.fieldNames()])
    return Table(path, wanted, format, cells if format == "csv" else wanted, options)


def _reader(spark: SparkSession, format: TableFormat, options: Mapping[str, str]) -> DataFrameReader:
    return spark.read.format(format).options(**options)


def _is_one_array(spark: SparkSession, path: str) -> bool:
    """Whether JSON is one array of objects, and not an object a line: of an array Spark would take the first line, or nothing."""
    first = spark.read.text(path).where("trim(value) <> ''").first()
    return first is not None and first.value.lstrip().startswith("[")


def _nearest(path: str) -> str:
    directory, _, name = path.rstrip("/").rpartition("/")
    there = file_system.names(directory or ("/" if path.startswith("/") else "."))
    near = get_close_matches(name, there, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else "check the path; a relative one begins where the program runs"


def _refused(what: str, fix: str) -> DefinitionError:
    return DefinitionError(f"table: {what}", fix=fix, where=user_line())
