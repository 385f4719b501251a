"""Rounds of faults, one after the other, until there were as many as were asked for or the time is up."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bench.faults import page, results
from bench.faults.results import Round
from bench.faults.rounds import play

CLOSING = 40.0  # seconds that a round keeps for the end of its input and for the comparison


def main(
    seed: Annotated[int | None, typer.Option(help="Of the first round; the next has the next one.", show_default="drawn")] = None,
    kills: Annotated[int, typer.Option(help="kill -9 of the driver at random moments.")] = 0,
    starts: Annotated[int, typer.Option(help="kill -9 of a driver that starts.")] = 0,
    points: Annotated[int, typer.Option(help="kill -9 at named lines.")] = 0,
    zombies: Annotated[int, typer.Option(help="Drivers that freeze, and wake up when their successor is at work.")] = 0,
    brokers: Annotated[int, typer.Option(help="kill -9 of the broker.")] = 0,
    locks: Annotated[int, typer.Option(help="Times that another process holds the database's lock.")] = 0,
    partitions: Annotated[int, typer.Option(help="Partitions that the topic gets while the job runs.")] = 0,
    disks: Annotated[int, typer.Option(help="Times that the disk is full; needs root, to make a small one.")] = 0,
    realtime: Annotated[int, typer.Option(help="kill -9 of a driver in real-time mode.")] = 0,
    damages: Annotated[int, typer.Option(help="Files of the checkpoint that are cut, emptied, changed or gone.")] = 0,
    backlog: Annotated[int, typer.Option(help="Records that wait when the job starts, with a heap of 1 GB.")] = 0,
    minutes: Annotated[float, typer.Option(help="End, with a comparison, after about so long.")] = 60,
    round_minutes: Annotated[float, typer.Option(help="How long a round is: a world, its faults, and the comparison.")] = 5,
    add_to: Annotated[Path | None, typer.Option(help="A file of results; what is in it counts, and is not done again.")] = None,
    publish: Annotated[bool, typer.Option(help="Do nothing, but add what is in the file of results to the docs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")] = False,
) -> None:
    """Do faults to a keyed job with three sinks, and compare what is there with what must be. Exits with 1 if anything differs."""
    began = time.monotonic()
    wanted = Counter(
        kills=kills, starts=starts, points=points, zombies=zombies, brokers=brokers, locks=locks, partitions=partitions, disks=disks,
        realtime=realtime, damages=damages, backlog=backlog,
    )  # fmt: skip
    rounds = results.read(add_to) if add_to else []
    seed = random.SystemRandom().randrange(10**6) if seed is None else seed
    seed = max([seed, *(each.seed + 1 for each in rounds)])
    if publish:
        page.publish(rounds)
        return
    played = 0
    while (left := wanted - _done(rounds)) and (not played or time.monotonic() - began < minutes * 60 - CLOSING):
        end = time.monotonic() + min(round_minutes * 60, began + minutes * 60 - time.monotonic()) - CLOSING
        rounds.append(play(seed + played, left, end))
        played += 1
        if add_to:
            with add_to.open("a") as file:
                file.write(rounds[-1].json() + "\n")
    show(rounds, as_json=as_json)
    raise typer.Exit(0 if all(each.good for each in rounds) else 1)


def _done(rounds: list[Round]) -> Counter[str]:
    done = Counter(injection.kind for each in rounds if each.good for injection in each.injections)
    return done | Counter(backlog=10**9 * done["backlog"])  # it counts records


def show(rounds: list[Round], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(results.document(rounds), indent=1))
        return
    drawn = Table("fault", "times", "missing", "extra", "twice", "seconds to recover: median", "worst")
    for line in results.table(rounds):
        seconds = ("" if each is None else str(each) for each in (line.median_seconds, line.worst_seconds))
        drawn.add_row(line.fault, *map(str, (line.times, line.missing, line.extra, line.twice)), *seconds)
    Console().print(drawn)
    bad = [each.seed for each in rounds if not each.good]
    Console().print(f"{len(rounds)} rounds, seeds {', '.join(str(each.seed) for each in rounds)}; not good: {bad or 'none'}")
