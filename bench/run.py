"""Ask the questions of this directory, one after the other; `python -m bench --help`."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from bench import decode, decode_speed, latency, plot, report, state_size, state_speed

QUESTIONS = {
    "state_speed": state_speed,
    "decode_speed": decode_speed,
    "decode": decode,
    "latency": latency,
    "state_size": state_size,
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
    answers = []
    for i, name in enumerate(asked, 1):
        print(f"[{i}/{len(asked)}] {name}: {(QUESTIONS[name].__doc__ or '').splitlines()[0]}", flush=True)
        start = time.monotonic()
        answers += QUESTIONS[name].ask(quick=quick)
        print(f"  {time.monotonic() - start:.0f} s", flush=True)
    place = report.RESULTS / "quick.json" if quick else report.LATEST
    found = report.merged(None if quick else report.load(place), answers, report.machine())
    report.save(found, place)
    plot.save(found, place.with_suffix(".png"))
    if not quick:
        report.DOC.write_text(report.document(found, report.DOC.read_text()))
    report.show(found)
    print(f"{place.relative_to(report.DOC.parents[1])}, and a plot beside it")


if __name__ == "__main__":
    typer.run(main)
