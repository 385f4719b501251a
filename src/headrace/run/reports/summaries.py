"""A running job in few words: for a prompt, and as a table for a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from headrace.run.reports.snapshots import Snapshot


def line(job: str, mode: str, state: str, queries: Sequence[Snapshot]) -> str:
    """`<Running 'alerts', real-time, running: alerts (batch 3, 1,204 records/s, 0 behind)>`"""
    known = "; ".join(f"{query.query} ({words(query)})" for query in queries)
    return f"<Running {job!r}, {mode}, {state}{': ' if known else ''}{known}>"


def words(query: Snapshot) -> str:
    """`batch 3, 1,204 records/s, 0 behind`"""
    parts = [f"batch {query.batch}" if query.batch >= 0 else "no batch yet"]
    if query.rate is not None:
        parts.append(f"{query.rate:,.0f} records/s")
    if query.lag is not None:
        parts.append(f"{query.lag:,} behind")
    return ", ".join(parts)


def table(job: str, mode: str, state: str, queries: Sequence[Snapshot]) -> str:
    """The same and a little more, as HTML."""
    rows = [[escape(cell) for cell in cells(query)] for query in queries]
    head = "".join(f"<th>{name}</th>" for name in ("output", "batch", "records/s", "behind", "latency p50 / p99", "state"))
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    title = f"<b>{escape(job)}</b>, {escape(mode)}, {escape(state)}"
    return f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def cells(query: Snapshot) -> list[str]:
    return [query.query, str(query.batch) if query.batch >= 0 else "–", rate(query), lag(query), latency(query), state(query)]


def rate(query: Snapshot) -> str:
    return "–" if query.rate is None else f"{query.rate:,.0f}"


def lag(query: Snapshot) -> str:
    return "–" if query.lag is None else f"{query.lag:,}"


def latency(query: Snapshot) -> str:
    return "–" if query.latency_ms is None else f"{query.latency_ms:,.0f} / {query.latency_p99_ms:,.0f} ms"


def state(query: Snapshot) -> str:
    return f"{query.state_rows:,} rows, {_size(query.state_bytes)}" if query.state_rows else "–"


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
