"""Static tables for joins: `hr.table("countries.csv")`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame

from headrace.definitions import arguments
from headrace.definitions.schemas import Schema
from headrace.errors import user_line
from headrace.io import tables
from headrace.io.tables import Table, TableFormat
from headrace.spark import failures
from headrace.spark.session import session


def table(
    name: str | Path,
    *,
    schema: Schema | None = None,
    format: TableFormat | None = None,
    separator: str | None = None,
    reload: bool = False,
) -> Table:
    """A static table: a path of CSV, JSON or Parquet, or a name in Spark's catalog. For `join`, or `.open()` for its DataFrame.

        >>> import headrace as hr, pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "countries.csv"
        >>> _ = file.write_text("code,name\\nCH,Switzerland\\nNO,Norway\\n")
        >>> countries = hr.table(file)
        >>> countries
        Table[code: string, name: string]
        >>> hr.read.memory("id int, code string", [(1, "NO")]).join(countries, on="code").head()
        [Row(code='NO', id=1, name='Norway')]

    schema     the columns that are wanted, as a dataclass, a pydantic model or `name type, …`. Without it they are all columns of the
               file, of types that fit all of its cells: a code such as 007 is then a number.
    format     "csv" (its first line has the names), "json" (an object a line, or one array of them) or "parquet"; seen from the name's end
               if it is not given.
    separator  between the cells of CSV: a comma, and of a .tsv a tab, if it is not given.
    reload     true: a job that runs sees a change of the file, the directory or the table of Spark's catalog with its next batch. Put a new
               file in the place of the old one, by renaming it: one that is written while it is read is read in part. (A table of the
               catalog that is no table of files changes as its own source has it.) A batch that is repeated after a crash reads what the
               table is then. False: which files there are is looked at when a job starts.
    """
    session()
    with failures.of_definition(f"table {name}", user_line(), []):
        anew = arguments.flag("table: reload", reload)
        return tables.find(name, schema=schema, format=format, separator=separator, reload=anew)


def opener(of: Table | DataFrame | str | Path) -> Callable[[], DataFrame]:
    """What gives the rows of a table, or of what can stand for one, whenever it is called."""
    if isinstance(of, DataFrame):
        return lambda: of
    if not isinstance(of, Table | str | Path):
        arguments.table("join", of)  # DefinitionError: it is none
    return (of if isinstance(of, Table) else table(of)).open
