"""States in SQLite and PostgreSQL: `SqliteMapState.opaque("counts.db")`, `PostgresMapState.transactional("env:DATABASE_URL", "counts")`.

One table for each state, with the columns of its kind: key, value, prev, txid. Keys and values are JSON, so a plain `SELECT` reads them.
The updates of a partition are one transaction; so a batch costs one read and one write for each partition of a state. A table grows with
the number of keys, and nothing is ever deleted from it.

A table of an opaque state can `rewind`: what an earlier attempt of a batch wrote is taken back before the replay, also of keys that the
replay does not have. SQLite is for one machine; a PostgreSQL server serves a cluster.
"""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.definitions import secrets
from headrace.errors import DefinitionError, JobError, user_line
from headrace.fronts.trident.states.kinds import IBackingMap, Key, Kind, StateFactory
from headrace.fronts.trident.states.maps import NonTransactionalMap, OpaqueMap, OpaqueValue, StoredMap, TransactionalMap, TransactionalValue
from headrace.fronts.trident.states.memory import tuples

_AT_ONCE = 500  # keys in one SELECT
_COLUMNS: dict[Kind, str] = {"non-transactional": "value", "transactional": "value, txid", "opaque": "value, prev, txid"}
_TYPES = {"value": "TEXT", "prev": "TEXT", "txid": "BIGINT"}
_MAPS: dict[Kind, type[StoredMap[Any]]] = {
    "non-transactional": NonTransactionalMap,
    "transactional": TransactionalMap,
    "opaque": OpaqueMap,
}


class SqlTable(IBackingMap):
    """The store below such a state. A dialect is a connection and the sign for a parameter."""

    sign = "?"

    def __init__(self, table: str, kind: Kind) -> None:
        self._table, self._kind, self._names = table, kind, _COLUMNS[kind].split(", ")
        self._lock = threading.RLock()  # DRPC requests come in other threads
        try:
            self._find_or_create()
        except BaseException:
            self.close()
            raise

    def _find_or_create(self) -> None:
        with suppress(Exception):  # of two libraries: there is no such table, or it is another
            self._check()
            return
        columns = ", ".join(f"{name} {_TYPES[name]}" for name in self._names)
        with self._transaction() as cursor:
            cursor.execute(f'CREATE TABLE IF NOT EXISTS "{self._table}" (key TEXT PRIMARY KEY, {columns})')
        self._check()
        if "txid" in self._names:
            with self._transaction() as cursor:
                cursor.execute(f'CREATE INDEX IF NOT EXISTS "{self._table}_txid" ON "{self._table}" (txid)')

    def _check(self) -> None:
        """Raises if the table has not the columns of this kind."""
        with self._transaction() as cursor:
            cursor.execute(f'SELECT key, {_COLUMNS[self._kind]} FROM "{self._table}" LIMIT 0')

    @abstractmethod
    def close(self) -> None:
        """Let go of the database."""

    @abstractmethod
    def _transaction(self, *, writes: bool = False) -> Any:
        """A context with a cursor; committed at its end, or not at all."""

    def multiGet(self, keys: list[Key]) -> list[Any]:
        texts = [str(_json(key)) for key in keys]
        stored: dict[str, Any] = {}
        with self._transaction() as cursor:
            for start in range(0, len(texts), _AT_ONCE):
                some = texts[start : start + _AT_ONCE]
                marks = ", ".join([self.sign] * len(some))
                cursor.execute(f'SELECT key, {_COLUMNS[self._kind]} FROM "{self._table}" WHERE key IN ({marks})', some)
                stored |= {key: self._stored(columns) for key, *columns in cursor.fetchall()}
        return [stored.get(text) for text in texts]

    def multiPut(self, keys: list[Key], values: list[Any]) -> None:
        marks = ", ".join([self.sign] * (1 + len(self._names)))
        new = ", ".join(f"{name} = excluded.{name}" for name in self._names)
        statement = f'INSERT INTO "{self._table}" (key, {_COLUMNS[self._kind]}) VALUES ({marks}) ON CONFLICT (key) DO UPDATE SET {new}'
        rows = [(_json(key), *self._columns(value)) for key, value in zip(keys, values, strict=True)]
        with self._transaction(writes=True) as cursor:
            cursor.executemany(statement, rows)

    def rewind(self, txid: int) -> None:
        if self._kind == "opaque":
            with self._transaction(writes=True) as cursor:
                cursor.execute(f'UPDATE "{self._table}" SET value = prev WHERE txid = {self.sign}', (txid,))

    def items(self) -> dict[Key, Any]:
        with self._transaction() as cursor:
            cursor.execute(f'SELECT key, value FROM "{self._table}"')
            return {tuple(json.loads(key)): _loaded(value) for key, value in cursor.fetchall()}

    def _columns(self, stored: Any) -> Sequence[Any]:
        if isinstance(stored, OpaqueValue):
            return _json(stored.val), _json(stored.prev), stored.txid
        return (_json(stored.val), stored.txid) if isinstance(stored, TransactionalValue) else (_json(stored),)

    def _stored(self, columns: Sequence[Any]) -> Any:
        value, *rest = columns
        if self._kind == "opaque":
            return OpaqueValue(rest[1], _loaded(value), _loaded(rest[0]))
        return TransactionalValue(rest[0], _loaded(value)) if self._kind == "transactional" else _loaded(value)


