"""SQLite: one file, readable and writable for its owner only. Readers do not wait for the writer (WAL).

SQLite has no types for times and exact numbers: a time is text in UTC as ISO 8601 has it, `2026-02-02T02:40:00.005000Z`, so is a date, and
so is a decimal; true is 1; lists, maps and structs are JSON. `synchronous` stays at FULL: what was committed outlives a power failure.
"""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from typing import Any, ClassVar

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F

from headrace.errors import HeadraceError, JobError, SetupError
from headrace.io.database import databases
from headrace.io.database.databases import LOCKED_SECONDS, RowByRow
from headrace.io.database.tables import Column, Existing, Family, Table, compare

_TYPES: dict[Family, str] = {
    "boolean": "BOOLEAN", "short": "INTEGER", "integer": "INTEGER", "long": "INTEGER", "float": "REAL", "double": "REAL", "binary": "BLOB",
}  # fmt: skip
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class SQLite(RowByRow):
    package = "sqlite3"
    mark = "?"
    begin = "BEGIN IMMEDIATE"
    lock = ""
    error: ClassVar = sqlite3.Error

    def connect(self) -> sqlite3.Connection:
        path = Path(self.address.path)
        _create(path)
        try:
            connection = sqlite3.connect(path.absolute(), timeout=LOCKED_SECONDS, isolation_level=None, check_same_thread=False)
            self._use_wal(connection)
        except sqlite3.Error as error:
            raise self.explain(error) from error
        return connection

    def _use_wal(self, connection: sqlite3.Connection) -> None:
        """While another writes to a file that has no WAL yet, such as one who just made it, SQLite refuses at once: ask again."""
        deadline = time.monotonic() + LOCKED_SECONDS
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL").fetchall()
                return
            except sqlite3.OperationalError as error:
                if not self.transient(error) or time.monotonic() > deadline:
                    connection.close()
                    raise
            time.sleep(0.01)

    def transient(self, error: Exception) -> bool:
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY

    def explain(self, error: Exception) -> HeadraceError:
        match getattr(error, "sqlite_errorcode", 0) & 0xFF:
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                return JobError(
                    f"{self.title} was locked by another process for more than {LOCKED_SECONDS:g} s",
                    fix="end the process that holds it: a transaction that was left open, or a backup",
                )
            case sqlite3.SQLITE_NOTADB:
                return SetupError(f"{self.title} is a file that is no SQLite database", fix="name another file; it was left as it is")
            case sqlite3.SQLITE_CORRUPT:
                return JobError(f"{self.title} is damaged", fix="put back a copy of the file, and of the job's checkpoint")
            case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
                return SetupError(f"{self.title} cannot be written", fix="give a place that this user may write to")
            case sqlite3.SQLITE_FULL:
                return JobError(f"{self.title}: the disk is full", fix="make room, then start the job again: nothing is lost")
            case _:
                return JobError(f"{self.title} refused: {error}", fix="mend that, then start the job again: nothing is lost")

    def type_of(self, column: Column, *, key: bool) -> str:
        return _TYPES.get(column.family, "TEXT")

    def compare(self, cursor: Any, table: Table) -> bool:
        name = self.column(table.name.split(".")[-1])
        there = {
            column: Existing(kind, bool(required) and default is None and not key)
            for _, column, kind, required, default, key in cursor.execute(f"PRAGMA table_info({name})")
        }
        if not there:
            return False
        unique = [frozenset(column for _, column, *_, key in cursor.execute(f"PRAGMA table_info({name})").fetchall() if key)]
        for _, index, is_unique, *_ in cursor.execute(f"PRAGMA index_list({name})").fetchall():
            if is_unique:
                columns = cursor.execute(f"PRAGMA index_info({self.column(index)})").fetchall()
                unique.append(frozenset(column for _, _, column in columns))
        compare(table, there, unique, {}, str(self.address))
        return True

    def values(self, column: Column) -> Expression:
        match column.family:
            case "time":
                return databases.iso_time(column)
            case "local time":
                return F.date_format(databases.source(column), "yyyy-MM-dd'T'HH:mm:ss.SSSSSS")
            case "date" | "decimal":
                return databases.source(column).cast("string")
            case "float":
                return databases.source(column).cast("double")
            case _:
                return super().values(column)

    def upsert(self, table: Table) -> str:
        marks = ", ".join("?" * len(table.names))
        statement = f"INSERT INTO {self.name(table.name)} ({self.list(table.names)}) VALUES ({marks})"
        return f"{statement} {on_conflict(self, table)}" if table.key else statement


def on_conflict(database: databases.Database, table: Table) -> str:
    """What happens to a row whose key is there, as SQLite and PostgreSQL say it."""
    replaced = [f"{database.column(name)} = excluded.{database.column(name)}" for name in table.names if name not in table.key]
    if not replaced:
        return f"ON CONFLICT ({database.list(table.key)}) DO NOTHING"
    old, newest = database.column(table.name.split(".")[-1]), [database.column(name) for name in table.newest]
    ours, theirs = (", ".join(f"{side}.{name}" for name in newest) for side in ("excluded", old))
    unless = f" WHERE ({ours}) >= ({theirs})" if newest else ""
    return f"ON CONFLICT ({database.list(table.key)}) DO UPDATE SET {', '.join(replaced)}{unless}"


def _create(path: Path) -> None:
    """Make the file, if it is absent, with its mode from the first moment on; SQLite gives the same mode to the files beside it.

    One that is there is opened by SQLite alone. Whoever closes a file gives up all locks that his process has on it, so those of another
    output, too: the next one from outside who looks into the database would take himself for the last, and remove the WAL from under it.
    """
    try:
        os.close(os.open(path.resolve(), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        if path.is_dir():
            raise SetupError(f"the database {path} is a directory", fix=f"name a file in it: {path / 'rows.db'}") from None
    except FileNotFoundError:
        raise SetupError(f"the database {path} is in a directory that does not exist", fix=f"mkdir -p {path.absolute().parent}") from None
    except NotADirectoryError:
        raise SetupError(f"the database {path} is below a file, not a directory", fix="name another place") from None
    except OSError as error:
        raise SetupError(
            f"the database {path} cannot be written: {error.strerror}", fix="give a place that this user may write to"
        ) from None
