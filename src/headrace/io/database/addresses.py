"""Where a database is.

    payments.db, sqlite:///payments.db        a file below the working directory; sqlite:////var/payments.db is at the root
    postgresql://user@host:5432/db            a server; also postgres://
    mysql://user@host:3306/db                 MySQL or MariaDB; also mariadb://
    env:NAME, file:/path/to/it                any of these, read from there: the way for an address with a password in it

A password in the program is refused. It is part of an address that is read from elsewhere, or an option by reference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from headrace.definitions import secrets
from headrace.errors import DefinitionError, user_line

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_REFERENCE = re.compile(r"(env|file):(?!//).+", re.DOTALL)
_FORMS = "give a path, sqlite:///path, postgresql://user@host/db or mysql://user@host/db"
_KINDS = {"sqlite": "sqlite", "postgresql": "postgresql", "postgres": "postgresql", "mysql": "mysql", "mariadb": "mysql"}


@dataclass(frozen=True)
class Address:
    """A database by its kind and where it is. `options` are those of its client; a secret among them was resolved, so none is shown."""

    kind: str
    path: str = ""
    host: str = ""
    port: int | None = None
    user: str = ""
    database: str = ""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        """Fit to be shown."""
        if self.kind == "sqlite":
            return self.path
        user, port = f"{self.user}@" if self.user else "", f":{self.port}" if self.port else ""
        return f"{self.kind}://{user}{self.host}{port}/{self.database}"


def check(url: str, options: Mapping[str, str]) -> None:
    """Refuse, where it is written, what is no address or has a secret in it. A reference is not followed yet."""
    secrets.refuse_literals(options)
    if not _REFERENCE.fullmatch(url):
        address = _parse(url, {})
        if any(name in address.options for name in ("password", "sslpassword")):
            raise DefinitionError(
                "to.database: the address has a password in it",
                fix='leave it out and give options={"password": "env:NAME"}; or put the address into a variable and give "env:NAME"',
                where=user_line(),
            )


def find(url: str, options: Mapping[str, str]) -> Address:
    """The address that is meant; JobError if a reference leads nowhere, DefinitionError if what it leads to is none."""
    known = secrets.follow("to.database: the address", url) if _REFERENCE.fullmatch(url) else url
    return _parse(known, secrets.resolve(options))


def _parse(url: str, options: Mapping[str, str]) -> Address:
    scheme = _SCHEME.match(url)
    if scheme is None:
        if not url.strip():
            raise _refused("the address is empty")
        return Address("sqlite", path=url, options=options)
    kind = _KINDS.get(scheme[1].lower())
    if kind is None:
        raise _refused(f"no database is known by {scheme[1]}://")
    if kind == "sqlite":
        path = url.removeprefix("sqlite:///")
        if path == url or not path:
            raise _refused("the address names no file")
        return Address("sqlite", path=path, options=options)
    try:
        parts = urlsplit(url)
        asked = dict(pair.split("=", 1) for pair in parts.query.split("&") if pair)
        port = parts.port
    except ValueError:
        raise _refused("the address is no URL: write %40 for an @ and %25 for a % inside of a name or password") from None
    written = {unquote(name): value for name, value in asked.items()}
    if parts.password is not None:
        written["password"] = parts.password
    parameters = {name: unquote(value) for name, value in written.items()}
    for name in ("password", "sslpassword"):
        for secret in (written, parameters):  # who prints the address prints it as it is written there
            secrets.remember(secret.get(name, ""))
    if re.search(r"%(?![0-9A-Fa-f]{2})", parts.netloc):
        raise _refused("the address is no URL: write %40 for an @ and %25 for a % inside of a name or password")
    return Address(
        kind, host=unquote(parts.hostname or ""), port=port, user=unquote(parts.username or ""),
        database=unquote(parts.path.removeprefix("/")), options={**parameters, **options},
    )  # fmt: skip


def _refused(what: str) -> DefinitionError:
    return DefinitionError(f"to.database: {what}", fix=_FORMS, where=user_line())
