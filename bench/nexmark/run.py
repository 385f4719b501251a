"""Judge the queries, measure them, and show both as a table; `python -m bench.nexmark --help`."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from bench.measuring import processes
from bench.nexmark import speed, table
from bench.nexmark.equality import differences
from bench.nexmark.generator import Pace
from bench.nexmark.inputs import Input
from bench.nexmark.queries import QUERIES
from bench.reporting import report
from bench.reporting.answers import say

STATELESS = ("q0", "q1", "q2", "q14", "q21", "q22")
GOALS = {name: 100_000 if name in STATELESS else 30_000 for name in QUERIES}
"""Events a second that one core shall do."""

# Half a minute of events, in the middle of which a day ends, or the working day begins.
STARTS = {"in order": datetime(2026, 1, 1, 23, 59, 45, tzinfo=UTC), "disordered": datetime(2026, 1, 1, 7, 59, 45, tzinfo=UTC)}
JUDGED, JUDGED_QUICKLY = 30_000, 5_000


def main(
    names: Annotated[list[str] | None, typer.Argument(help="q0 to q23, cep0 to cep3; all if none is named.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes: shows that it works, not how fast.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Compare each query with DuckDB, in order and disordered, and measure how many events a second it takes."""
    asked = names or [*QUERIES]
    if unknown := [name for name in asked if name not in QUERIES]:
        raise typer.BadParameter(f"{unknown[0]} is none of {', '.join(QUERIES)}")
    size, place = speed.QUICK if quick else speed.FULL, report.RESULTS / ("nexmark-quick.json" if quick else "nexmark.json")
    before = {} if quick else (report.load(place) or {"queries": {}})["queries"]
    equal = processes.run(judge, asked, JUDGED_QUICKLY if quick else JUDGED).value
    results: dict[str, Any] = {"machine": report.machine(), "queries": before}
    for name in asked:
        load = os.getloadavg()[0]
        done = processes.run(speed.measure, name, size)
        results["queries"][name] = {
            "title": QUERIES[name].title, "goal": GOALS[name], "unequal": equal[name], "real_time": QUERIES[name].real_time,
            "peak_mb": done.peak_mb, "load_before": round(load, 1), **asdict(done.value),
        }  # fmt: skip
        results["queries"] = {known: results["queries"][known] for known in QUERIES if known in results["queries"]}
        report.save(results, place)  # what is measured is not lost when a later one fails
        if not as_json:
            say(f"{name}: {done.value.per_core:,} events/s per core")
    if not quick:
        table.DOC.write_text(table.document(results, table.DOC.read_text()))
    if as_json:
        print(json.dumps(results, indent=1))
    else:
        table.show(results)


def judge(names: list[str], count: int) -> dict[str, dict[str, str]]:
    """For each query what is unequal, by the order of the events; empty if nothing is."""
    os.environ["TZ"] = "UTC"  # PySpark hands times out in the zone of the process
    time.tzset()
    unequal: dict[str, dict[str, str]] = {name: {} for name in names}
    for order, start in STARTS.items():
        events = Input.of(count, Pace(1_000, start), disordered=order == "disordered")
        for name, one in differences(events, names, "micro-batch").items():
            unequal[name] |= {order: str(one)} if one else {}
    return unequal
