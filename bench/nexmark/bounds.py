"""Does the state stay as large as it is, however long the stream?

    .venv/bin/python -m bench.nexmark.bounds             # ten million events through each operator that says that it forgets
    .venv/bin/python -m bench.nexmark.bounds sessions distinct

Each operator over Nexmark's events, made in the process as fast as it takes them. The state's rows are those that Spark reports at the end
of each micro-batch. Bounded means: in the last third of the run at most a tenth more than in the second third.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from typing import Annotated, Any

import typer

from bench.measuring import processes
from bench.nexmark import speed
from bench.nexmark.events import bids, view
from bench.nexmark.generator import DELAY
from bench.nexmark.queries import QUERIES
from bench.reporting import report
from bench.reporting.answers import say
from headrace import Stream

PLACE = report.RESULTS / "bounds.json"


def opening_bids(events: Stream) -> Stream:
    """Bids of the first two seconds of an auction."""
    return auctions(events).join(timed_bids(events), on="auction", between=("0 seconds", "2 seconds"))


def latest_auction(events: Stream) -> Stream:
    return timed_bids(events).as_of(auctions(events), on="auction", tolerance="2 seconds")


def once_in_ten_seconds(events: Stream) -> Stream:
    return bids(events).key_by("auction", "bidder").distinct(within="10 seconds", event_time="dateTime", delay=DELAY)


def five_a_second(events: Stream) -> Stream:
    return bids(events).key_by("bidder").rate_limit(5, "1 second", event_time="dateTime", delay=DELAY, idle="10 seconds")


def auctions(events: Stream) -> Stream:
    return view(events, "auction").select("dateTime", "id", "seller").rename(id="auction", dateTime="opened").event_time("opened", DELAY)


def timed_bids(events: Stream) -> Stream:
    return bids(events).select("dateTime", "auction", "price").event_time("dateTime", DELAY)


PROGRAMS: dict[str, Callable[[Stream], Stream]] = {
    "tumbling": QUERIES["q7"].program,
    "sliding-top": QUERIES["q5"].program,
    "sessions": QUERIES["q11"].program,
    "alarms": QUERIES["q9"].program,
    "join": opening_bids,
    "as-of": latest_auction,
    "distinct": once_in_ten_seconds,
    "rate-limit": five_a_second,
    "pattern": QUERIES["cep3"].program,
}


def main(
    names: Annotated[list[str] | None, typer.Argument(help=f"{', '.join(PROGRAMS)}; all if none is named.")] = None,
    events: Annotated[int, typer.Option(help="So many.")] = 10_000_000,
    batch: Annotated[int, typer.Option(help="In micro-batches of so many.")] = 500_000,
) -> None:
    """Run each operator over many events, and say how many rows its state held."""
    known: dict[str, Any] = report.load(PLACE) or {}
    grown: list[str] = []
    for name in names or PROGRAMS:
        load = os.getloadavg()[0]
        done = processes.run(rows, name, events // batch, batch)
        third = len(done.value) // 3
        second, last = max(done.value[third : 2 * third]), max(done.value[2 * third :])
        bounded = last <= 1.1 * second
        grown += [] if bounded else [name]
        known[name] = {
            "events": events, "batch": batch, "bounded": bounded, "most_in_second_third": second, "most_in_last_third": last,
            "peak_mb": done.peak_mb, "rows": done.value, "load_before": round(load, 1),
        }  # fmt: skip
        report.save(known, PLACE)
        say(f"{name}: {json.dumps(known[name])}")
    raise typer.Exit(len(grown))


def rows(name: str, batches: int, batch: int) -> list[int]:
    """The rows of all states after each micro-batch."""
    with tempfile.TemporaryDirectory(prefix="headrace-bench-", ignore_cleanup_errors=True) as checkpoint:
        writer = speed.stream(PROGRAMS[name], batch).writeStream.format("noop").outputMode("update")
        query = writer.option("checkpointLocation", checkpoint).start()
        reports: dict[int, Any] = {}
        while len(reports) < batches:
            query.awaitTermination(1)
            reports |= {report["batchId"]: report["stateOperators"] for report in query.recentProgress if report["numInputRows"]}
        query.stop()
    return [sum(state["numRowsTotal"] for state in reports[number]) for number in sorted(reports)[:batches]]


if __name__ == "__main__":
    typer.run(main)
