"""A database for a test: what headrace writes to, without Spark, and what a person finds there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import pyarrow
from pyspark.sql.types import BooleanType, IntegerType, StringType, StructType

from headrace.io.connectors import Run
from headrace.io.database import transactions
from headrace.io.database.connector import database
from headrace.io.database.databases import Database
from headrace.io.database.postgres import Postgres
from headrace.io.database.tables import Table, table

SCHEMA = StructType().add("id", IntegerType()).add("version", IntegerType()).add("name", StringType()).add("gone", BooleanType())

Row = tuple[Any, ...]


def rows_table(name: str = "rows", *, key: Sequence[str] = (), delete: str | None = None, newest: Sequence[str] = ()) -> Table:
    """(id, version, name), and the mark `gone` if it is asked for."""
    schema = SCHEMA if delete else StructType(SCHEMA.fields[:3])
    return table(name, schema, key=key, delete=delete, newest=newest)


def run(**changes: Any) -> Run:
    return Run(**{"job": "j", "output": "o", "mode": "micro-batch", "epoch": 1, "checkpoint": "c", **changes})


@dataclass
class Place:
    url: str
    server: Any = None
    _opened: list[transactions.Output] = field(default_factory=list)

    @property
    def kind(self) -> str:
        return self.database.address.kind

    @property
    def database(self) -> Database:
        return database(self.url)

    def output(self, table: Table, **changes: Any) -> transactions.Output:
        """Opened, on a table that is made if need be."""
        transactions.prepare(self.database, table, make=True)
        output = transactions.Output(self.database, table, run(**changes))
        self._opened.append(output)
        output.open()
        return output

    def close(self) -> None:
        for output in self._opened:
            output.close()

    def ask(self, sql: str) -> list[Row]:
        with closing(self.database.connect()) as connection:
            cursor = connection.cursor()
            cursor.execute(sql)
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []

    def batches(self, *parts: Iterable[Row]) -> Any:
        """What Spark's tasks would have made of some rows: a part is an Arrow batch, or lines."""
        return lambda: (self._made(list(part)) for part in parts)

    def _made(self, rows: list[Row]) -> Any:
        if isinstance(self.database, Postgres):
            lines = ["\t".join("\\N" if cell is None else str(cell).replace("\\", "\\\\") for cell in row) + "\n" for row in rows]
            return "".join(lines).encode()
        columns = [pyarrow.array(column) for column in zip(*rows, strict=True)]
        return pyarrow.record_batch(columns, [str(number) for number in range(len(columns))])


def from_environment() -> Place:
    return Place(os.environ["TEST_PLACE"])
