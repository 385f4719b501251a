"""Rounds of faults, one after the other, until there were as many as were asked for or the time is up."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bench.faults import damage, results
from bench.faults.driver import StuckError
from bench.faults.injections import FAULTS, Injection
from bench.faults.results import Round
from bench.faults.world import World

KINDS = (*FAULTS, "damages")
CLOSING = 60.0  # seconds that a round keeps for the end of its input and for the comparison
_console = Console(stderr=True, highlight=False, soft_wrap=True)


def main(
    seed: Annotated[int | None, typer.Option(help="Of the first round; the next has the next one.", show_default="drawn")] = None,
    kills: Annotated[int, typer.Option(help="kill -9 of the driver at random moments.")] = 12,
    starts: Annotated[int, typer.Option(help="kill -9 of a driver that starts.")] = 2,
    points: Annotated[int, typer.Option(help="kill -9 at named lines.")] = 6,
    zombies: Annotated[int, typer.Option(help="Drivers that freeze, and wake up when their successor is at work.")] = 2,
    brokers: Annotated[int, typer.Option(help="kill -9 of the broker.")] = 2,
    damages: Annotated[int, typer.Option(help="Files of the checkpoint that are cut, emptied, changed or gone.")] = 4,
    minutes: Annotated[float, typer.Option(help="End, with a comparison, after about so long.")] = 60,
    round_minutes: Annotated[float, typer.Option(help="How long a round is: a world, its faults, and the comparison.")] = 5,
    add_to: Annotated[Path | None, typer.Option(help="A file of results; what is in it counts, and is not done again.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")] = False,
) -> None:
    """Do faults to a keyed job with three sinks, and compare what is there with what must be. Exits with 1 if anything differs."""
    began = time.monotonic()
    wanted = Counter({"kills": kills, "starts": starts, "points": points, "zombies": zombies, "brokers": brokers, "damages": damages})
    rounds = results.read(add_to) if add_to else []
    seed = random.SystemRandom().randrange(10**6) if seed is None else seed
    while (seed in {each.seed for each in rounds}) and add_to:
        seed += 1
    first = True
    while (left := wanted - _done(rounds)) and (first or time.monotonic() - began < minutes * 60 - CLOSING):
        first = False
        end = time.monotonic() + min(round_minutes * 60, began + minutes * 60 - time.monotonic()) - CLOSING
        found = play(seed, left, end)
        rounds.append(found)
        if add_to:
            with add_to.open("a") as file:
                file.write(found.json() + "\n")
        seed += 1
    show(rounds, as_json=as_json)
    raise typer.Exit(0 if all(each.good for each in rounds) else 1)


def play(seed: int, wanted: Counter[str], end: float) -> Round:
    """One round: as many of these faults, in an order by the seed, as there is time for. Damages have rounds of their own."""
    told = Round(seed, datetime.now(UTC).isoformat(timespec="seconds"), dict(wanted))
    again = " ".join(f"--{name} {wanted[name]}" for name in KINDS)
    _console.print(f"[bold]seed {seed}[/]; again: --seed {seed} {again}")
    chance = random.Random(seed)
    plan = [name for name in wanted.elements() if name in FAULTS]
    chance.shuffle(plan)
    world = World(seed, kafka=bool(plan))
    try:
        if plan:
            _faults(world, plan, chance, end, told)
        else:
            _damages(world, wanted["damages"], chance, end, told)
    except StuckError as stuck:
        told.error = str(stuck)
    finally:
        for each in world.drivers:
            each.kill()
        if not told.good:
            _console.print(f"[bold red]not good[/] {told.error or ''}; everything is kept in {world.home}")
        world.end(keep=not told.good)
    for difference in told.differences.values():
        for example in difference.examples:
            _console.print(f"  [red]{example}[/]")
    _console.print(f"  {told.acknowledged} acknowledged = " + " + ".join(f"{number} {name}" for name, number in told.sums.items()))
    return told


def _faults(world: World, plan: list[str], chance: random.Random, end: float, told: Round) -> None:
    driver = world.begin()
    for name in plan:
        if time.monotonic() > end:
            break
        driver, injection = FAULTS[name](world, driver, chance)
        _tell(told, injection)
    driver.kill()
    told.acknowledged, told.differences, told.sums = world.finish()


def _damages(world: World, number: int, chance: random.Random, end: float, told: Round) -> None:
    damages = damage.Damages(world)
    for _ in range(number):
        if time.monotonic() > end:
            break
        injection, wrong = damages.do(chance)
        _tell(told, injection)
        told.differences |= wrong
        if damage.NAMELESS in injection.where:
            told.error = injection.where
    told.acknowledged, differences, told.sums = world.finish()
    told.differences |= differences


def _tell(told: Round, injection: Injection) -> None:
    told.injections.append(injection)
    _console.print(f"  {injection.fault}, {injection.where}: at work again after {injection.seconds} s")


def _done(rounds: list[Round]) -> Counter[str]:
    return Counter(injection.kind for each in rounds if each.good for injection in each.injections)


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
