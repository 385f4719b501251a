"""Results as a table on the terminal, as JSON, as a plot, and as the table in docs/benchmarks.md."""

from __future__ import annotations

import json
import os
import platform
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from headrace.embedded import java

RESULTS = Path(__file__).parents[1] / "results"
LATEST = RESULTS / "latest.json"
DOC = Path(__file__).parents[2] / "docs" / "benchmarks.md"

_BEGIN, _END = "<!-- made by bench/reporting/report.py from bench/results/latest.json -->", "<!-- end -->"

Report = dict[str, Any]


def machine() -> dict[str, Any]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(memory),
        "system": platform.system(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "java": java.find().version,
        **{name: version(name) for name in ("pyspark", "pandas", "pyarrow", "confluent-kafka")},
    }


def start(before: Report | None) -> Report:
    """A report to add results to; those of questions that are not asked again stay."""
    then = before["machine"] if before else {}
    loads = {name: then.get(name, {}) for name in ("load_before", "stolen_percent")}
    return {"machine": {**machine(), **loads}, "results": before["results"] if before else {}}


def save(report: Report, place: Path) -> None:
    place.parent.mkdir(exist_ok=True)
    place.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")


def load(place: Path) -> Report | None:
    return json.loads(place.read_text()) if place.exists() else None


def show(report: Report) -> None:
    table = Table(title="headrace: bench")
    for column in ("question", "value", "unit", "target", "met"):
        table.add_column(column, justify="right" if column == "value" else "left")
    for row in _rows(report):
        style = {"yes": "green", "no": "red"}.get(row[-1], "")
        table.add_row(*row, style=style)
    Console().print(table)


def _rows(report: Report) -> list[tuple[str, str, str, str, str]]:
    words = {True: "yes", False: "no", None: ""}
    return [
        (name, f"{result['value']:,}", result["unit"], result["target"] or "", words[result["met"]])
        for name, result in report["results"].items()
    ]


def markdown(report: Report) -> str:
    """The table of the docs, with what is in the details of the throughput."""
    on = report["machine"]
    lines = [
        _BEGIN,
        f"Measured on {on['cores']} cores and {on['memory_gb']} GB, {on['system']} {on['architecture']}, Java {on['java']}, "
        f"Python {on['python']}, PySpark {on['pyspark']}.",
        "",
        "| name | value | unit | target | met |",
        "|---|---:|---|---|---|",
        *(f"| `{name}` | {value} | {unit} | {target} | {met} |" for name, value, unit, target, met in _rows(report)),
    ]
    rates: dict[str, int] = {}
    for result in report["results"].values():
        rates |= result["details"].get("events_per_s", {})
    lines += ["", "| way | events/s |", "|---|---:|", *(f"| `{way}` | {rate:,} |" for way, rate in rates.items())]
    fronts = [details for result in report["results"].values() if "front" in (details := result["details"])]
    if fronts:
        lines += ["", "| one word count in the words of | mode | sentences/s | p50 ms | p99 ms |", "|---|---|---:|---:|---:|"]
        lines += [
            f"| {of['front']} | {of['mode'].replace('_', '-')} | {of['per_s']:,} | {of.get('p50', '')} | {of.get('p99', '')} |"
            for of in fronts
        ]
    for name, title in (("realtime_max_rate", "events/s in real time"), ("fraud_max_rate", "transactions/s in the demo")):
        if name in report["results"]:
            lines += ["", f"| {title} | p50 ms | p99 ms | max ms |", "|---:|---:|---:|---:|"]
            sweep = report["results"][name]["details"]["sweep"]
            lines += [f"| {step['rate']:,} | {step['p50']} | {step['p99']} | {step['max']} |" for step in sweep]
    return "\n".join([*lines, _END])


def document(report: Report, text: str) -> str:
    """The page with its table renewed."""
    return re.sub(f"{re.escape(_BEGIN)}.*{re.escape(_END)}", lambda _: markdown(report), text, flags=re.DOTALL)
