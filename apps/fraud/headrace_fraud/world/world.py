"""The world: its people, whose turn it is, and the two things they do: they buy, and their phones tell where they are."""

from __future__ import annotations

import hashlib
from random import Random
from typing import NamedTuple

from headrace_fraud.world.cities import CITIES
from headrace_fraud.world.people import Customer, log_normal, people
from headrace_fraud.world.shops import KINDS, merchants
from headrace_fraud.world.times import AWAKE, QUARTER_MS, Clock, local_hours
from headrace_fraud.world.truth import Truth

TRANSACTIONS, LOCATIONS = "transactions", "locations"
PAUSE_MS = 12_000  # between two purchases that a customer makes by habit
_TRIES = 12


class Event(NamedTuple):
    """A record of one of the two topics.

    `due` is when it is sent, in seconds since 1970. `truth` is set if it is fraud. `note` says what else is out of the ordinary: `late`,
    `disordered`, `duplicate`, `record`, `double`, `travel`, `unreported`, `careful` (fraud that avoids its rule), `broken:<reason>`.
    """

    topic: str
    key: str
    value: bytes
    due: float
    truth: Truth | None = None
    note: str | None = None


class World:
    """The people of a seed and their state, for one stream. `begin` names it, which tells its tx_ids from those of others.

    Only `random()` and `getrandbits()` are drawn from: those are the same in every Python.
    """

    def __init__(self, seed: int, customers: int = 2000) -> None:
        self._seed = seed
        self.people = people(customers, seed)
        self.rng = Random(f"world {seed}")
        self.random = self.rng.random
        self.begin("")
        self._count = 0
        self._clock = Clock()
        self._turns = list(range(len(self.people)))
        for place in range(len(self._turns) - 1, 0, -1):
            other = int(self.random() * (place + 1))
            self._turns[place], self._turns[other] = self._turns[other], self._turns[place]
        self._phones = list(self._turns)  # in another order than the purchases, though the same in each round
        self._turn = self._phone = 0
        self._window = max(1, len(self.people) // 8)
        self._factors = [log_normal(kind.spread) for kind in KINDS]
        self._shops = [f'"merchant":"{shop.id}","lat":{shop.lat},"lon":{shop.lon}' for shop in merchants().values()]
        self._quarter = -1
        self._hours: list[int] = []
        self._awake: list[float] = []

    def begin(self, name: str) -> None:
        self._prefix = "t" + hashlib.sha256(f"{self._seed} {name}".encode()).hexdigest()[:8] + "-"

    def whose_turn(self, at: int) -> Customer:
        """The next customer who is awake and did not just buy something. All come round, in an order that is mixed a little each time."""
        if at // QUARTER_MS != self._quarter:
            self._quarter = at // QUARTER_MS
            self._hours = local_hours(at)
            self._awake = [AWAKE[hour] for hour in self._hours]
        turns, random, asleep = self._turns, self.random, None
        for _ in range(_TRIES):
            here = self._turn
            other = here + int(random() * self._window)
            if other >= len(turns):
                other -= len(turns)
            turns[here], turns[other] = turns[other], turns[here]
            self._turn = here + 1 if here + 1 < len(turns) else 0
            customer = self.people[turns[here]]
            if customer.quiet <= at:
                if random() < self._awake[customer.here]:
                    return customer
                asleep = customer
        return asleep or customer

    def next_phone(self) -> Customer:
        self._phone = (self._phone + 1) % len(self._phones)
        return self.people[self._phones[self._phone]]

    def kind(self, customer: Customer) -> int:
        """What the customer buys at this hour."""
        usual, hour = customer.usual, self._hours[customer.here]
        kind = usual[int(self.random() * 5)]
        if self.random() >= KINDS[kind].hours[hour]:  # closed, or seldom: a second choice
            kind = usual[int(self.random() * 5)]
        return kind

    def cents(self, customer: Customer, kind: int) -> int:
        """What the customer is used to pay for it, never more than their ceiling."""
        if customer.largest == 0 and not customer.new:
            return customer.ceiling
        cents = int(KINDS[kind].median * customer.wealth * self._factors[kind][self.rng.getrandbits(12)])
        if cents > customer.ceiling:
            cents = int(customer.ceiling * (0.5 + 0.5 * self.random()))
        return max(cents, 50)

    def buy(
        self,
        customer: Customer,
        at: int,
        *,
        cents: int | None = None,
        kind: int | None = None,
        city: int | None = None,
        ago: int = 0,
        fraud: str | None = None,
        part: int = 0,
        note: str | None = None,
    ) -> Event:
        """A purchase, as usual but for what is given; its `ts` is `ago` milliseconds before it is sent."""
        if kind is None:
            kind = self.kind(customer)
        if cents is None:
            cents = self.cents(customer, kind)
        customer.largest = max(customer.largest, cents)
        customer.quiet = max(customer.quiet, at + PAUSE_MS)
        self._count += 1
        tx_id = f"{self._prefix}{self._count}"
        cards = customer.cards
        card = cards[0] if len(cards) == 1 or self.random() < 0.8 else cards[1]
        shop = self._shops[(customer.here if city is None else city) * len(KINDS) + kind]
        value = (
            f'{{"type":"transaction","tx_id":"{tx_id}","customer":"{customer.id}","card":{card},"amount":{cents // 100}.{cents % 100:02},'
            f'{shop},"ts":"{self._clock.text(at - ago)}"}}'
        )
        truth = None if fraud is None else Truth(tx_id, customer.id, fraud, part)
        return Event(TRANSACTIONS, customer.id, value.encode(), at / 1000, truth, note)

    def report(self, customer: Customer, at: int, *, ago: int = 0, note: str | None = None) -> Event:
        """The customer's phone tells where it is: some hundred metres around where its owner stays."""
        city = CITIES[customer.here]
        lat = city.lat + customer.north + (self.random() - 0.5) * 0.01
        lon = city.lon + customer.east + (self.random() - 0.5) * 0.01
        customer.phone = customer.here
        ts = self._clock.text(at - ago)
        value = f'{{"type":"location","customer":"{customer.id}","lat":{lat:.5f},"lon":{lon:.5f},"ts":"{ts}"}}'
        return Event(LOCATIONS, customer.id, value.encode(), at / 1000, None, note)
