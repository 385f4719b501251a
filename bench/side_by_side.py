"""Ways of about the same speed, told apart: all at the same time, a core each, and in the next round each on another core.

Where others use the machine, too, one way after the other says little: two ways gave ratios from 0.96 to 1.74 within an hour. At the same
time, whatever slows the one slows the other. What it does not hold equal is the neighbour: each way has the other, not itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from multiprocessing.connection import Connection
from typing import Any

from bench import processes, throughput

Span = tuple[float, float]

_PATIENCE = 900.0


def side_by_side(ways: Mapping[str, throughput.Way], size: throughput.Size, turn: int, place: throughput.Place) -> throughput.Round:
    """One round, for `throughput.compare`."""
    cores = processes.cores()
    started = {
        name: processes.Started(measure, way, size, cores[(i + turn) % len(cores)], place, talks=True)
        for i, (name, way) in enumerate(ways.items())
    }
    for each in started.values():
        each.recv(_PATIENCE)  # it is warm
    begin = time.time() + size.settle
    for each in started.values():
        each.send((begin, begin + size.seconds))
    for name, each in started.items():
        yield name, each.result()


def measure(talk: Connection, way: throughput.Way, size: throughput.Size, core: int, place: throughput.Place) -> throughput.Rate:
    """On one core, in a span of time that all have. It is at work before that, too, and begins the topic anew at its end."""
    bootstrap, prefix, topic = place
    processes.use_only(core)
    rows = throughput.rows_of(way, throughput.stream(bootstrap, prefix, size.prefix // 4))
    with throughput.running(way, bootstrap, topic, size) as query:
        query.awaitTermination(size.warm_up)
    talk.send("warm")
    span: Span | None = None
    before: float | None = None
    batches: list[float] = []
    while span is None or time.time() < span[1]:
        with throughput.running(way, bootstrap, topic, size) as query:
            while query.isActive and (span is None or time.time() < span[1]):
                span = span or (talk.recv() if talk.poll() else None)
                if span is not None and before is None and time.time() >= span[0]:
                    before = processes.cpu_seconds()
                time.sleep(0.5)  # each look at the reports costs the query some milliseconds
            batches += whole_batches(query.recentProgress, span, size.batch)
    after = processes.cpu_seconds()
    throughput.spark().stop()
    share = sum(batches) / (span[1] - span[0])  # the rest went into beginning anew, and batches at the edges of the time
    cpu = None if before is None or after is None else (after - before) * share
    return throughput.rate(rows, batches, size, cpu)


def whole_batches(reports: Iterable[dict[str, Any]], span: Span | None, batch: int) -> list[float]:
    """The seconds of each full batch that began and ended within the span."""
    if span is None:
        return []
    full = [report for report in reports if report["numInputRows"] == batch]
    taken = [(datetime.fromisoformat(report["timestamp"]).timestamp(), report["durationMs"]["triggerExecution"] / 1000) for report in full]
    return [seconds for begin, seconds in taken if span[0] <= begin and begin + seconds <= span[1]]
