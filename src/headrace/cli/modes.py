"""The support table, for people, for the reference page and for machines."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich import box
from rich.table import Table

from headrace.planning.fronts import FRONTS
from headrace.planning.table import MODES, OPERATORS, SINKS, SOURCES, No, Row, Yes

PARTS: dict[str, tuple[Row, ...]] = {"source": SOURCES, "operator": OPERATORS, "sink": SINKS, "front": FRONTS}


def rich_table() -> Table:
    table = Table("", *MODES, box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for part, rows in PARTS.items():
        table.add_row(f"[bold]{part}s[/]")
        for row in rows:
            table.add_row(f"  {row.name}", *(_coloured(row.cell(mode)) for mode in MODES), end_section=row is rows[-1])
    return table


def _coloured(cell: Yes | No) -> str:
    return f"[green]{cell.words}[/]" if isinstance(cell, Yes) else f"[red]no[/], {cell.reason}"


def markdown() -> str:
    """The reference page."""
    lines = [_HEAD]
    for part, rows in PARTS.items():
        lines += [f"## {part.capitalize()}s", "", f"| {part} | {' | '.join(MODES)} |", "|---" * (len(MODES) + 1) + "|"]
        lines += [f"| {row.name} | {' | '.join(_plain(row.cell(mode)) for mode in MODES)} |" for row in rows]
        lines.append("")
    return "\n".join(lines)


def _plain(cell: Yes | No) -> str:
    return cell.words if isinstance(cell, Yes) else f"**no**: {cell.reason}; {cell.fix}"


def records() -> list[dict[str, Any]]:
    """One record for each row and mode."""
    return [
        {"part": part, "name": row.name, "mode": mode, "works": isinstance(row.cell(mode), Yes), **asdict(row.cell(mode))}
        for part, rows in PARTS.items()
        for row in rows
        for mode in MODES
    ]


_HEAD = """\
# What works in which mode

The mode is chosen when a job runs. Before it starts, the job is held against this table; what a mode does not have is refused with the
reason and the way out. A function of your own is recognised in Spark's plan: it is judged by what it does, not by its name.

A guarantee is that of the weakest link: a source that replays and a sink that is exactly-once make an exactly-once job. A program of a
front has no more than its operators have.

This page is made by `headrace modes --markdown`.
"""
