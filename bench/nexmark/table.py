"""What a run has found: as a table on the terminal, and on the page of the documentation."""

from __future__ import annotations

import re
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.reporting import report

LATEST = report.RESULTS / "nexmark.json"
DOC = report.DOC.with_name("nexmark.md")

_BEGIN, _END = "<!-- made by bench/nexmark/table.py from bench/results/nexmark.json -->", "<!-- end -->"
_HEAD = ("query", "what is asked", "events/s", "events/s per core", "goal", "peak MB", "rows kept", "load", "equal", "real time")

Results = dict[str, Any]


def show(results: Results) -> None:
    table = Table(title="Nexmark")
    for column in _HEAD:
        table.add_column(column, justify="right" if column in _HEAD[2:8] else "left")
    for name, of in results["queries"].items():
        table.add_row(*_row(name, of), style="red" if of["unequal"] else "yellow" if of["per_core"] < of["goal"] else "green")
    Console().print(table)


def markdown(results: Results) -> str:
    on = results["machine"]
    rows = [f"| {' | '.join(_row(name, of))} |" for name, of in results["queries"].items()]
    return "\n".join([
        _BEGIN,
        f"Measured on {on['cores']} cores and {on['memory_gb']} GB, Java {on['java']}, PySpark {on['pyspark']}.",
        "", f"| {' | '.join(_HEAD)} |", "|---|---|---:|---:|---:|---:|---:|---:|---|---|", *rows, _END,
    ])  # fmt: skip


def document(results: Results, text: str) -> str:
    """The page with its table renewed."""
    return re.sub(f"{re.escape(_BEGIN)}.*{re.escape(_END)}", lambda _: markdown(results), text, flags=re.DOTALL)


def _row(name: str, of: Results) -> list[str]:
    equal = "yes" if not of["unequal"] else f"not {' and '.join(of['unequal'])}"
    numbers = (
        of["events_per_s"],
        of["per_core"],
        of["goal"],
        of["peak_mb"],
        sum(state["rows"] for state in of["state"]),
        of["load_before"],
    )
    return [name, of["title"], *("" if number is None else f"{number:,}" for number in numbers), equal, "no" if of["real_time"] else "yes"]
