"""A running job as a table, at any width: what does not fit beside the other numbers goes below them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Group
from rich.table import Table
from rich.text import Text

from headrace.planning.table import Mode
from headrace.run.reports import summaries
from headrace.run.reports.messages import Notice, unanswered
from headrace.run.reports.snapshots import Snapshot
from headrace.run.running import State

_WIDE = 120
"""How many columns a terminal must have for all numbers in one line."""


@dataclass(frozen=True)
class View:
    """What is shown of a job: `notes` say what does not change."""

    job: str
    mode: Mode
    notes: tuple[str, ...]

    def __call__(self, width: int, state: State, queries: Sequence[Snapshot], news: Sequence[Text] = ()) -> Group:
        more = [number for number in _MORE if any(number.text(query) for query in queries)]
        columns = [*_NUMBERS[self.mode], *(more if width >= _WIDE else [])]
        return Group(
            Text.assemble((f"{self.job}, {self.mode}", "bold"), f"  {state}"),
            _table(columns, queries),
            *([] if width >= _WIDE else _below(more, queries)),
            *(Text(note, style="dim") for note in self.notes),
            *news,
        )


def outages(notices: Sequence[Notice]) -> list[Text]:
    """Of what does not answer now, that it does not."""
    return [Text(str(notice), style="bold red") for notice in unanswered(notices)]


@dataclass(frozen=True)
class _Number:
    title: str
    text: Callable[[Snapshot], str]
    style: Callable[[Snapshot], str] = lambda _: ""


_BATCH = _Number("batch", lambda query: str(query.batch))
_RATE = _Number("records/s", summaries.rate)
_BEHIND = _Number("behind", summaries.lag, lambda query: "" if query.lag is None else "yellow" if query.lag else "green")
_TOOK = _Number("batch took", lambda query: "–" if query.seconds is None else f"{query.seconds:,.2f} s")
_SAVED = _Number("saved", lambda query: "not yet" if query.saved is None else f"{query.saved:,.0f} s ago")
_LATENCY = _Number("latency p50 / p99", summaries.latency)

_NUMBERS: dict[Mode, list[_Number]] = {
    "micro-batch": [_BATCH, _RATE, _BEHIND, _TOOK, _LATENCY],
    "real-time": [_BATCH, _RATE, _BEHIND, _SAVED, _LATENCY],
}

# What only some queries have.
_MORE = [
    _Number("state", lambda query: summaries.state(query) if query.state_rows else ""),
    _Number("watermark", lambda query: (query.watermark or "").replace("T", " ").removesuffix(".000Z")),
    _Number("too late", lambda query: f"{query.late_rows:,} rows" if query.late_rows else "", lambda _: "yellow"),
]


def _table(columns: Sequence[_Number], queries: Sequence[Snapshot]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("output", overflow="fold")
    for number in columns:
        table.add_column(number.title, justify="right", no_wrap=True)
    for query in queries:
        table.add_row(query.query, *(Text(number.text(query), style=number.style(query)) for number in columns))
    return table


def _below(numbers: Sequence[_Number], queries: Sequence[Snapshot]) -> list[Text]:
    return [
        Text(f"  {query.query}: {number.title} {text}", style=number.style(query))
        for query in queries
        for number in numbers
        if (text := number.text(query))
    ]
