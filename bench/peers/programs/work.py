"""The work of one record in plain Python: what is remembered of its customer, and the record, give what to remember and a row.

count   how many transactions the customer has had, with this one
rules   those of `bench/work/rules.py`: the amount is greater than any before; the one before was at most ten seconds ago
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

PAUSE = 10_000  # milliseconds
Memory = Any
Record = dict[str, Any]


def count(memory: Memory, record: Record) -> tuple[Memory, Record]:
    n = (memory or 0) + 1
    return n, {"customer": record["customer"], "n": n, "due": record["due"]}


def rules(memory: Memory, record: Record) -> tuple[Memory, Record]:
    amount, at = record["amount"], round(datetime.fromisoformat(record["ts"]).timestamp() * 1000)
    high, quick, most = False, False, amount
    if memory is not None:
        most, previous = memory
        high, quick, most = amount > most, at - previous <= PAUSE, max(amount, most)
    return (most, at), {"tx_id": record["tx_id"], "customer": record["customer"], "high": high, "quick": quick}


STEPS: dict[str, Callable[[Memory, Record], tuple[Memory, Record]]] = {"count": count, "rules": rules}

# Each producer waits this long for company, in milliseconds: little where latency counts.
LINGER = {"count": 2, "rules": 20}
EVERY = 10
"""Seconds from one save to the next, where a system lets it be said."""
