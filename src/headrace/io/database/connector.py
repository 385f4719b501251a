"""Tables of a database.

Write  exactly-once in micro-batch: the rows of a batch, its number and the run that writes are in one transaction (transactions.py). A
       batch run is one transaction, too: all rows or none; run again, it adds them again, or with a key puts them in the place of those.

A table that is not there is made from the columns of the stream; one that is there is held against them before the job starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from threading import Event
from typing import Any, ClassVar

from pyspark.sql import DataFrame

from headrace.definitions.guarantees import Guarantee, Modes, promised
from headrace.errors import HeadraceError
from headrace.io.arrow_batches import stored
from headrace.io.connectors import Run, Sink, Writer
from headrace.io.database import addresses, transactions
from headrace.io.database.databases import Database
from headrace.io.database.mysql import MySQL
from headrace.io.database.postgres import Postgres
from headrace.io.database.sqlite import SQLite
from headrace.io.database.tables import Table

_KINDS: dict[str, type[Database]] = {"sqlite": SQLite, "postgresql": Postgres, "mysql": MySQL}


def database(url: str, options: Mapping[str, str] | None = None) -> Database:
    """The database at an address, or at that which a reference leads to; see `addresses.find`."""
    address = addresses.find(url, options or {})
    return _KINDS[address.kind](address)


@dataclass(frozen=True, eq=False)
class DatabaseSink(Sink):
    """Rows in one table. The address may be a reference, which is followed when the job starts."""

    url: str
    table: Table
    name: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    kind: ClassVar[str] = "database"
    modes: ClassVar[Modes] = {
        "batch": promised(Guarantee.EXACTLY_ONCE, "all rows or none"),
        "micro-batch": Guarantee.EXACTLY_ONCE,
    }

    def __post_init__(self) -> None:
        addresses.check(self.url, self.options)

    @cached_property
    def database(self) -> Database:
        return database(self.url, self.options)

    @property
    def output_modes(self) -> tuple[tuple[str, ...], str] | None:  # type: ignore[override]
        if self.table.key:
            return None
        return ("append", "complete"), "without key= a row that changes would be in the table twice"

    def remote(self) -> Presence | None:
        return None if isinstance(self.database, SQLite) else Presence(self.database, self.database.title)

    def check(self, *, ends: range | None) -> None:
        transactions.prepare(self.database, self.table, make=False)

    def prepare(self) -> None:
        transactions.prepare(self.database, self.table, make=True)

    def open(self, run: Run) -> Writer:
        return DatabaseWriter(self.database, self.table, run)


class DatabaseWriter(Writer):
    def __init__(self, database: Database, table: Table, run: Run) -> None:
        self._shape = database.shape(table)
        self._whole, self._patient, self._texts = run.mode == "batch", database.patient, database.texts
        self._output = transactions.Output(database, table, run)
        self.committed = None if self._whole else self._output.open()

    def write(self, frame: DataFrame, batch: int) -> None:
        # Computed before the transaction begins: no lock is held while Spark works, and an attempt that fails does not compute them anew.
        # A batch run has no fence that others wait for: it may send some rows while others are made.
        with stored(frame.select(*self._shape), while_computed=self._whole and self._patient, texts=self._texts) as batches:
            if self._whole:
                self._output.save(batches)
            else:
                self._output.commit(batch, batches)
                self.committed = batch

    def close(self) -> None:
        self._output.close()


@dataclass
class Presence:
    """Whether a server is there; see `Remote`."""

    database: Database
    title: str

    @contextmanager
    def questions(self, over: Event) -> Iterator[Callable[[], bool]]:
        """Asks over one connection, which stays open as long as it answers."""
        held: list[Any] = []

        def answers() -> bool:
            try:
                if not held:
                    held.append(self.database.connect())
                held[0].cursor().execute("SELECT 1")
            except (HeadraceError, self.database.error):
                transactions.close(*held)
                held.clear()
                return False
            return True

        try:
            yield answers
        finally:
            transactions.close(*held)
