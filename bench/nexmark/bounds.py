"""Does the state stay as large as it is, however long the stream?

    .venv/bin/python -m bench.nexmark.bounds             # those that say that they forget; ten million events each
    .venv/bin/python -m bench.nexmark.bounds q7 q8

Queries that forget what time has passed: windows, sessions, winning bids, patterns within a time. The state's rows are those that Spark
reports at the end of each micro-batch. Bounded means: in the last third of the run at most a tenth more than at most in the second third.
"""

from __future__ import annotations

import tempfile
from typing import Annotated, Any

import typer

from bench import processes
from bench.answers import say
from bench.nexmark import speed

FORGETTING = ("q5", "q7", "q8", "q9", "q11", "cep3")


def main(
    names: Annotated[list[str] | None, typer.Argument(help=f"{', '.join(FORGETTING)} if none is named.")] = None,
    events: Annotated[int, typer.Option(help="So many.")] = 10_000_000,
    batch: Annotated[int, typer.Option(help="In micro-batches of so many.")] = 500_000,
) -> None:
    """Run each query over many events, and say how many rows its state held."""
    grown = []
    for name in names or FORGETTING:
        done = processes.run(rows, name, events // batch, batch)
        second, last = done.value[len(done.value) // 3 : len(done.value) * 2 // 3], done.value[len(done.value) * 2 // 3 :]
        bounded = max(last) <= 1.1 * max(second)
        grown += [] if bounded else [name]
        said = f"{max(second):,} rows at most in the second third, {max(last):,} in the last: {'bounded' if bounded else 'it grows'}"
        say(f"{name}: {events:,} events, {said}; peak {done.peak_mb:,} MB; after each batch {done.value}")
    raise typer.Exit(len(grown))


def rows(name: str, batches: int, batch: int) -> list[int]:
    """The rows of all states after each micro-batch."""
    with tempfile.TemporaryDirectory(prefix="headrace-bench-", ignore_cleanup_errors=True) as checkpoint:
        writer = speed.stream(name, batch).writeStream.format("noop").outputMode("update")
        query = writer.option("checkpointLocation", checkpoint).start()
        reports: dict[int, Any] = {}
        while len(reports) < batches:
            query.awaitTermination(1)
            reports |= {report["batchId"]: report["stateOperators"] for report in query.recentProgress if report["numInputRows"]}
        query.stop()
    return [sum(state["numRowsTotal"] for state in reports[number]) for number in sorted(reports)]


if __name__ == "__main__":
    typer.run(main)
