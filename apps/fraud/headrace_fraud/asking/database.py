"""Where alerts and windows are kept: SQLite as the embedded default, PostgreSQL by URL. The job `store` writes there by `to.database`.

fraud.db, sqlite:///fraud.db        a file, below the working directory; sqlite:////var/fraud.db is at the root
postgresql://user@host/db           a server; the password from PGPASSWORD, ~/.pgpass, or:
env:NAME, file:/path/to/it          any of the above, read from there: the way for a URL with a password in it
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from headrace.errors import DefinitionError, JobError

_REFERENCE = re.compile(r"(env|file):(?!//)(.+)", re.DOTALL)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)


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
            from headrace_fraud.asking.postgres import has_password

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
        address = os.environ.get(place)
        if address is None:
            raise JobError(f"the database is named by the environment variable {place}, which is not set", fix=f"export {place}=…")
        return address
    try:
        return Path(place).expanduser().read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not text"
        raise JobError(f"the database is named by the file {place}: {why}", fix="make the file, readable for this user") from None
