"""A connection to PostgreSQL, for who asks what is stored there; and its errors in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.errors import DefinitionError, HeadraceError, JobError, SetupError

if TYPE_CHECKING:
    import psycopg


def driver() -> Any:
    try:
        import psycopg
    except ImportError:
        raise SetupError("a PostgreSQL address needs the package psycopg", fix="pip install 'headrace[fraud]'") from None
    return psycopg


def open_connection(address: str, patience_s: float) -> psycopg.Connection[Any]:
    """A connection whose text is UTF-8 and whose times are UTC; raises SetupError."""
    parts = _parts(address)
    # The patience is for locks: also one who has little of it gives a busy server the time to answer.
    options = {"connect_timeout": max(10, round(patience_s)), "application_name": "headrace", **parts, "client_encoding": "utf8"}
    try:
        # Without prepared statements it works behind a pooler too.
        connection: psycopg.Connection[Any] = driver().connect(**options, autocommit=True, prepare_threshold=None)
    except driver().Error as error:
        raise _refused(error, address) from None
    try:
        connection.execute("SET TIME ZONE 'UTC'")
        encoding = connection.info.parameter_status("server_encoding")
    except driver().Error as error:
        connection.close()
        raise explain(error, shown(address), patience_s) from None
    if encoding != "UTF8":
        connection.close()
        raise SetupError(
            f"the database {shown(address)} holds text as {encoding}, which has not all characters", fix="createdb --encoding=UTF8 …"
        )
    return connection


def has_password(address: str) -> bool:
    return any(_parts(address).get(name) for name in ("password", "sslpassword"))


def shown(address: str) -> str:
    """The address without its secrets."""
    parts = _parts(address)
    user = f"{parts['user']}@" if parts.get("user") else ""
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"postgresql://{user}{parts.get('host', '')}{port}/{parts.get('dbname', '')}"


def _parts(address: str) -> dict[str, Any]:
    psycopg = driver()
    try:
        parts: dict[str, Any] = psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.Error:  # its message quotes the address
        raise DefinitionError(
            "the address of the database is no PostgreSQL URL",
            fix="write postgresql://user@host:port/db, with %40 for an @ (and %25 for a %) inside of a name or password",
        ) from None
    return parts


def _refused(error: Any, address: str) -> HeadraceError:
    """Why there is no connection. libpq tells it as text only."""
    text, place, parts = str(error), shown(address), _parts(address)
    if "password authentication failed" in text:
        return SetupError(f"{place}: the server refused the password", fix="mend the password in the variable or file that has the address")
    if "no password supplied" in text:
        return SetupError(
            f"{place}: the server wants a password", fix="put the address with it in a variable, and give env:NAME; or use ~/.pgpass"
        )
    if "does not exist" in text and "database" in text:
        return SetupError(f"{place}: there is no such database", fix=f"createdb {parts.get('dbname', 'fraud')}")
    if "does not exist" in text and "role" in text:
        return SetupError(f"{place}: there is no such user", fix="createuser …, or name another user in the address")
    if getattr(error, "pgconn", None) is None or any(
        words in text
        for words in ("Connection refused", "timeout", "timed out", "translate host name", "resolve", "No such file", "No route")
    ):
        return SetupError(f"{place}: no PostgreSQL server answers there", fix="start it, or mend host and port of the address")
    lines = text.strip().splitlines() or ["no reason was given"]
    return SetupError(f"{place}: no connection: {_without_secrets(lines[-1], parts)}", fix="mend that, then start again")


def explain(error: Any, place: str, patience_s: float) -> HeadraceError:
    """PostgreSQL's error in words, by its code. What it says about values is left out."""
    refusal = error.diag.message_primary
    match error.sqlstate:
        case "55P03":
            return JobError(
                f"{place}: a table was locked by another for more than {patience_s:g} s",
                fix="end the session that holds it: SELECT * FROM pg_stat_activity shows which",
            )
        case "25006":
            return SetupError(f"{place}: the server takes no writes: {refusal}", fix="give the address of the primary, not of a copy")
        case "42501":
            return SetupError(f"{place}: {refusal}", fix="GRANT the user of the address the right to create and write the tables")
        case "53100":
            return JobError(f"{place}: the server's disk is full", fix="make room, then start the job again: nothing is lost")
        case None:
            return JobError(f"{place}: the connection was lost", fix="see that the server runs, then start the job again: nothing is lost")
        case code:
            return JobError(f"{place}: {refusal} ({code})", fix="mend that, then start the job again: nothing is lost")


def _without_secrets(text: str, parts: dict[str, Any]) -> str:
    for name in ("password", "sslpassword"):
        if parts.get(name):
            text = text.replace(parts[name], "***")
    return text
