"""What a database must be able to do for a sink; each kind of database fills it in."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F

from headrace.definitions import failpoints
from headrace.errors import HeadraceError, SetupError
from headrace.io.database.addresses import Address
from headrace.io.database.tables import PROGRESS, Column, Table

LOCKED_SECONDS = 10.0
"""How long one attempt waits for another's lock; then it tries again."""


class Database(ABC):
    """One database. A connection commits each statement by itself, unless a transaction is begun."""

    package: str
    """What must be installed, as an extra of headrace."""

    quote = '"'
    mark = "%s"
    begin = "BEGIN"
    commit = "COMMIT"
    lock = " FOR UPDATE"

    patient = False
    """Whether nobody has to wait while a transaction that only adds rows takes long."""

    texts = False
    """Whether `write` takes bytes: of rows that `shape` makes one text each, some texts one after the other."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.title = f"the database {address}"

    @abstractmethod
    def connect(self) -> Any:
        """A connection; SetupError if there is none to be had, transient or not."""

    @property
    @abstractmethod
    def error(self) -> type[Exception]:
        """What its client raises."""

    @abstractmethod
    def transient(self, error: Exception) -> bool:
        """Whether it may well work in a while: no connection, a lock, a deadlock, a server that starts or ends."""

    @abstractmethod
    def explain(self, error: Exception) -> HeadraceError:
        """Its error in words, without secrets and without values."""

    @abstractmethod
    def type_of(self, column: Column, *, key: bool) -> str:
        """What a column of a table that is made is declared as."""

    @abstractmethod
    def compare(self, cursor: Any, table: Table) -> bool:
        """Whether the table is there; JobError if it is, and not one for these rows."""

    @abstractmethod
    def values(self, column: Column) -> Expression:
        """A column's values as the client takes them, made by Spark."""

    @abstractmethod
    def write(self, cursor: Any, table: Table, batches: Iterable[Any]) -> None:
        """The rows of these batches, or texts, into the table, in their order: added, put in the place of others, or removing others."""

    def shape(self, table: Table) -> list[Expression]:
        """The columns of what `write` takes, made by Spark."""
        gone = [F.coalesce(F.col(_in_spark(table.delete)), F.lit(False)).cast("int").alias(table.delete)] if table.delete else []
        return [*(self.values(column).alias(column.name) for column in table.columns), *gone]

    def name(self, name: str) -> str:
        """An identifier, quoted; of `schema.table` each part."""
        return ".".join(self.column(part) for part in name.split("."))

    def column(self, name: str) -> str:
        return self.quote + name.replace(self.quote, self.quote * 2) + self.quote

    def list(self, names: Iterable[str]) -> str:
        return ", ".join(map(self.column, names))

    def create(self, table: Table) -> str:
        """The statement that makes the table."""
        lines = [
            f"{self.column(column.name)} {self.type_of(column, key=column.name in table.key)}{' NOT NULL' if column.required else ''}"
            for column in table.columns
        ]
        if table.key:
            lines.append(f"PRIMARY KEY ({self.list(table.key)})")
        return f"CREATE TABLE {self.name(table.name)} (\n  " + ",\n  ".join(lines) + "\n)"

    @property
    def create_progress(self) -> str:
        return (
            f"CREATE TABLE IF NOT EXISTS {self.name(PROGRESS)} (job VARCHAR(190) NOT NULL, output VARCHAR(190) NOT NULL,"
            " checkpoint VARCHAR(64) NOT NULL, epoch BIGINT NOT NULL, batch BIGINT NOT NULL, PRIMARY KEY (job, output))"
        )

    def driver_missing(self) -> SetupError:
        return SetupError(f"{self.address} needs the package {self.package}", fix=f"pip install 'headrace[{self.address.kind}]'")


class RowByRow(Database):
    """A database whose client takes rows of values, many at a time, in their order."""

    @abstractmethod
    def upsert(self, table: Table) -> str:
        """The statement for one row."""

    def values(self, column: Column) -> Expression:
        match column.family:
            case "boolean":
                return source(column).cast("int")
            case "text":
                return text(column)
            case "json":
                return json(column)
            case _:
                return source(column)

    def remove(self, table: Table) -> str:
        """The statement that removes the row of a key, unless it is newer."""
        conditions = [f"{self.column(name)} = {self.mark}" for name in table.key]
        if table.newest:
            conditions.append(f"({self.list(table.newest)}) <= ({', '.join([self.mark] * len(table.newest))})")
        return f"DELETE FROM {self.name(table.name)} WHERE {' AND '.join(conditions)}"

    def write(self, cursor: Any, table: Table, batches: Iterable[Any]) -> None:
        upsert, remove = self.upsert(table), self.remove(table) if table.delete else ""
        places = [table.names.index(name) for name in (*table.key, *table.newest)]
        for number, batch in enumerate(batches):
            if number == 1:
                failpoints.reach("database: half of the rows")
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            if not table.delete:
                cursor.executemany(upsert, list(rows))
                continue
            for gone, same in groupby(rows, key=lambda row: row[-1]):
                if gone:
                    cursor.executemany(remove, [tuple(row[place] for place in places) for row in same])
                else:
                    cursor.executemany(upsert, [row[:-1] for row in same])


def source(column: Column) -> Expression:
    return F.col(_in_spark(column.name))


def text(column: Column) -> Expression:
    """Text that every database takes: half of a pair of surrogates and the like become the sign for that."""
    return F.make_valid_utf8(source(column))


def json(column: Column) -> Expression:
    return F.to_json(source(column))


def iso_time(column: Column) -> Expression:
    """With its zone, which no session and no client can mistake."""
    return F.date_format(source(column), "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX")


def _in_spark(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def plain_type(declared: str) -> str:
    """A declared type without its size: `varchar(20)` is varchar."""
    return re.sub(r"\(.*?\)", "", declared).strip().lower()


def rows_of(cursor: Any) -> Iterator[Sequence[Any]]:
    return iter(cursor.fetchall())
