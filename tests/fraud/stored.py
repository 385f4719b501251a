"""The tables of the flagship with a row each, as its job `store` leaves them; made by plain SQL, for tests that ask."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from typing import Any

import psycopg

from headrace_fraud.asking.database import find

ALERT: dict[str, Any] = {
    "id": "transactions/0/1", "tx_id": "t1", "customer": "c1", "ts": "2026-02-02T02:40:00.005000Z", "amount": 12.34, "merchant": "m7",
    "card": "411111******1111", "rules": ["velocity", "location"], "flagged": True, "gap_s": 3.2, "previous_max": None,
    "distance_km": 512.25,
}  # fmt: skip
WINDOW: dict[str, Any] = {
    "minute": "2026-02-02T02:40:00.000000Z", "merchant": "m7", "transactions": 5, "amount": 61.7, "flagged": 2, "velocity": 1,
    "amount_rule": 1, "location": 0, "customers": 4, "closed": False,
}  # fmt: skip

_TYPES = {"ts": "TIMESTAMPTZ", "minute": "TIMESTAMPTZ", "closed": "BOOLEAN"}


def store(url: str) -> None:
    """Both tables, with one row each."""
    kind, place = find(url)
    alert = {name: value for name, value in ALERT.items() if name != "flagged"} | {"rules": "velocity,location"}
    connection: Any = sqlite3.connect(place, isolation_level=None) if kind == "sqlite" else psycopg.connect(place, autocommit=True)
    with closing(connection):
        if kind == "sqlite":
            connection.execute("PRAGMA journal_mode = WAL")
        _fill(connection, "alerts", alert, "?" if kind == "sqlite" else "%s")
        _fill(connection, "windows", WINDOW, "?" if kind == "sqlite" else "%s")


def _fill(connection: Any, table: str, row: Mapping[str, Any], mark: str) -> None:
    def kind(name: str, value: Any) -> str:
        return _TYPES.get(name) or {int: "BIGINT", float: "DOUBLE PRECISION", type(None): "DOUBLE PRECISION"}.get(type(value), "TEXT")

    connection.execute(f"CREATE TABLE {table} ({', '.join(f'{name} {kind(name, value)}' for name, value in row.items())})")
    connection.execute(f"INSERT INTO {table} VALUES ({', '.join([mark] * len(row))})", list(row.values()))
