"""What outlives the process of a topology: the txid and attempt that it is at, and what must be remembered of each spout.

Storm keeps these in ZooKeeper. Here it is one small SQLite file in the topology's home, or memory if it has none.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headrace.errors import JobError


class Journal:
    """The journal of one topology. What is written in one call is there all or not at all, also after kill -9."""

    def __init__(self, home: str | Path | None, topology: str) -> None:
        if home is not None:
            Path(home).mkdir(parents=True, exist_ok=True)
        place = ":memory:" if home is None else str(Path(home) / f"{topology}.db")
        self._connection = sqlite3.connect(place, timeout=1, isolation_level=None, check_same_thread=False)
        try:
            self._connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # one process at a time: two would both run the next batch
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute("CREATE TABLE IF NOT EXISTS journal (name TEXT PRIMARY KEY, value TEXT)")
            self._connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            self._connection.close()
            raise JobError(
                f"the journal of {topology!r}, {place}, cannot be used: {error}",
                fix="stop the process that runs this topology, or give the topology another home",
            ) from None

    def at(self) -> tuple[int, int]:
        """The txid to run next, and how many attempts of it have begun."""
        txid, attempts = self.get("at") or (1, 0)
        return txid, attempts

    def get(self, name: str) -> Any:
        """What was remembered last under that name; None if nothing."""
        row = self._connection.execute("SELECT value FROM journal WHERE name = ?", (name,)).fetchone()
        return None if row is None else json.loads(row[0])

    def write(self, txid: int, attempts: int, spouts: Mapping[str, Any]) -> None:
        """Where the topology is, and what each spout must remember, in one transaction."""
        values = {"at": (txid, attempts)} | {f"spout {name}": value for name, value in spouts.items()}
        self._connection.execute("BEGIN IMMEDIATE")
        for name, value in values.items():
            self._connection.execute("INSERT OR REPLACE INTO journal VALUES (?, ?)", (name, json.dumps(value)))
        self._connection.execute("COMMIT")

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()
