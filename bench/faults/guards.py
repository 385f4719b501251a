"""What keeps each row there once. Any of it can be taken away from the job, and the faults must then be seen."""

from __future__ import annotations

from typing import Any

from headrace.io.database import transactions
from headrace.io.database.sqlite import SQLite
from headrace.run.writing import Writers


def _number() -> None:
    """A batch that a sink has already is written again."""

    def write(self: Writers, output: Any, frame: Any, batch: int) -> None:
        self._open[output.name].write(frame, batch)

    Writers.write = write  # type: ignore[method-assign]
    transactions.is_there = lambda last, batch: False  # noqa: ARG005


def _transaction() -> None:
    """Each statement is there at once."""
    SQLite.begin = SQLite.commit = "SELECT 1"


GUARDS = {"number": _number, "transaction": _transaction}
