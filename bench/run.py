"""Ask the questions of `questions`, one after the other; `python -m bench --help`."""

from __future__ import annotations

import os
import time
from typing import Annotated

import typer

from bench.measuring import host
from bench.questions import (
    bag_size,
    decode,
    decode_speed,
    fraud_batch,
    fraud_end,
    fraud_latency,
    fronts,
    fronts_live,
    highest_rate,
    latency,
    latency_dense,
    latency_short_batches,
    patterns,
    python_latency,
    state_size,
    state_speed,
)
from bench.reporting import plot, report

QUESTIONS = {
    "state_speed": state_speed,
    "decode_speed": decode_speed,
    "decode": decode,
    "latency": latency,
    "latency_short_batches": latency_short_batches,
    "latency_dense": latency_dense,
    "highest_rate": highest_rate,
    "python_latency": python_latency,
    "state_size": state_size,
    "bag_size": bag_size,
    "patterns": patterns,
    "fraud_batch": fraud_batch,
    "fraud_latency": fraud_latency,
    "fraud_end": fraud_end,
    "fronts": fronts,
    "fronts_live": fronts_live,
}


def main(
    names: Annotated[list[str] | None, typer.Argument(help=f"Which of {', '.join(QUESTIONS)}; all if none is named.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: shows that it works, not how fast. Does not touch the results.")
    ] = False,
) -> None:
    """Measure, print a table, and renew bench/results/latest.json, its plot and the table in docs/benchmarks.md."""
    asked = names or list(QUESTIONS)
    if unknown := [name for name in asked if name not in QUESTIONS]:
        raise typer.BadParameter(f"{unknown[0]} is none of {', '.join(QUESTIONS)}")
    place = report.RESULTS / "quick.json" if quick else report.LATEST
    results = report.start(None if quick else report.load(place))
    for i, name in enumerate(asked, 1):
        print(f"[{i}/{len(asked)}] {name}: {(QUESTIONS[name].__doc__ or '').splitlines()[0]}", flush=True)
        begin, load, stolen = time.monotonic(), os.getloadavg()[0], host.stolen_seconds()
        results["results"] |= {answer.name: answer.record() for answer in QUESTIONS[name].ask(quick=quick)}
        # What else ran: here, before it began, and on the host meanwhile, which took cores away. Near 0 on a quiet machine.
        results["machine"]["load_before"][name] = round(load, 1)
        taken = (host.stolen_seconds() - stolen) / (time.monotonic() - begin) / (os.cpu_count() or 1)
        results["machine"]["stolen_percent"][name] = round(100 * taken, 1)
        report.save(results, place)  # each on its own: what is measured is not lost when a later one fails
        print(f"  {time.monotonic() - begin:.0f} s", flush=True)
    plot.save(results, place.with_suffix(".png"))
    if not quick:
        report.DOC.write_text(report.document(results, report.DOC.read_text()))
    report.show(results)
    print(f"{place.relative_to(report.DOC.parents[1])}, and a plot beside it")


if __name__ == "__main__":
    typer.run(main)
