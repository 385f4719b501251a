"""Where alerts and windows are kept: SQLite as the embedded default, PostgreSQL by URL.

    fraud.db, sqlite:///fraud.db        a file, below the working directory; sqlite:////var/fraud.db is at the root
    postgresql://user@host/db           a server; the password from PGPASSWORD, ~/.pgpass, or:
    env:NAME, file:/path/to/it          any of the above, read from there: the way for a URL with a password in it

Guarantee: at least once, with an idempotent upsert. Each call is one transaction, so of a batch all rows are there or none; a batch that
comes again changes nothing. What a key that comes again does is in tables.py.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as home, connect(f"{home}/fraud.db") as database:
...     row = {"minute": "2026-02-02T02:40:00Z", "merchant": None, "transactions": 7, "amount": 70.5, "flagged": 1,
...            "velocity": 1, "amount_rule": 0, "location": 0, "customers": 5, "closed": False}
...     database.upsert_windows([row, {**row, "transactions": 6}, {**row, "transactions": 8, "closed": True}])
2
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol, Self

from headrace.errors import DefinitionError, JobError

_REFERENCE = re.compile(r"(env|file):(?!//)(.+)", re.DOTALL)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)


class Database(Protocol):
    """An open database. One object may be used from several threads; calls come one after the other."""

    place: str  # fit to be shown: it never has a password

    def upsert_alerts(self, rows: Iterable[Any]) -> int:
        """Add the alerts that are not there yet, in one transaction; the number of those."""
        ...

    def upsert_windows(self, rows: Iterable[Any]) -> int:
        """Add or replace windows, in one transaction; the number of rows written."""
        ...

    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...


def connect(url: str, *, patience_s: float = 10.0) -> Database:
    """Open the database at `url` and make its tables if they are absent; wait for another's lock for `patience_s` at most."""
    kind, place = find(url)
    if kind == "sqlite":
        from headrace_fraud.sqlite import SQLite

        return SQLite(Path(place), patience_s=patience_s)
    from headrace_fraud.postgres import Postgres

    return Postgres(place, patience_s=patience_s)


def find(url: str) -> tuple[str, str]:
    """`("sqlite", path)` or `("postgresql", address)`, from an address or a reference to one.

    >>> find("sqlite:////var/fraud.db"), find("postgresql://ada@db.example/fraud")
    (('sqlite', '/var/fraud.db'), ('postgresql', 'postgresql://ada@db.example/fraud'))
    """
    address = _resolve(url)
    scheme = _SCHEME.match(address)
    if scheme is None:
        if not address.strip():
            raise DefinitionError("the address of the database is empty", fix="give a path, or postgresql://user@host/db")
        return "sqlite", address
    match scheme.group(1).lower():
        case "sqlite":
            if not address.startswith("sqlite:///") or address == "sqlite:///":
                raise DefinitionError("the address of the SQLite database names no file", fix="write sqlite:///fraud.db, or a plain path")
            return "sqlite", address.removeprefix("sqlite:///")
        case "postgresql" | "postgres":
            from headrace_fraud.postgres import has_password

            if address == url and has_password(address):
                raise DefinitionError(
                    "the address of the database has a password in it, which all users of this machine can see",
                    fix="export HEADRACE_DATABASE=… with that address, and give env:HEADRACE_DATABASE instead",
                )
            return "postgresql", address
        case other:
            raise DefinitionError(f"no database is known by {other}://", fix="give a path, sqlite:///path or postgresql://user@host/db")


def _resolve(url: str) -> str:
    reference = _REFERENCE.fullmatch(url)
    if reference is None:
        return url
    kind, place = reference.groups()
    if kind == "env":
        found = os.environ.get(place)
        if found is None:
            raise JobError(f"the database is named by the environment variable {place}, which is not set", fix=f"export {place}=…")
        return found
    try:
        return Path(place).expanduser().read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not text"
        raise JobError(f"the database is named by the file {place}: {why}", fix="make the file, readable for this user") from None
