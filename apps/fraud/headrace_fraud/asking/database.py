"""Where alerts and windows are kept: SQLite as the embedded default, PostgreSQL by URL. The job `store` writes there by `to.database`.

fraud.db, sqlite:///fraud.db        a file, below the working directory; sqlite:////var/fraud.db is at the root
postgresql://user@host/db           a server; the password from PGPASSWORD, ~/.pgpass, or:
env:NAME, file:/path/to/it          any of the above, read from there: the way for a URL with a password in it
"""

from __future__ import annotations

from headrace.errors import DefinitionError
from headrace.io.database.addresses import is_reference
from headrace.io.database.connector import database
from headrace.io.database.postgres import Postgres
from headrace.io.database.sqlite import SQLite


def find(url: str) -> SQLite | Postgres:
    """The database at an address, or at that which a reference leads to.

    >>> print(find("sqlite:////var/fraud.db").address, find("postgresql://ada@db.example/fraud").address)
    /var/fraud.db postgresql://ada@db.example/fraud
    """
    place = database(url, at="query")
    if not isinstance(place, SQLite | Postgres):
        raise DefinitionError(
            f"no database is known by {place.address.kind}://", fix="give a path, sqlite:///path or postgresql://user@host/db"
        )
    if place.address.has_password and not is_reference(url):
        raise DefinitionError(
            "the address of the database has a password in it, which all users of this machine can see",
            fix="export HEADRACE_DATABASE=… with that address, and give env:HEADRACE_DATABASE instead",
        )
    return place
