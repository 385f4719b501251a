"""How fast is `to.database` beside a plain program for the same rows? `python -m bench.database_sink [rows]`.

Both read them from one Parquet file. headrace reads it by Spark and writes in a batch run, its checks included. The plain program reads it
by pyarrow and sends rows by PostgreSQL's COPY (psycopg's `write_row`), by SQLite's or PyMySQL's `executemany`, in one transaction; how long
the sending alone takes, of rows that are there in a list, is told, too. Turn by turn, in one process; the median of three, after two that
do not count. Both tables must hold the same rows in the end.
"""

from __future__ import annotations

import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

import headrace as hr

_CREATE = "CREATE TABLE plain (id BIGINT, customer VARCHAR(99), amount DOUBLE PRECISION, merchant VARCHAR(99), flagged BOOLEAN)"
_TURNS = 3


def main(count: int = 500_000) -> None:
    rows = [(n, f"customer-{n % 9973}", n * 0.25, f"merchant-{n % 97}", n % 7 == 0) for n in range(count)]
    with tempfile.TemporaryDirectory() as home:
        names = ["id", "customer", "amount", "merchant", "flagged"]
        columns = [pyarrow.array(column) for column in zip(*rows, strict=True)]
        (Path(home) / "rows").mkdir()
        pyarrow.parquet.write_table(pyarrow.table(columns, names), Path(home) / "rows" / "rows.parquet", row_group_size=count // 4 + 1)
        stream = hr.read.files(Path(home) / "rows")
        print(f"{count:,} rows, {len(names)} columns; seconds, the median of {_TURNS}")
        for title, url, send, ask in _databases(home):
            ours, plain, sending = _race(stream, url, send, Path(home) / "rows" / "rows.parquet")
            assert ask("SELECT count(*), sum(id), min(customer) FROM ours") == ask("SELECT count(*), sum(id), min(customer) FROM plain")
            speed = f"headrace {ours:6.2f} ({count / ours:9,.0f} rows/s)"
            print(f"{title:10} {speed}  plain {plain:6.2f}: {plain / ours:.2f}x;  of that, sending {sending:6.2f}: {sending / ours:.2f}x")


def _race(stream: hr.Stream, url: str, send: Callable[[list[Any]], None], file: Path) -> tuple[float, float, float]:
    seconds: list[tuple[float, float, float]] = []
    for _ in range(_TURNS + 2):
        began = time.monotonic()
        hr.Job("bench", stream.to.database(url, "ours")).run("batch")
        ours, began = time.monotonic() - began, time.monotonic()
        rows = list(zip(*(column.to_pylist() for column in pyarrow.parquet.read_table(file).columns), strict=True))
        reading, began = time.monotonic() - began, time.monotonic()
        send(rows)
        sending = time.monotonic() - began
        seconds.append((ours, reading + sending, sending))
    ours, plain, sending = (statistics.median(column) for column in zip(*seconds[2:], strict=True))
    return ours, plain, sending


def _databases(home: str) -> Any:
    file = f"{home}/bench.db"

    def sqlite(rows: list[Any]) -> None:
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            connection.execute("BEGIN")
            connection.executemany("INSERT INTO plain VALUES (?, ?, ?, ?, ?)", rows)
            connection.execute("COMMIT")

    def ask_sqlite(sql: str) -> Any:
        with closing(sqlite3.connect(file)) as connection:
            return connection.execute(sql).fetchall()

    ask_sqlite("PRAGMA journal_mode = WAL")
    ask_sqlite(_CREATE)
    yield "SQLite", file, sqlite, ask_sqlite

    import psycopg
    from tests.fraud import postgres

    with postgres.running() as server:
        os.environ["BENCH_DATABASE"] = url = server.create()

        def copy(rows: list[Any]) -> None:
            with psycopg.connect(url) as connection, connection.cursor().copy("COPY plain FROM STDIN") as sent:
                for row in rows:
                    sent.write_row(row)

        def ask(sql: str) -> Any:
            with psycopg.connect(url) as connection:
                answer = connection.execute(sql.encode())
                return answer.fetchall() if answer.description else []

        ask(_CREATE)
        yield "PostgreSQL", "env:BENCH_DATABASE", copy, ask

    from tests.io.database import mariadb

    with mariadb.running() as other:
        os.environ["BENCH_MYSQL"] = other.create()
        name = os.environ["BENCH_MYSQL"].rpartition("/")[2]

        def insert(rows: list[Any]) -> None:
            with other.connect(name) as connection, connection.cursor() as cursor:
                cursor.execute("START TRANSACTION")
                cursor.executemany("INSERT INTO plain VALUES (%s, %s, %s, %s, %s)", rows)
                cursor.execute("COMMIT")

        def ask_mysql(sql: str) -> Any:
            with other.connect(name) as connection, connection.cursor() as cursor:
                cursor.execute(sql)
                return cursor.fetchall()

        ask_mysql(_CREATE)
        yield "MariaDB", "env:BENCH_MYSQL", insert, ask_mysql


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
