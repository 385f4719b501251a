"""The fraud database in one file, readable and writable for its owner only. Readers do not wait for the writer (WAL)."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from headrace.errors import HeadraceError, JobError, SetupError
from headrace_fraud.tables import ALERTS, TABLES, WINDOWS, Table, quoted


class SQLite:
    """See `database.Database`. `synchronous` stays at SQLite's FULL: a batch that Spark takes for done must outlive a power failure."""

    def __init__(self, path: Path, *, patience_s: float) -> None:
        self.place, self._patience_s = str(path), patience_s
        self._lock = threading.Lock()
        _create(path)
        try:
            self._connection = sqlite3.connect(path.absolute(), timeout=patience_s, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise explain(error, self.place, patience_s) from None
        try:
            self._use_wal()
            self._make_tables()
        except sqlite3.Error as error:
            self.close()
            raise explain(error, self.place, patience_s) from None
        except HeadraceError:
            self.close()
            raise

    def upsert_alerts(self, rows: Iterable[Any]) -> int:
        return self._upsert(ALERTS, rows)

    def upsert_windows(self, rows: Iterable[Any]) -> int:
        return self._upsert(WINDOWS, rows)

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _upsert(self, table: Table, rows: Iterable[Any]) -> int:
        values = [table.fit(row) for row in rows]  # all of it first: no lock is held while Spark computes the rows
        marks = ", ".join("?" * len(table.stored))
        statement = f'INSERT INTO "{table.name}" ({quoted(table.stored)}) VALUES ({marks}) {table.on_conflict}'
        with self._lock:
            before = self._connection.total_changes
            try:
                self._in_transaction(lambda: self._connection.executemany(statement, values))
            except sqlite3.Error as error:
                raise explain(error, self.place, self._patience_s) from None
            return self._connection.total_changes - before

    def _use_wal(self) -> None:
        """While another writes to a file that has no WAL yet, such as one who just made it, SQLite refuses at once: ask again."""
        deadline = time.monotonic() + self._patience_s
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL").fetchall()
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
            time.sleep(0.01)

    def _make_tables(self) -> None:
        def make() -> None:
            there = {name for (name,) in self._connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}
            for table in TABLES:
                if table.name not in there:
                    for statement in table.create:
                        self._connection.execute(statement)
                described = self._connection.execute(f'SELECT * FROM "{table.name}" LIMIT 0').description
                if missing := [name for name in table.stored if name not in {column[0] for column in described}]:
                    raise foreign(table.name, missing[0], self.place)

        self._in_transaction(make)

    def _in_transaction(self, work: Any) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            work()
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise


def _create(path: Path) -> None:
    """Make the file, if it is absent, with its mode from the first moment on; SQLite gives the same mode to the files beside it."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except FileNotFoundError:
        raise SetupError(f"the database {path} is in a directory that does not exist", fix=f"mkdir -p {path.absolute().parent}") from None
    except IsADirectoryError:
        raise SetupError(f"the database {path} is a directory", fix=f"name a file in it: {path / 'fraud.db'}") from None
    except NotADirectoryError:
        raise SetupError(f"the database {path} is below a file, not a directory", fix="name another place") from None
    except OSError as error:
        raise SetupError(
            f"the database {path} cannot be written: {error.strerror}", fix="give a place that this user may write to"
        ) from None


def explain(error: sqlite3.Error, place: str, patience_s: float) -> HeadraceError:
    """SQLite's error in words."""
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return JobError(
                f"the database {place} was locked by another process for more than {patience_s:g} s",
                fix="end the process that holds it: a transaction that was left open, or a backup",
            )
        case sqlite3.SQLITE_NOTADB:
            return SetupError(f"the file {place} is not a SQLite database", fix="name another file; this one was left as it is")
        case sqlite3.SQLITE_CORRUPT:
            return JobError(f"the database {place} is damaged", fix="move it away: the topics still hold what was in it")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return SetupError(
                f"the database {place} cannot be written, or the directory that it is in", fix="give a place that this user may write to"
            )
        case sqlite3.SQLITE_FULL:
            return JobError(f"the disk of the database {place} is full", fix="make room, then start the job again: nothing is lost")
        case _:
            return JobError(f"the database {place} failed: {error}", fix="mend that, then start the job again: nothing is lost")


def foreign(table: str, column: str, place: str) -> HeadraceError:
    return SetupError(
        f"the database {place} has a table {table} of someone else: it has no column {column}", fix="give headrace a database of its own"
    )
