"""PostgreSQL: rows come by COPY, whose lines Spark's tasks make; the driver only passes the bytes on.

Without a key they go into the table itself, with one into a temporary table, and from there by INSERT … ON CONFLICT.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import Column as Expression
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headrace.definitions import failpoints, secrets
from headrace.errors import HeadraceError, JobError, SetupError
from headrace.io.database import databases
from headrace.io.database.databases import LOCKED_SECONDS, Database
from headrace.io.database.sqlite import on_conflict
from headrace.io.database.tables import Column, Existing, Family, Table, compare
from headrace.kernel import jvm

_TYPES: dict[Family, str] = {
    "boolean": "boolean", "short": "smallint", "integer": "integer", "long": "bigint", "float": "real", "double": "double precision",
    "text": "text", "binary": "bytea", "date": "date", "time": "timestamp with time zone", "local time": "timestamp without time zone",
    "json": "jsonb",
}  # fmt: skip
_LONG = {"bigint", "numeric"}
_ACCEPTS: dict[Family, frozenset[str]] = {
    "boolean": frozenset({"boolean"}), "short": frozenset({"smallint", "integer"} | _LONG), "integer": frozenset({"integer"} | _LONG),
    "long": frozenset(_LONG), "float": frozenset({"real", "double precision"}), "double": frozenset({"double precision"}),
    "decimal": frozenset({"numeric"}), "binary": frozenset({"bytea"}), "date": frozenset({"date"}),
    "time": frozenset({"timestamp with time zone"}), "local time": frozenset({"timestamp without time zone"}),
    "text": frozenset({"text", "character varying", "character", "citext", "uuid", "json", "jsonb", "inet", "xml"}),
    "json": frozenset({"json", "jsonb", "text"}),
}  # fmt: skip

# No connection, a deadlock or a clash of transactions, a lock, too many connections or too little memory, a server that starts or ends.
_TRANSIENT = ("08", "40", "53", "57P0")
_LOCKED = "55P03"
_MAKING = 0x68656164  # any number that all writers share: CREATE TABLE by two at once fails
_INCOMING = '"headrace_incoming"'
_GONE, _POSITION = '"headrace_gone"', '"headrace_position"'


class Postgres(Database):
    package = "psycopg"
    patient = True
    texts = True

    @property
    def driver(self) -> Any:
        try:
            import psycopg
        except ImportError:
            raise self.driver_missing() from None
        return psycopg

    @property
    def error(self) -> type[Exception]:
        return self.driver.Error  # type: ignore[no-any-return]

    def connect(self) -> Any:
        at = self.address
        where = {"host": at.host, "port": at.port, "user": at.user, "dbname": at.database}
        ours = {"connect_timeout": 10, "application_name": "headrace", "keepalives_idle": 10, "keepalives_interval": 5}
        try:
            # Without prepared statements it works behind a pooler, too.
            connection = self.driver.connect(
                **ours, **{name: value for name, value in where.items() if value}, **at.options, client_encoding="utf8", autocommit=True,
                prepare_threshold=None,
            )  # fmt: skip
            connection.execute("SELECT set_config('lock_timeout', %s, false)", [f"{round(LOCKED_SECONDS * 1000)}ms"])
        except self.error as error:
            raise self._no_connection(error) from error
        if (encoding := connection.info.parameter_status("server_encoding")) != "UTF8":
            connection.close()
            raise SetupError(f"{self.title} holds text as {encoding}, which has not all characters", fix="createdb --encoding=UTF8 …")
        return connection

    def transient(self, error: Exception) -> bool:
        state = getattr(error, "sqlstate", None)
        if state is None:  # of a connection that is lost, or that there is none, libpq has only text
            return isinstance(error, (self.driver.OperationalError, self.driver.InterfaceError)) and not _lasting(str(error))
        return bool(state == _LOCKED or state.startswith(_TRANSIENT))

    def _no_connection(self, error: Any) -> HeadraceError:
        words = str(error)
        for sign, (what, fix) in _REFUSALS.items():
            if sign in words:
                return SetupError(f"{self.title}: {what}", fix=fix)
        if self.transient(error) and any(sign in words for sign in _NOBODY):
            return SetupError(f"{self.title}: no PostgreSQL server answers there", fix="start it, or mend host and port of the address")
        last = (words.strip().splitlines() or ["no reason was given"])[-1]
        return SetupError(f"{self.title}: no connection: {secrets.hide(last)}", fix="mend that, then start again")

    def explain(self, error: Any) -> HeadraceError:
        words = error.diag.message_primary
        match error.sqlstate:
            case "55P03":
                return JobError(f"{self.title}: a table was locked for more than {LOCKED_SECONDS:g} s", fix="see pg_stat_activity for who")
            case "25006":
                return SetupError(f"{self.title}: the server takes no writes: {words}", fix="give the address of the primary")
            case "42501":
                return SetupError(f"{self.title}: {words}", fix="GRANT the user of the address the right to create and write the tables")
            case "23502":
                return JobError(f"{self.title}: {words}", fix="give every row a value there: .where(F.col('…').isNotNull())")
            case None:
                return JobError(f"{self.title}: the connection was lost", fix="see that the server runs, then start the job again")
            case code:
                return JobError(f"{self.title}: {words} ({code})", fix="mend that, then start the job again: nothing is lost")

    def type_of(self, column: Column, *, key: bool) -> str:
        if column.family == "decimal":
            return f"numeric{column.kind.simpleString().removeprefix('decimal')}"
        return _TYPES[column.family]

    def compare(self, cursor: Any, table: Table) -> bool:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_MAKING])
        cursor.execute("SELECT to_regclass(%s)::oid", [self.name(table.name)])
        (oid,) = cursor.fetchone()
        if oid is None:
            return False
        cursor.execute(
            "SELECT attname, format_type(atttypid, NULL), attnotnull AND NOT atthasdef AND attidentity = ''"
            " FROM pg_attribute WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            [oid],
        )
        there = {name: Existing(kind, required) for name, kind, required in cursor.fetchall()}
        cursor.execute(
            "SELECT array_agg(attname::text) FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY(indkey)"
            " WHERE indrelid = %s AND indisunique AND indpred IS NULL AND indexprs IS NULL GROUP BY indexrelid",
            [oid],
        )
        compare(table, there, [frozenset(names) for (names,) in cursor.fetchall()], _ACCEPTS, str(self.address))
        return True

    def shape(self, table: Table) -> list[Expression]:
        cells = [self.values(column) for column in table.columns]
        if table.delete:
            cells.append(F.coalesce(F.col(f"`{table.delete}`"), F.lit(False)))
        return [jvm.python_column(jvm.package(SparkSession.active()).CopyLine.column(jvm.java_columns(cells))).alias("line")]

    def values(self, column: Column) -> Expression:
        match column.family:
            case "text":
                return databases.text(column)
            case "json":
                return F.replace(databases.json(column), F.lit("\\u0000"), F.lit("\\u2400"))
            case "time":
                return databases.iso_time(column)
            case "binary":
                return F.concat(F.lit("\\x"), F.hex(databases.source(column)))
            case "boolean" | "short" | "integer" | "long" | "float" | "double":
                return databases.source(column)
            case _:
                return databases.source(column).cast("string")

    def write(self, cursor: Any, table: Table, batches: Iterable[Any]) -> None:
        columns, name = self.list(table.names), self.name(table.name)
        if not table.key:
            return self._copy(cursor, name, columns, batches)
        cursor.execute(f"CREATE TEMPORARY TABLE {_INCOMING} ON COMMIT DROP AS SELECT {columns} FROM {name} WITH NO DATA".encode())
        position = f"ADD {_POSITION} bigint GENERATED BY DEFAULT AS IDENTITY"
        cursor.execute(f"ALTER TABLE {_INCOMING} ADD {_GONE} boolean NOT NULL DEFAULT false, {position}".encode())
        self._copy(cursor, _INCOMING, f"{columns}, {_GONE}" if table.delete else columns, batches)
        # One row for each key: ON CONFLICT may not meet a row twice. In the order of the keys, so that two writers do not lock crosswise.
        key = self.list(table.key)
        order = "".join(f", {self.column(each)} DESC" for each in table.newest)
        chosen = f"SELECT DISTINCT ON ({key}) * FROM {_INCOMING} ORDER BY {key}{order}, {_POSITION} DESC"
        if table.delete:
            same = " AND ".join(f"old.{self.column(each)} = new.{self.column(each)}" for each in table.key)
            if table.newest:
                old, new = (", ".join(f"{side}.{self.column(each)}" for each in table.newest) for side in ("old", "new"))
                same += f" AND ({new}) >= ({old})"
            cursor.execute(f"DELETE FROM {name} AS old USING ({chosen}) AS new WHERE new.{_GONE} AND {same}".encode())
        rows = f"SELECT {columns} FROM ({chosen}) AS new WHERE NOT {_GONE}"
        return cursor.execute(f"INSERT INTO {name} ({columns}) {rows} {on_conflict(self, table)}".encode())  # type: ignore[no-any-return]

    def _copy(self, cursor: Any, name: str, columns: str, batches: Iterable[Any]) -> None:
        with cursor.copy(f"COPY {name} ({columns}) FROM STDIN".encode()) as copy:
            for number, lines in enumerate(batches):
                if number == 1:
                    failpoints.reach("database: half of the rows")
                copy.write(lines)


_REFUSALS = {
    "password authentication failed": ("the server refused the password", "mend the password in the variable or file that has it"),
    "no password supplied": ("the server wants a password", 'give options={"password": "env:NAME"}, or use ~/.pgpass'),
    "fe_sendauth": ("the server wants a password", 'give options={"password": "env:NAME"}, or use ~/.pgpass'),
}
_LASTING = ("authentication failed", "no password supplied", "does not exist", "fe_sendauth", "certificate", "SSL", "sslmode", "pg_hba")
_NOBODY = ("refused", "timeout", "timed out", "translate host name", "resolve", "No such file", "No route", "closed the connection")


def _lasting(words: str) -> bool:
    """Whether a connection is refused for a reason that does not go away by itself."""
    return any(sign in words for sign in _LASTING)
