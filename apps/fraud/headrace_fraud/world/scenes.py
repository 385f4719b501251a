"""What happens besides the ordinary: frauds, honest surprises, and the faults of networks and machines.

A scene has a `World`, a time and a way to let more happen later; it returns the record that is sent now.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Protocol

from headrace_fraud.world.broken import broken
from headrace_fraud.world.cities import AWAY
from headrace_fraud.world.people import Customer
from headrace_fraud.world.shops import DEAR
from headrace_fraud.world.world import PAUSE_MS, Event, World

CAREFUL = 0.08  # of the thieves
TOO_DEAR = 2_000_000  # cents: no shop lets more through, so where the largest amount is high already all thieves are careful


class Later(Protocol):
    def __call__(self, due: int, make: Callable[[int], Event], *, instead: bool = True) -> None:
        """`make` at that time, instead of an ordinary purchase then, or in addition to it."""
        ...


Scene = Callable[[World, int, Later], Event]


def burst(world: World, at: int, later: Later) -> Event:
    """Fraud, `velocity`: a stolen card is used three to seven times, 0.4 to 2.4 s apart; one in four times from another city."""
    victim = world.whose_turn(at)
    city = _any(world, AWAY[victim.here]) if world.random() < 0.25 else victim.here

    def use(part: int, now: int) -> Event:
        return world.buy(victim, now, city=city, kind=_dear(world), fraud="velocity", part=part)

    due, first = at, use(0, at)
    for part in range(1, 3 + int(world.random() * 5)):
        due += 400 + int(world.random() * 2000)
        later(due, partial(use, part))
    victim.quiet = due + PAUSE_MS
    return first


def splurge(world: World, at: int, later: Later) -> Event:
    """Fraud, `amount`: 1.3 to 3.5 times as much as the customer ever paid; if that is nothing yet, the owner buys now and the thief soon.

    The careful do not pay more than the customer did, and go unnoticed.
    """
    victim = world.whose_turn(at)

    def steal(now: int) -> Event:
        careful = world.random() < CAREFUL
        factor = 0.5 + 0.5 * world.random() if careful else 1.3 + 2.2 * world.random()
        cents = int(max(victim.largest, victim.ceiling) * factor)
        if cents > TOO_DEAR:
            cents, careful = victim.ceiling, True
        return world.buy(victim, now, kind=_dear(world), cents=cents, fraud="amount", note="careful" if careful else None)

    if victim.largest:
        return steal(at)
    due = at + PAUSE_MS + int(world.random() * 8000)
    later(due, steal)
    bought = world.buy(victim, at)
    victim.quiet = due + PAUSE_MS
    return bought


def elsewhere(world: World, at: int, later: Later) -> Event:
    """Fraud, `location`: the card is used in another city than the phone's, which tells where it is first if it never did.

    The careful stay in the phone's city, and go unnoticed.
    """
    victim = world.whose_turn(at)

    def steal(now: int) -> Event:
        if world.random() < CAREFUL:
            return world.buy(victim, now, city=victim.phone, fraud="location", note="careful")
        return world.buy(victim, now, city=_any(world, AWAY[victim.phone]), fraud="location")

    if victim.phone >= 0:
        return steal(at)
    due = at + 2000 + int(world.random() * 4000)
    later(due, steal, instead=False)
    victim.quiet = due + PAUSE_MS
    return world.report(victim, at)


def record(world: World, at: int, _: Later) -> Event:
    """Honest, breaks `amount`: once in a while it is a new sofa."""
    customer = world.whose_turn(at)
    cents = int(max(customer.largest, customer.ceiling) * (1.05 + world.random()))
    return world.buy(customer, at, kind=_dear(world), cents=cents if cents < TOO_DEAR else None, note="record")


def double(world: World, at: int, later: Later) -> Event:
    """Honest, breaks `velocity`: a second coffee, two to nine seconds after the first."""
    customer = world.whose_turn(at)
    kind = customer.usual[0]
    later(at + 2000 + int(world.random() * 7000), lambda now: world.buy(customer, now, kind=kind, note="double"))
    return world.buy(customer, at, kind=kind)


def travel(world: World, at: int, later: Later) -> Event:
    """Honest: to another city, or home. Mostly the phone reports on arrival; three in ten buy before it does, which breaks `location`."""
    return move(world, world.whose_turn(at), at, later)


def move(world: World, customer: Customer, at: int, later: Later) -> Event:
    customer.here = _any(world, AWAY[customer.home]) if customer.here == customer.home else customer.home
    wait = 2000 + int(world.random() * 4000)
    customer.quiet = at + wait + PAUSE_MS
    if world.random() < 0.3:
        later(at + 3 * wait, lambda now: world.report(customer, now, note="travel"), instead=False)
        return world.buy(customer, at, note="unreported")
    later(at + wait, lambda now: world.buy(customer, now, note="travel"), instead=False)
    return world.report(customer, at, note="travel")


def late(world: World, at: int, _: Later) -> Event:
    """A terminal was offline for 20 s to 3 min."""
    return world.buy(world.whose_turn(at), at, ago=20_000 + int(world.random() * 160_000), note="late")


def disordered(world: World, at: int, _: Later) -> Event:
    """A detour through the network of 0.1 to 3 s."""
    return world.buy(world.whose_turn(at), at, ago=100 + int(world.random() * 2900), note="disordered")


def duplicate(world: World, at: int, later: Later) -> Event:
    """A terminal had no answer, and sends the same bytes again after 0.2 to 5 s."""
    bought = world.buy(world.whose_turn(at), at)
    later(at + 200 + int(world.random() * 4800), lambda now: bought._replace(due=now / 1000, note="duplicate"))
    return bought


def spoiled(world: World, at: int, _: Later) -> Event:
    """A record that must be refused, one in five of them a location."""
    customer = world.whose_turn(at)
    before = customer.largest, customer.phone
    good = world.buy(customer, at) if world.random() < 0.8 else world.report(customer, at)
    customer.largest, customer.phone = before
    value, reason = broken(json.loads(good.value), int(world.random() * 1_000_000))
    return good._replace(value=value, note=f"broken:{reason}")


# How many of a thousand transactions each scene begins with. A burst is five on average.
DOSES: list[tuple[Scene, float]] = [
    (burst, 1.0), (splurge, 3.0), (elsewhere, 3.0), (record, 0.4), (double, 0.7), (travel, 1.2), (late, 1.0), (disordered, 6.0),
    (duplicate, 3.0), (spoiled, 3.0),
]  # fmt: skip


def _any(world: World, cities: list[int]) -> int:
    return cities[int(world.random() * len(cities))]


def _dear(world: World) -> int:
    return DEAR[int(world.random() * len(DEAR))]