class SqliteTable(SqlTable):
    """A table of a SQLite file."""

    def __init__(self, path: str, table: str, kind: Kind) -> None:
        self._connection = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode = WAL")
        super().__init__(table, kind)

    @contextmanager
    def _transaction(self, *, writes: bool = False) -> Iterator[Any]:
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            try:
                yield self._connection.cursor()
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()


class PostgresTable(SqlTable):
    """A table of a PostgreSQL database."""

    sign = "%s"

    def __init__(self, url: str, table: str, kind: Kind) -> None:
        import psycopg  # here: it takes a while to import, and most programs do not need it

        self._connection = psycopg.connect(secrets.resolve({"url": url})["url"], autocommit=True, connect_timeout=10)
        super().__init__(table, kind)

    @contextmanager
    def _transaction(self, *, writes: bool = False) -> Iterator[Any]:
        with self._lock, self._connection.transaction(), self._connection.cursor() as cursor:
            yield cursor

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()


@dataclass(frozen=True)
class SqlMapState(StateFactory):
    """What makes a state in a database: `.opaque(place, table)`, `.transactional(…)` or `.nonTransactional(…)`."""

    place: str
    table: str
    kind: Kind
    remote: bool = True

    @classmethod
    def opaque(cls, place: str | Path, table: str = "state") -> StateFactory:
        """An opaque state, without the gap of the bare rule: see `rewind` above."""
        return cls(str(place), _name(table), "opaque")

    @classmethod
    def transactional(cls, place: str | Path, table: str = "state") -> StateFactory:
        """A transactional state."""
        return cls(str(place), _name(table), "transactional")

    @classmethod
    def nonTransactional(cls, place: str | Path, table: str = "state") -> StateFactory:
        """A state that knows nothing of batches."""
        return cls(str(place), _name(table), "non-transactional")

    non_transactional = nonTransactional

    def makeState(self, conf: Mapping[str, Any], partitionIndex: int, numPartitions: int) -> Any:
        """The state: all partitions share the table, and each key belongs to one of them."""
        try:
            store = self._open()
        except Exception as error:  # of two libraries, and of what they load
            raise JobError(
                f"the state {self.table!r} in {self._shown()} cannot be opened: {secrets.hide(str(error).strip().splitlines()[0])}",
                fix=f"check the place; a table that is there must be of the kind {self.kind!r}",
            ) from None
        return _with_tuples(_MAPS[self.kind](store))

    def _shown(self) -> str:
        return re.sub(r"://[^@/]*@", "://***@", self.place)

    @abstractmethod
    def _open(self) -> SqlTable:
        """The store."""


@dataclass(frozen=True)
class SqliteMapState(SqlMapState):
    """A state in a SQLite file, made if it is not there: `SqliteMapState.transactional("counts.db")`."""

    def _open(self) -> SqlTable:
        return SqliteTable(self.place, self.table, self.kind)


@dataclass(frozen=True)
class PostgresMapState(SqlMapState):
    """A state in PostgreSQL: `PostgresMapState.opaque("env:DATABASE_URL", "counts")`, where the variable is `postgresql://…`."""

    def _open(self) -> SqlTable:
        return PostgresTable(self.place, self.table, self.kind)


def _with_tuples(state: Any) -> Any:
    state.getTuples = lambda: tuples(state.backing.items())
    return state


def _name(table: str) -> str:
    if not isinstance(table, str) or not re.fullmatch(r"[A-Za-z_]\w*", table):
        raise DefinitionError(f"{table!r} is no name for a state's table", fix="use letters, digits and _", where=user_line())
    return table


def _json(value: Any) -> str | None:
    if value is None:
        return None
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        raise JobError(
            f"{value!r} cannot be kept in a database as JSON", fix="let keys and values be text, numbers, lists or dicts of these"
        ) from None


def _loaded(text: str | None) -> Any:
    return None if text is None else json.loads(text)
