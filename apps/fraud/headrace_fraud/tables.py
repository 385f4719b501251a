"""The tables of the fraud database, and how a row of a micro-batch is made to fit them.

    alerts    one row for each flagged decision; a row that comes again changes nothing
    windows   one row for each minute and merchant, and one for each minute over all (`merchant` is null); a row that comes again replaces
              the one that is there, unless that one is closed and the new one is not, or counts more transactions

The same statements make them in SQLite and in PostgreSQL. SQLite takes a declared type as a hint only: there a time is text, as it is in
the topics (`2026-02-02T02:40:00.005000Z`), and a boolean is 0 or 1. `rules` are text with commas, so that one query serves both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from headrace.errors import DefinitionError

_ALERTS = """
CREATE TABLE "alerts" (
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
  "distance_km"  DOUBLE PRECISION
)"""

# A null is equal to nothing, so `merchant` cannot be in a key; nor can a text of any length be in PostgreSQL's index.
# `merchant_key` is the digest of the merchant, and '' over all.
_WINDOWS = """
CREATE TABLE "windows" (
  "minute"       TIMESTAMPTZ NOT NULL,
  "merchant_key" TEXT NOT NULL,
  "merchant"     TEXT,
  "transactions" BIGINT NOT NULL,
  "amount"       DOUBLE PRECISION NOT NULL,
  "flagged"      BIGINT NOT NULL,
  "velocity"     BIGINT NOT NULL,
  "amount_rule"  BIGINT NOT NULL,
  "location"     BIGINT NOT NULL,
  "customers"    BIGINT,
  "closed"       BOOLEAN NOT NULL,
  PRIMARY KEY ("minute", "merchant_key")
)"""


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


def count(value: Any) -> int:
    if not 0 <= value < 2**63:
        raise ValueError
    return int(value)


def merchant_key(merchant: str | None) -> str:
    return "" if merchant is None else hashlib.blake2b(merchant.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True)
class Table:
    """A table, what each column takes (in the order of a row), which may be null, and what happens when a key comes again."""

    name: str
    create: tuple[str, ...]
    columns: Mapping[str, Callable[[Any], Any]]
    optional: frozenset[str]
    key: tuple[str, ...]
    derived: Mapping[str, Callable[[dict[str, Any]], Any]]
    # Of two rows with one key, the one with the greater of these holds, and of equals the later; without any, the first holds.
    newest_by: tuple[str, ...] = ()

    @property
    def stored(self) -> tuple[str, ...]:
        return (*self.columns, *self.derived)

    @property
    def on_conflict(self) -> str:
        if not self.newest_by:
            return f"ON CONFLICT ({quoted(self.key)}) DO NOTHING"
        replaced = ", ".join(f'"{name}" = excluded."{name}"' for name in self.stored if name not in self.key)
        new, old = (", ".join(f'{side}."{name}"' for name in self.newest_by) for side in ("excluded", f'"{self.name}"'))
        return f"ON CONFLICT ({quoted(self.key)}) DO UPDATE SET {replaced} WHERE ({new}) >= ({old})"

    def fit(self, row: Any) -> tuple[Any, ...]:
        """The values of a row (a mapping, a Spark row, or a tuple in the order of `columns`) in the order of `stored`."""
        given = self._named(row)
        fitted: dict[str, Any] = {}
        for name, convert in self.columns.items():
            value = given.get(name)
            if value is None and name not in self.optional:
                raise DefinitionError(f"a row for the table {self.name} has no {name}", fix=f"give {', '.join(self.columns)}")
            try:
                fitted[name] = None if value is None else convert(value)
            except (TypeError, ValueError, OverflowError):
                raise DefinitionError(
                    f"a row for the table {self.name} has a value for {name} that does not fit: a {type(value).__name__}",
                    fix="times are text with their zone or datetimes that know it; text is str, rules a list of it, the rest are numbers",
                ) from None
        return (*fitted.values(), *(derive(fitted) for derive in self.derived.values()))

    def _named(self, row: Any) -> Mapping[str, Any]:
        if isinstance(row, Mapping):
            return row
        if hasattr(row, "asDict"):
            by_name: dict[str, Any] = row.asDict()
            return by_name
        if len(row) != len(self.columns):
            raise DefinitionError(
                f"a row for the table {self.name} has {len(row)} values instead of {len(self.columns)}",
                fix=f"give {', '.join(self.columns)}",
            )
        return dict(zip(self.columns, row, strict=True))


def quoted(columns: tuple[str, ...]) -> str:
    return ", ".join(f'"{name}"' for name in columns)


ALERTS = Table(
    name="alerts",
    create=(_ALERTS, 'CREATE INDEX "alerts_by_time" ON "alerts" ("ts")'),
    columns={
        "id": text, "tx_id": text, "customer": text, "ts": time, "amount": float, "merchant": text, "card": text, "rules": names,
        "gap_s": float, "previous_max": float, "distance_km": float,
    },
    optional=frozenset({"card", "gap_s", "previous_max", "distance_km"}),
    key=("id",),
    derived={},
)  # fmt: skip

WINDOWS = Table(
    name="windows",
    create=(_WINDOWS,),
    columns={
        "minute": time, "merchant": text, "transactions": count, "amount": float, "flagged": count, "velocity": count, "amount_rule": count,
        "location": count, "customers": count, "closed": bool,
    },
    optional=frozenset({"merchant", "customers"}),
    key=("minute", "merchant_key"),
    derived={"merchant_key": lambda row: merchant_key(row["merchant"])},
    newest_by=("closed", "transactions"),
)  # fmt: skip

TABLES = (ALERTS, WINDOWS)
