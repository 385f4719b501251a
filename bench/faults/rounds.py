"""A round: a world, faults of one kind of round, and the comparison."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from rich.console import Console

from bench.faults import backlog, damage, realtime
from bench.faults.driver import StuckError
from bench.faults.injections import FAULTS, Injection
from bench.faults.results import Round
from bench.faults.world import World

KINDS = (*FAULTS, "realtime", "damages", "backlog")
console = Console(stderr=True, highlight=False, soft_wrap=True)


@dataclass
class Play:
    """What a round is to do, until when, and what it has told so far."""

    wanted: Counter[str]
    end: float
    report: Round
    chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.report.seed)

    @property
    def over(self) -> bool:
        return time.monotonic() > self.end

    def tell(self, injection: Injection) -> None:
        self.report.injections.append(injection)
        console.print(f"  {injection.fault}, {injection.where}" + (f": {injection.seconds} s" if injection.seconds else ""))

    def plan(self) -> list[str]:
        """The faults that are done to a driver at work, in an order by the seed."""
        plan = [name for name in self.wanted.elements() if name in FAULTS]
        self.chance.shuffle(plan)
        return plan


def play(seed: int, wanted: Counter[str], end: float) -> Round:
    """One round: as many of these faults as there is time for. Real time, damages and a backlog have rounds of their own."""
    report = Round(seed, datetime.now(UTC).isoformat(timespec="seconds"), dict(wanted))
    again = " ".join(f"--{name} {wanted[name]}" for name in KINDS if wanted[name])
    console.print(f"[bold]seed {seed}[/]; again: --seed {seed} {again}")
    round, how = _round(wanted)
    world = World(seed, **how)
    try:
        round(world, Play(wanted, end, report))
    except StuckError as stuck:
        report.error = str(stuck)
    finally:
        for driver in world.drivers:
            driver.kill()
        if not report.good:
            console.print(f"[bold red]not good[/] {report.error or ''}; everything is kept in {world.home}")
        world.end(keep=not report.good)
    for difference in report.differences.values():
        for example in difference.examples:
            console.print(f"  [red]{example}[/]")
    console.print(f"  {report.acknowledged} acknowledged = " + " + ".join(f"{number} {name}" for name, number in report.sums.items()))
    return report


def _round(wanted: Counter[str]) -> tuple[Callable[[World, Play], None], dict[str, Any]]:
    """What comes first, and the world that it needs."""
    if any(wanted[name] > 0 for name in FAULTS):
        return _at_work, {"small": wanted["disks"] > 0}
    if wanted["realtime"] > 0:
        return _in_real_time, {"real_time": True}
    if wanted["damages"] > 0:
        return _damaged, {"kafka": False}
    return _behind, {}


def _at_work(world: World, play: Play) -> None:
    driver = world.begin()
    for name in play.plan():
        if play.over:
            break
        driver, injections = FAULTS[name](world, driver, play.chance)
        for injection in injections:
            play.tell(injection)
    driver.kill()
    play.report.acknowledged, play.report.differences, play.report.sums = world.finish()


def _in_real_time(world: World, play: Play) -> None:
    driver, deciding = realtime.begin(world)
    for _ in range(play.wanted["realtime"]):
        if play.over:
            break
        driver, injection = realtime.killed(world, driver, deciding, play.chance)
        play.tell(injection)
    play.report.acknowledged, play.report.differences, play.report.sums, repeated = realtime.finish(world, driver, deciding)
    console.print(f"  {repeated} rows came again, and were left out by their id")


def _damaged(world: World, play: Play) -> None:
    damages = damage.Damages(world)
    for _ in range(play.wanted["damages"]):
        if play.over:
            break
        injection, wrong = damages.do(play.chance)
        play.tell(injection)
        play.report.differences |= wrong
        if damage.NAMELESS in injection.where or damage.WAYLESS in injection.where:
            play.report.error = injection.where
    play.report.acknowledged, differences, play.report.sums = world.finish()
    play.report.differences |= differences


def _behind(world: World, play: Play) -> None:
    injection, play.report.acknowledged, play.report.differences, play.report.sums = backlog.play(world, play.wanted["backlog"])
    play.tell(injection)
