"""`python -m bench.peers`: the same work on headrace and on others, one after the other in one run, answers equal first.

    latency     the keyed count at 200, 1,000 and 3,000 records a second: `latency.py`
    throughput  two rules over a full topic: `throughput.py`

JSON in and JSON out, Kafka to Kafka, two partitions in, two threads or processes, state in RocksDB where a system has it, and where it lets
it be said: the producer waits 2 ms for company (20 for the rules), and what is done is saved every ten seconds, at-least-once.

What cannot be had on this machine (jars, a compiler, an environment) is left out with a word.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

import typer

from bench.measuring import host
from bench.peers import latency, picture, tables, throughput
from bench.peers.registry import SYSTEMS, Entry
from bench.peers.systems import MissingError, Work
from bench.reporting.answers import say

RATES = [200, 1_000, 3_000]


def main(
    names: Annotated[list[str] | None, typer.Argument(help=f"Which of {'; '.join(SYSTEMS)}. All, if none is named.")] = None,
    rate: Annotated[list[int] | None, typer.Option(help="Records a second of the latency; may be given more than once.")] = None,
    warm_up: int = 60,
    seconds: int = 120,
    records: Annotated[int, typer.Option(help="Of the throughput; a slow system gets a share.")] = throughput.RECORDS,
    only: Annotated[str, typer.Option(help="latency, throughput, or prepare: fetch what is needed, and measure nothing.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes: shows that it works. Does not touch the results.")] = False,
) -> None:
    """Measure, print, and renew bench/results/peers.json, and the tables and the picture in docs/benchmarks.md."""
    entries = _ready({name: SYSTEMS[name] for name in names or SYSTEMS})
    keep = _forget if quick else tables.keep
    if quick:
        warm_up, seconds, records = 15, 10, 60_000
    if only in ("", "throughput"):
        _throughput(entries, records, keep)
    if only in ("", "latency"):
        for each in rate or RATES:
            for name, entry in _of("count", entries):
                measured = _measured(partial(latency.measure, entry.system, each, warm_up, seconds))
                say(f"{name}, {each:,} a second: {measured['all']}")
                keep("latency", str(each), name, measured)
        if not quick:
            picture.save(tables.load())


def _throughput(entries: dict[str, Entry], records: int, keep: Callable[..., None]) -> None:
    mine = dict(_of("rules", entries))
    sizes = {name: round(records * entry.share) for name, entry in mine.items()}
    with throughput.filled(sorted(set(sizes.values()))) as inputs:
        for name, entry in mine.items():
            measured = _measured(partial(throughput.measure, entry.system, inputs[sizes[name]]))
            say(f"{name}: {measured['events_per_s']:,} events/s")
            keep("throughput", name, measured)


def _forget(*_: Any) -> None:
    pass


def _of(work: Work, entries: dict[str, Entry]) -> Iterator[tuple[str, Entry]]:
    return ((name, entry) for name, entry in entries.items() if work in entry.works)


def _ready(entries: dict[str, Entry]) -> dict[str, Entry]:
    """Those that can be had."""
    ready = {}
    for name, entry in entries.items():
        try:
            entry.system.prepare()
            ready[name] = entry
        except MissingError as reason:
            say(f"{name} is left out: {reason}")
    return ready


def _measured(measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """With what else ran: here, before it began, and on the host meanwhile."""
    at, begin, load, stolen = datetime.now(UTC), time.monotonic(), os.getloadavg()[0], host.stolen_seconds()
    finding = measure()
    taken = (host.stolen_seconds() - stolen) / (time.monotonic() - begin) / (os.cpu_count() or 1)
    loads = {"load_before": round(load, 1), "load_after": round(os.getloadavg()[0], 1), "stolen_percent": round(100 * taken, 1)}
    return {**finding, "at": at.isoformat(timespec="seconds"), **loads}


if __name__ == "__main__":
    typer.run(main)
