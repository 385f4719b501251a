"""SQL over what the fraud jobs have stored, for a person at a terminal: `alerts` and `windows` of the database, `decisions` in Parquet.

Limits, said plainly:

- One statement, and it only reads: SQLite's file is opened read-only; PostgreSQL's transaction is READ ONLY, by a cursor.
- `decisions` are read only if the statement mentions them, and then all of them: into memory (SQLite) or a temporary table (PostgreSQL),
  each `id` once, in about 20 s for a million. That suits a demo; for more, read the directory with Spark.
- A file of decisions that is still being written has no end yet. It is left out, and the notice says so.
- The dialect is the database's own. Times come as text, `2026-02-02T02:40:00.005000Z`, in both.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from headrace.errors import DefinitionError, HeadraceError, SetupError
from headrace_fraud.asking.database import find
from headrace_fraud.asking.tables import COLUMNS, CREATE, EACH_ONCE, fit, quoted, time

_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}


class Answer(NamedTuple):
    """Column names, rows, and what the reader should know about them (or None)."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    notice: str | None


class _Decisions:
    """The rows of all Parquet files below a directory, in the order of `COLUMNS`; counts the files that have no end yet."""

    def __init__(self, home: Path) -> None:
        self._home, self.unfinished = home, 0

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        import pyarrow
        import pyarrow.parquet as parquet

        for path in self._files():
            try:
                file = parquet.ParquetFile(path)
            except pyarrow.ArrowInvalid:
                self.unfinished += 1
                continue
            with file:
                if missing := [name for name in COLUMNS if name not in file.schema_arrow.names]:
                    raise SetupError(f"{path} has no column {missing[0]}: it holds no decisions", fix="name the directory of the decisions")
                for batch in file.iter_batches(columns=list(COLUMNS)):
                    yield from (fit(row) for row in batch.to_pylist())

    def _files(self) -> list[Path]:
        """As Spark does: what begins with `_` or `.` is no data."""
        if not self._home.is_dir():
            raise SetupError(f"there is no directory {self._home} with decisions", fix="run the store job first, or name its directory")
        files = self._home.rglob("*.parquet")
        return sorted(path for path in files if not any(part[0] in "_." for part in path.relative_to(self._home).parts))


def query(place: str, sql: str, *, decisions: str | Path | None = None, limit: int = 1000, patience_s: float = 10.0) -> Answer:
    """The answer of the database at `place` (as for `database.connect`) to `sql`, cut off after `limit` rows."""
    files = None
    if re.search(r"\bdecisions\b", sql, re.IGNORECASE):
        if decisions is None:
            raise DefinitionError(
                "the query asks for decisions, and their directory is not known", fix="name the directory of the decisions"
            )
        files = _Decisions(Path(decisions))
    kind, address = find(place)
    ask = _ask_sqlite if kind == "sqlite" else _ask_postgres
    columns, rows = ask(address, sql, files, limit + 1, patience_s)
    notices = []
    if len(rows) > limit:
        notices.append(f"only the first {limit:,} rows are shown: count(*) or LIMIT say more")
    if files and files.unfinished:
        notices.append(f"{files.unfinished} file(s) of decisions are still being written and were left out")
    return Answer(columns, [tuple(_plain(value) for value in row) for row in rows[:limit]], "; ".join(notices) or None)


Found = tuple[list[str], Sequence[tuple[Any, ...]]]


def _ask_sqlite(address: str, sql: str, files: _Decisions | None, most: int, patience_s: float) -> Found:
    from headrace_fraud.asking.sqlite import explain

    path = Path(address).absolute()
    if not path.is_file():
        raise SetupError(f"there is no database {address}", fix="start a job that stores something there, or name another place")
    if not _may(path, os.R_OK):
        raise SetupError(f"the database {address} cannot be read by this user", fix="ask its owner, or run as its owner")
    # A reader of a WAL database makes files beside it. Where it may not, and the writer has left none, nothing changes under it either.
    still = not _may(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists()
    source = f"{path.as_uri()}?mode=ro{'&immutable=1' if still else ''}"
    try:
        with closing(sqlite3.connect(source, uri=True, timeout=patience_s, isolation_level=None)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # a file that is no database is told here, not as bad SQL
            if files is not None:
                connection.execute("PRAGMA temp_store = MEMORY")
                connection.execute(CREATE)
                marks = ", ".join("?" * len(COLUMNS))
                connection.execute("BEGIN")
                connection.executemany(f'INSERT INTO "decisions" ({quoted()}) VALUES ({marks}) {EACH_ONCE}', files)
                connection.execute("COMMIT")
            # Read-only is the file; this keeps a statement from another file (ATTACH) and from settings (PRAGMA).
            connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY)
            cursor = connection.execute(sql)
            if cursor.description is None:
                raise _refused("it asks nothing")
            return [column[0] for column in cursor.description], cursor.fetchmany(most)
    except (sqlite3.ProgrammingError, sqlite3.Warning) as error:
        raise _refused(str(error)) from None
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_AUTH:
            raise _refused("it does more than read") from None
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_ERROR:
            raise _refused(str(error)) from None
        raise explain(error, address, patience_s) from None


def _may(path: Path, what: int) -> bool:
    return os.access(path, what, effective_ids=os.access in os.supports_effective_ids)


def _ask_postgres(address: str, sql: str, files: _Decisions | None, most: int, patience_s: float) -> Found:
    from headrace_fraud.asking.postgres import driver, explain, open_connection, shown

    with closing(open_connection(address, patience_s)) as connection:
        try:
            if files is not None:
                _load(connection, files)
            with connection.transaction():
                connection.execute("SET TRANSACTION READ ONLY")
                with connection.cursor(name="headrace") as cursor:  # a cursor of the server: it sends no more rows than are asked for
                    cursor.execute(sql.strip().rstrip(";").encode())
                    return [column.name for column in cursor.description or ()], cursor.fetchmany(most)
        except driver().Error as error:
            # Class 42: a mistake in the statement; 22: in its values; 25006: it writes; 0A: what a cursor cannot hold.
            if error.sqlstate == "25006":
                raise _refused("it does more than read") from None
            if (error.sqlstate or "")[:2] in {"42", "22", "0A"} and error.sqlstate != "42501":
                raise _refused(error.diag.message_primary) from None
            raise explain(error, shown(address), patience_s) from None


def _load(connection: Any, files: _Decisions) -> None:
    columns = quoted()
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(CREATE.encode())
        cursor.execute('CREATE TEMPORARY TABLE "incoming" (LIKE "decisions") ON COMMIT DROP')
        with cursor.copy(f'COPY "incoming" ({columns}) FROM STDIN'.encode()) as copy:
            for row in files:
                copy.write_row(row)
        cursor.execute(f'INSERT INTO "decisions" ({columns}) SELECT {columns} FROM "incoming" {EACH_ONCE}'.encode())


def _refused(why: str) -> HeadraceError:
    return DefinitionError(f"the query was refused: {why}", fix="give one SELECT over alerts, windows or decisions")


def _plain(value: Any) -> Any:
    """A value that JSON has too."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, datetime):
        return time(value) if value.tzinfo else value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.hex() if isinstance(value, bytes | memoryview) else str(value)
