"""All queries, by name."""

from __future__ import annotations

from bench.nexmark.queries import auctions, joins, patterns, single, totals, windows
from bench.nexmark.query import Queries

QUERIES: Queries = {
    **single.QUERIES, **joins.QUERIES, **auctions.QUERIES, **windows.QUERIES, **totals.QUERIES, **patterns.QUERIES,
}  # fmt: skip
