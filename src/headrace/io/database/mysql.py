"""MySQL and MariaDB: rows come as INSERT with many rows each. Tables are made for InnoDB, the kind that has transactions.

A time is a DATETIME(6) in UTC: TIMESTAMP ends in 2038. Text that is part of a key is a VARCHAR of 255 characters, which are told apart by
their bytes.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column as Expression
from pyspark.sql import functions as F

from headrace.definitions import secrets
from headrace.errors import DefinitionError, HeadraceError, JobError, SetupError
from headrace.io.database import databases
from headrace.io.database.databases import LOCKED_SECONDS, RowByRow
from headrace.io.database.tables import Column, Existing, Family, Table, compare

_TYPES: dict[Family, str] = {
    "boolean": "BOOLEAN", "short": "SMALLINT", "integer": "INT", "long": "BIGINT", "float": "FLOAT", "double": "DOUBLE",
    "text": "LONGTEXT", "binary": "LONGBLOB", "date": "DATE", "time": "DATETIME(6)", "local time": "DATETIME(6)", "json": "LONGTEXT",
}  # fmt: skip
_LONG = frozenset({"bigint", "decimal"})
_TEXTS = frozenset({"char", "varchar", "tinytext", "text", "mediumtext", "longtext", "json", "enum"})
_ACCEPTS: dict[Family, frozenset[str]] = {
    "boolean": frozenset({"tinyint", "bit"}), "short": _LONG | {"smallint", "mediumint", "int"}, "integer": _LONG | {"int"}, "long": _LONG,
    "float": frozenset({"float", "double"}), "double": frozenset({"double"}), "decimal": frozenset({"decimal"}), "text": _TEXTS,
    "binary": frozenset({"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"}), "date": frozenset({"date"}),
    "time": frozenset({"datetime"}), "local time": frozenset({"datetime"}), "json": _TEXTS,
}  # fmt: skip

# Too many connections, a lock, a deadlock, a server that ends, no server, a connection that is lost.
_TRANSIENT = {1040, 1053, 1205, 1213, 1927, 2002, 2003, 2006, 2013, 2014, 2055, 0}
_OPTIONS = {"password", "ssl_ca", "ssl_cert", "ssl_key", "ssl_verify_cert", "ssl_verify_identity", "ssl_disabled", "unix_socket", "charset"}
_FLAGS = {"ssl_verify_cert", "ssl_verify_identity", "ssl_disabled"}


class MySQL(RowByRow):
    package = "pymysql"
    quote = "`"
    begin = "START TRANSACTION"

    @property
    def driver(self) -> Any:
        try:
            import pymysql
        except ImportError:
            raise self.driver_missing() from None
        return pymysql

    @property
    def error(self) -> type[Exception]:
        return self.driver.MySQLError  # type: ignore[no-any-return]

    def connect(self) -> Any:
        at = self.address
        for name in at.options:
            if name not in _OPTIONS:
                raise DefinitionError(f"{name} is no option of a MySQL database", fix=f"use {', '.join(sorted(_OPTIONS))}")
        options = {name: value == "true" if name in _FLAGS else value for name, value in at.options.items()}
        try:
            return self.driver.connect(
                host=at.host or "localhost", port=at.port or 3306, user=at.user or None, database=at.database, autocommit=True,
                connect_timeout=10, sql_mode="STRICT_ALL_TABLES", **{"charset": "utf8mb4", **options},
                init_command=f"SET time_zone = '+00:00', innodb_lock_wait_timeout = {round(LOCKED_SECONDS)}",
            )  # fmt: skip
        except self.error as error:
            raise self._no_connection(error) from error

    def transient(self, error: Exception) -> bool:
        code = error.args[0] if error.args else 0
        return code in _TRANSIENT and not isinstance(error, self.driver.ProgrammingError)

    def _no_connection(self, error: Exception) -> HeadraceError:
        code = error.args[0] if error.args else 0
        if code in (2002, 2003):
            return SetupError(f"{self.title}: no MySQL server answers there", fix="start it, or mend host and port of the address")
        if code in (1044, 1045, 1698):
            return SetupError(f"{self.title}: the server refused user or password", fix="mend them in the variable or file that has them")
        if code == 1049:
            return SetupError(f"{self.title}: there is no such database", fix=f"CREATE DATABASE {self.column(self.address.database)}")
        return SetupError(f"{self.title}: no connection: {secrets.hide(str(error.args[-1]))}", fix="mend that, then start again")

    def explain(self, error: Exception) -> HeadraceError:
        code = error.args[0] if error.args else 0
        if code == 1205:
            return JobError(f"{self.title}: a table was locked for more than {LOCKED_SECONDS:g} s", fix="SHOW PROCESSLIST shows by whom")
        if self.transient(error):
            return JobError(f"{self.title}: the connection was lost", fix="see that the server runs, then start the job again")
        # A message about a value has it in quotes, and it may be anybody's.
        words = secrets.hide(str(error.args[-1]).split(": '")[0])
        return JobError(f"{self.title}: {words} ({code})", fix="mend that, then start the job again: nothing is lost")

    def type_of(self, column: Column, *, key: bool) -> str:
        if column.family == "decimal":
            return column.kind.simpleString().upper()
        if column.family == "text" and key:
            return "VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
        return "VARBINARY(255)" if column.family == "binary" and key else _TYPES[column.family]

    def create(self, table: Table) -> str:
        return f"{super().create(table)} ENGINE=InnoDB CHARACTER SET utf8mb4"

    @property
    def create_progress(self) -> str:
        return f"{super().create_progress} ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"

    def compare(self, cursor: Any, table: Table) -> bool:
        schema, _, name = table.name.rpartition(".")
        at = [schema or self.address.database, name]
        cursor.execute(
            "SELECT column_name, data_type, is_nullable = 'NO' AND column_default IS NULL AND extra = ''"
            " FROM information_schema.columns WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position",
            at,
        )
        there = {column: Existing(str(kind).lower(), bool(required)) for column, kind, required in cursor.fetchall()}
        if not there:
            return False
        cursor.execute(
            "SELECT index_name, column_name FROM information_schema.statistics"
            " WHERE table_schema = %s AND table_name = %s AND non_unique = 0",
            at,
        )
        unique: dict[str, set[str]] = {}
        for index, column in cursor.fetchall():
            unique.setdefault(index, set()).add(column)
        compare(table, there, [frozenset(columns) for columns in unique.values()], _ACCEPTS, str(self.address))
        cursor.execute("SELECT engine FROM information_schema.tables WHERE table_schema = %s AND table_name = %s", at)
        if (engine := cursor.fetchone()[0]) != "InnoDB":
            raise JobError(
                f"the table {table.name} at {self.address} is kept by {engine}, which has no transactions",
                fix=f"ALTER TABLE {self.name(table.name)} ENGINE=InnoDB",
            )
        return True

    def values(self, column: Column) -> Expression:
        match column.family:
            case "time":  # in UTC, whatever Spark's session says
                micros = F.unix_micros(databases.source(column))
                return F.timestamp_add("MICROSECOND", micros, F.lit("1970-01-01").cast("timestamp_ntz")).cast("string")
            case "float" | "double":  # there is neither "not a number" nor infinity
                number = databases.source(column)
                return F.when(F.abs(number) < float("inf"), number)
            case "date" | "decimal" | "local time":
                return databases.source(column).cast("string")
            case _:
                return super().values(column)

    def upsert(self, table: Table) -> str:
        marks = ", ".join(["%s"] * len(table.names))
        statement = f"INSERT INTO {self._escaped(self.name(table.name))} ({self._escaped(self.list(table.names))}) VALUES ({marks})"
        if not table.key:
            return statement
        newest = [self.column(name) for name in table.newest]
        newer = f"({', '.join(f'VALUES({name})' for name in newest)}) >= ({', '.join(newest)})" if newest else "TRUE"
        # From left to right, and each sees what was set before it: what is compared is set last, and of that the first at the very last.
        others = [self.column(name) for name in table.names if name not in (*table.key, *table.newest)]
        replaced = [f"{name} = IF({newer}, VALUES({name}), {name})" for name in (*others, *reversed(newest))]
        key = self.column(table.key[0])
        return f"{statement} ON DUPLICATE KEY UPDATE {self._escaped(', '.join(replaced) or f'{key} = {key}')}"

    def _escaped(self, sql: str) -> str:
        return sql.replace("%", "%%")
