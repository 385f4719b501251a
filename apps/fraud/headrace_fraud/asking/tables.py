"""Decisions as a table of SQL: they are in Parquet files, and for one question in a temporary table.

The same statement makes it in SQLite and in PostgreSQL. SQLite takes a declared type as a hint only: there a time is text, as it is in the
topics (`2026-02-02T02:40:00.005000Z`), and a boolean is 0 or 1. `rules` are text with commas, so that one query serves both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

CREATE = """
CREATE TEMPORARY TABLE "decisions" (
  "id"           TEXT PRIMARY KEY,
  "tx_id"        TEXT NOT NULL,
  "customer"     TEXT NOT NULL,
  "ts"           TIMESTAMPTZ NOT NULL,
  "amount"       DOUBLE PRECISION NOT NULL,
  "merchant"     TEXT NOT NULL,
  "card"         TEXT,
  "rules"        TEXT NOT NULL,
  "gap_s"        DOUBLE PRECISION,
  "previous_max" DOUBLE PRECISION,
  "distance_km"  DOUBLE PRECISION,
  "flagged"      BOOLEAN NOT NULL
)"""
EACH_ONCE = 'ON CONFLICT ("id") DO NOTHING'


def text(value: Any) -> str:
    """Text that both databases take: PostgreSQL has no NUL, and neither has half of a surrogate pair."""
    if not isinstance(value, str):
        raise TypeError
    return value.replace("\0", "\u2400").encode("utf-8", "replace").decode()


def time(value: Any) -> str:
    """UTC with microseconds, from such a text or a datetime that knows its zone: one that does not may mean any time."""
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def names(value: Any) -> str:
    """The broken rules as one text: `velocity,location`."""
    return text(value if isinstance(value, str) else ",".join(value))


COLUMNS: Mapping[str, Callable[[Any], Any]] = {
    "id": text, "tx_id": text, "customer": text, "ts": time, "amount": float, "merchant": text, "card": text, "rules": names,
    "gap_s": float, "previous_max": float, "distance_km": float, "flagged": bool,
}  # fmt: skip
"""What makes a value fit its column."""


def fit(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """The values of a decision, in the order of the columns."""
    return tuple(None if row[name] is None else convert(row[name]) for name, convert in COLUMNS.items())


def quoted() -> str:
    return ", ".join(f'"{name}"' for name in COLUMNS)
