"""The world as a stream: one record after the other, in the order in which they are sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from heapq import heappop, heappush
from itertools import accumulate, islice

from headrace.errors import DefinitionError
from headrace_fraud.world.scenes import DOSES, move
from headrace_fraud.world.times import START
from headrace_fraud.world.world import Event, World

TRANSACTIONS_PER_LOCATION = 5
FASTEST = 1_000_000
# With thirty seconds of customers for the rate, nobody has to buy twice within ten seconds even when half the world sleeps.
_SECONDS_OF_CUSTOMERS = 30
FEWEST, MOST = 2000, 200_000


def customers_for(rate: float) -> int:
    """How many people make so many transactions a second without breaking the rule of velocity by habit. Beyond 6,000 a second they do."""
    return int(min(max(FEWEST, rate * _SECONDS_OF_CUSTOMERS), MOST))


def events(
    *, seed: int = 1, rate: float = 100.0, start: datetime = START, events: int | None = None, world: World | None = None
) -> Iterator[Event]:
    """The records of both topics: `rate` transactions a second, and a location for every five of them; `events` in all, or without end.

    The same arguments give the same bytes, on any machine. Times are in milliseconds; a transaction's `ts` is when it is due, except in
    those noted `late` or `disordered`, and the due times never go back. `world`, a fresh one, saves the time to make it.

    >>> first = next(events(seed=1, rate=10))
    >>> first.topic, first.due, first.value[:54]
    ('transactions', 1770019200.0, b'{"type":"transaction","tx_id":"tfba9a6a8-1","customer"')
    """
    if not 0 < rate <= FASTEST:
        raise DefinitionError(f"a rate of {rate} transactions a second cannot be made", fix=f"give one above 0, at most {FASTEST:,}")
    if start.tzinfo is None:
        raise DefinitionError(f"the start {start} has no time zone", fix="give one: datetime(2026, 2, 2, 8, tzinfo=UTC)")
    at = int(start.timestamp() * 1000)
    world = world or World(seed, customers_for(rate))
    world.begin(str(at))
    return islice(_Stream(world, at, rate).run(), events)


class _Stream:
    def __init__(self, world: World, start: int, rate: float) -> None:
        self._world, self._start, self._rate = world, start, rate
        self._scenes = [scene for scene, _ in DOSES]
        self._shares = [share / 1000 for share in accumulate(dose for _, dose in DOSES)]
        self._waiting: list[tuple[int, int, Callable[[int], Event], bool]] = []
        self._number = 0  # so that of two things due at the same time the one that was planned first comes first
        self._owed = 0  # ordinary purchases that were made room for

    def run(self) -> Iterator[Event]:
        start, step, slot = self._start, 1000 / self._rate, 0
        while True:
            at = start + int(slot * step)
            slot += 1
            yield from self._waited_for(at)
            if self._owed > 0:
                self._owed -= 1
            else:
                yield self._something(at)
            if slot % TRANSACTIONS_PER_LOCATION == 0:
                at = start + int((slot - 0.5) * step)
                yield from self._waited_for(at)
                yield self._report(at)

    def _waited_for(self, until: int) -> Iterator[Event]:
        while self._waiting and self._waiting[0][0] <= until:
            due, _, make, instead = heappop(self._waiting)
            self._owed += instead
            yield make(due)

    def _later(self, due: int, make: Callable[[int], Event], *, instead: bool = True) -> None:
        self._number += 1
        heappush(self._waiting, (due, self._number, make, instead))

    def _report(self, at: int) -> Event:
        """The next phone; one in a hundred had no network for a while, unless what it tells is new."""
        customer = self._world.next_phone()
        if self._world.random() < 0.01 and customer.phone == customer.here:
            return self._world.report(customer, at, ago=5000 + int(self._world.random() * 115_000), note="late")
        return self._world.report(customer, at)

    def _something(self, at: int) -> Event:
        world = self._world
        u = world.random()
        if u >= self._shares[-1]:
            customer = world.whose_turn(at)
            if customer.here == customer.home or world.random() < 0.9:
                return world.buy(customer, at)
            return move(world, customer, at, self._later)
        return next(scene for scene, share in zip(self._scenes, self._shares, strict=True) if u < share)(world, at, self._later)
