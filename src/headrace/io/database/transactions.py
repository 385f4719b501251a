"""Rows, the number of their batch and the epoch of their run, in one transaction.

Beside the tables is one of headrace's, `headrace_progress`, with a row for each output of each job: the checkpoint that it is written from,
the epoch of the run that may write, and the last batch that is there. A run that begins takes the next epoch. A transaction begins with a
look at that row, which it locks, and

    an epoch that is not this run's    another run has taken over: FENCED, and nothing is written, now or later
    this batch, or a later one         it is there: a commit whose answer was lost was one all the same
    otherwise                          the rows are written, and the batch with them

So it does not matter where a crash was, nor whether a driver that was thought dead wakes up: each batch is there once, or not at all.

A database that is down, slow or locked is waited for, longer and longer between two attempts, as long as the run lasts: nothing is lost,
and no further batch is begun meanwhile.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from headrace.definitions import failpoints
from headrace.errors import FencedError, HeadraceError, JobError
from headrace.io.connectors import Run
from headrace.io.database.databases import Database
from headrace.io.database.tables import PROGRESS, Table

T = TypeVar("T")
Batches = Callable[[], Iterable[Any]]

_log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0  # seconds between two attempts


class Output:
    """One output of a run, in one table."""

    def __init__(self, database: Database, table: Table, run: Run) -> None:
        self._database, self._table, self._run = database, table, run
        self._connection: Any = None
        self._epoch = 0
        self._who = (run.job, run.output)

    def open(self) -> int:
        """Take the next epoch, so that no other run writes from now on; the last batch that is there, -1 if none."""
        return self._attempt(self._begin)

    def commit(self, batch: int, batches: Batches) -> None:
        """Write a batch, if it is not there yet. `batches` are called anew for every attempt."""
        self._attempt(lambda cursor: self._write(cursor, batch, batches))
        failpoints.reach("database: committed")

    def save(self, batches: Batches) -> None:
        """Write the rows of a batch run: all, or none."""
        self._attempt(lambda cursor: self._database.write(cursor, self._table, batches()))

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            close(connection)

    def _begin(self, cursor: Any) -> int:
        there = self._progress(cursor)
        if there is None:
            marks = ", ".join([self._database.mark] * 5)
            cursor.execute(f"INSERT INTO {self._name} VALUES ({marks})", (*self._who, self._run.checkpoint, self._run.epoch, -1))
            self._epoch = self._run.epoch
            return -1
        checkpoint, epoch, batch = there
        if checkpoint != self._run.checkpoint and self._run.checkpoint:
            raise self._anothers()
        self._epoch = max(epoch + 1, self._run.epoch)
        self._set(cursor, "epoch", self._epoch)
        return int(batch)

    def _write(self, cursor: Any, batch: int, batches: Batches) -> None:
        there = self._progress(cursor)
        epoch, last = (None, -1) if there is None else there[1:]
        if is_fenced(epoch, self._epoch):
            raise self._fenced()
        if is_there(last, batch):
            return
        failpoints.reach("database: begun")
        if self._run.output_mode == "complete":
            cursor.execute(f"DELETE FROM {self._database.name(self._table.name)}")
        self._database.write(cursor, self._table, batches())
        failpoints.reach("database: rows written")
        self._set(cursor, "batch", batch)
        failpoints.reach("database: about to commit")

    @property
    def _name(self) -> str:
        return self._database.name(PROGRESS)

    def _progress(self, cursor: Any) -> tuple[str, int, int] | None:
        mark = self._database.mark
        cursor.execute(
            f"SELECT checkpoint, epoch, batch FROM {self._name} WHERE job = {mark} AND output = {mark}{self._database.lock}", self._who
        )
        row = cursor.fetchone()
        return None if row is None else (row[0], row[1], row[2])

    def _set(self, cursor: Any, column: str, value: int) -> None:
        mark = self._database.mark
        cursor.execute(f"UPDATE {self._name} SET {column} = {mark} WHERE job = {mark} AND output = {mark}", (value, *self._who))

    def _attempt(self, work: Callable[[Any], T]) -> T:
        """Do some work in a transaction, again and again until it is done, or fails for a reason that stays."""
        pause = FIRST_PAUSE
        while True:
            try:
                return self._transaction(work)
            except Exception as error:
                if not self._passes(error):
                    if isinstance(error, self._database.error):
                        raise self._database.explain(error) from None
                    raise
                if pause == FIRST_PAUSE:
                    _log.warning("job %r: %s; it is tried again", self._run.job, self._words(error))
            if self._run.over.wait(pause * random.uniform(0.5, 1)):
                raise JobError(f"{self._run.output}: the run ended while {self._database.title} did not answer", fix="start it again")
            pause = min(pause * 2, LONGEST_PAUSE)

    def _passes(self, error: Exception) -> bool:
        cause = error.__cause__ if isinstance(error, HeadraceError) else error  # of a connection that could not be made
        return isinstance(cause, self._database.error) and self._database.transient(cause)

    def _words(self, error: Exception) -> str:
        return error.what if isinstance(error, HeadraceError) else self._database.explain(error).what

    def _transaction(self, work: Callable[[Any], T]) -> T:
        if self._connection is None:
            self._connection = self._database.connect()
        cursor = self._connection.cursor()
        try:
            cursor.execute(self._database.begin)
            result = work(cursor)
            cursor.execute(self._database.commit)
            return result
        except BaseException:
            # Not only the transaction: what state a connection is in that has failed, its client need not know.
            self.close()
            raise

    def _fenced(self) -> FencedError:
        return FencedError(
            f"FENCED: another run of job {self._run.job!r} has taken over {self._run.output} at {self._database.address}",
            fix="leave that run alone, or stop it and start this one again",
        )

    def _anothers(self) -> JobError:
        job, output = self._who
        return JobError(
            f"{output} at {self._database.address} was written by job {job!r} from another checkpoint: batches would be skipped, or be"
            " there twice",
            fix="put the checkpoint back, or give the job another name; or, to begin anew with an empty table, delete the row of"
            f" job = '{job}' and output = '{output}' from {PROGRESS}",
        )


def is_fenced(epoch: int | None, own: int) -> bool:
    """Whether another run may write, and this one not any more."""
    return epoch != own


def is_there(last: int, batch: int) -> bool:
    """Whether a batch is in the database."""
    return last >= batch


def prepare(database: Database, table: Table, *, make: bool) -> None:
    """Hold a table against the rows, and make what is not there, if so asked; JobError if it is not one for them."""
    connection = database.connect()
    try:
        cursor = connection.cursor()
        cursor.execute(database.begin)
        there = database.compare(cursor, table)
        if make:
            cursor.execute(database.create_progress)
            if not there:
                cursor.execute(database.create(table))
        cursor.execute(database.commit)
    except database.error as error:
        raise database.explain(error) from None
    finally:
        close(connection)


def close(*connections: Any) -> None:
    """Close them, whatever state they are in."""
    for connection in connections:
        try:
            connection.close()
        except Exception:
            _log.debug("a connection could not be closed", exc_info=True)
