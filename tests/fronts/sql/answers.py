"""Queries over streams of a few records, and their answers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import headrace as hr
from headrace.fronts.stream import Stream

EIGHT = datetime(2026, 1, 1, 8, tzinfo=UTC)


def at(minutes: float = 0, seconds: float = 0) -> datetime:
    """So long after eight."""
    return EIGHT + timedelta(minutes=minutes, seconds=seconds)


def answer(query: str, mode: Any = "batch", **names: Any) -> list[tuple[Any, ...]]:
    """The rows of a query, in order; of a stream up to the end of its input."""
    output = hr.sql(query, **names).to.memory()
    hr.Job("query", output).run(mode, **({} if mode == "batch" else {"trigger": hr.finish}))
    return sorted((tuple(_plain(value) for value in row) for row in output.sink.rows), key=str)


def _plain(value: Any) -> Any:
    """Times as minutes and seconds after eight: `08:05` is 5.0."""
    if isinstance(value, datetime):
        return (value.replace(tzinfo=UTC) - EIGHT).total_seconds() / 60
    return value


def bids() -> Stream:
    """Those of the pages of Flink on windows."""
    rows = [(4, "C", 5), (2, "A", 7), (5, "D", 9), (3, "B", 11), (1, "E", 13), (6, "F", 17)]
    return hr.read.memory("price int, item string, at timestamp", [(p, i, at(m)) for p, i, m in rows]).event_time("at", "1 minute")


def ticker(prices: Sequence[int], seconds: float = 1) -> Stream:
    """Prices of one symbol, so many seconds apart."""
    rows = [("x", price, at(seconds=i * seconds)) for i, price in enumerate(prices)]
    return hr.read.memory("symbol string, price int, at timestamp", rows).event_time("at", "1 second")
