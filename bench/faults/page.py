"""The numbers of docs/faults.md, made from what was found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.faults import results
from bench.faults.results import Round

ROOT = Path(__file__).parents[2]
LATEST, PAGE = ROOT / "bench" / "results" / "faults.json", ROOT / "docs" / "faults.md"
BEGIN, END = "<!-- made by bench/faults/page.py from bench/results/faults.json -->\n", "<!-- the end of what is made -->\n"
OF_THE_DRIVER = ("kill -9 of the driver", "kill -9 as it starts", "kill -9 at a named line")


def publish(rounds: list[Round]) -> None:
    """Keep it beside what was kept before, and write the page anew."""
    LATEST.write_text(json.dumps(totals := results.added(json.loads(LATEST.read_text()), rounds), indent=1) + "\n")
    PAGE.write_text(document(totals, PAGE.read_text()))


def document(totals: dict[str, Any], page: str) -> str:
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{markdown(totals)}\n{END}{after}"


def markdown(totals: dict[str, Any]) -> str:
    rows = [
        f"| {line['fault']} | {line['times']} | {line['missing']} | {line['extra']} | {line['twice']} | {_number(line['median_seconds'])}"
        f" | {_number(line['worst_seconds'])} |"
        for line in totals["faults"]
    ]
    rounds, sums = totals["rounds"], totals["sums"]
    dates = sorted({each["date"][:10] for each in rounds})
    kills = sum(line["times"] for line in totals["faults"] if line["fault"] in OF_THE_DRIVER)
    within = sum(
        number for line in totals["faults"] for where, number in line["where"].items() if line["fault"] in OF_THE_DRIVER and _within(where)
    )
    bad = [f"{each['seed']} ({each['error'] or 'see the table'})" for each in rounds if not each["good"]]
    return "\n".join(
        [
            "| fault | times | missing | extra | twice | seconds to recover: median | worst |",
            "|---|---:|---:|---:|---:|---:|---:|",
            *rows,
            "",
            f"Run on {' and '.join(dates)}, {len(rounds)} rounds of the seeds {', '.join(str(each['seed']) for each in rounds)};"
            f" not good: {', '.join(bad) or 'none'}. {totals['acknowledged']:,} payments were acknowledged ="
            f" {' + '.join(f'{number:,} {name}' for name, number in sums.items())}.",
            "",
            f"The driver of the job with three sinks was killed {kills} times, which are {3 * kills} kills of a sink; {within} times it was"
            f" within a batch. Without a failure in n kills, the rate of failures is below 3/n with a certainty of 95 %:"
            f" here {3 / kills:.1%} of the kills.",
            "",
        ]
    )


def _within(where: str) -> bool:
    return where.startswith(("within", "batch:", "kafka:", "database:", "files:"))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
