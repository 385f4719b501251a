"""Ways of about the same speed, told apart: all processes are kept warm, and take turns of some seconds, each alone on the machine.

Where others use the machine, too, one way a minute after the other says little: the same two ways gave ratios from 0.96 to 1.74 within an
hour. At the same time, a core each, they are not alike either: a neighbour that makes much garbage slows the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from multiprocessing.connection import Connection

from bench.measuring import processes, throughput

_PATIENCE = 900.0


def in_short_turns(ways: Mapping[str, throughput.Way], size: throughput.Size, place: throughput.Place) -> throughput.Round:
    """One round, for `throughput.compare`: every way warms up, then each has `size.turns` turns."""
    started = {name: processes.Started(measure, way, size, place, talks=True) for name, way in ways.items()}
    for each in started.values():
        each.recv(_PATIENCE)  # it is warm
    for _ in range(size.turns):
        for each in started.values():
            each.send("go")
            each.recv(_PATIENCE)
    for name, each in started.items():
        each.send("end")
        yield name, each.result()


def measure(talk: Connection, way: throughput.Way, size: throughput.Size, place: throughput.Place) -> throughput.Rate:
    """Each turn is a query of its own from the topic's beginning; its first `settle` seconds do not count."""
    bootstrap, prefix, topic = place
    rows = throughput.rows_of(way, throughput.stream(bootstrap, prefix, size.prefix // 4))
    with throughput.running(way, bootstrap, topic, size) as query:
        query.awaitTermination(size.warm_up)
    talk.send("warm")
    batches: list[float] = []
    cpu = 0.0
    while talk.recv() == "go":
        with throughput.running(way, bootstrap, topic, size) as query:
            taken, spent = throughput.steady(query, size)
        batches += taken
        cpu += spent
        talk.send("done")
    throughput.spark().stop()
    return throughput.rate(rows, batches, size, cpu)
