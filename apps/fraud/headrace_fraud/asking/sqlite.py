"""SQLite's errors in words, for who asks what is stored there."""

from __future__ import annotations

import sqlite3

from headrace.errors import HeadraceError, JobError, SetupError


def explain(error: sqlite3.Error, place: str, patience_s: float) -> HeadraceError:
    """SQLite's error in words."""
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return JobError(
                f"the database {place} was locked by another process for more than {patience_s:g} s",
                fix="end the process that holds it: a transaction that was left open, or a backup",
            )
        case sqlite3.SQLITE_NOTADB:
            return SetupError(f"the file {place} is not a SQLite database", fix="name another file; this one was left as it is")
        case sqlite3.SQLITE_CORRUPT:
            return JobError(f"the database {place} is damaged", fix="move it away: the topics still hold what was in it")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return SetupError(
                f"the database {place} cannot be written, or the directory that it is in", fix="give a place that this user may write to"
            )
        case sqlite3.SQLITE_FULL:
            return JobError(f"the disk of the database {place} is full", fix="make room, then start the job again: nothing is lost")
        case _:
            return JobError(f"the database {place} failed: {error}", fix="mend that, then start the job again: nothing is lost")
