"""The customers: where they live, what they are used to, the numbers on their cards."""

from __future__ import annotations

import math
from random import Random
from statistics import NormalDist

from headrace_fraud.world.cities import CITIES
from headrace_fraud.world.shops import DEAR, KINDS

# Numbers that the card schemes set aside for tests, and how long they are.
_TEST_RANGES = [("411111", 16), ("424242", 16), ("555555", 16), ("510510", 16), ("601111", 16), ("378282", 15)]
_NEW = 0.01  # of the customers have no history: their first weeks are full of records
_STEPS = 4096
_NORMAL = [NormalDist().inv_cdf((step + 0.5) / _STEPS) for step in range(_STEPS)]


def log_normal(spread: float) -> list[float]:
    """Factors around 1, to be drawn from by twelve random bits. Rounded, so that they are the same whatever the machine's logarithm."""
    return [round(math.exp(spread * z), 6) for z in _NORMAL]


class Customer:
    """One customer, as known to the world. Money is in cents, times in milliseconds since 1970, cities by their place in CITIES."""

    __slots__ = ("cards", "ceiling", "east", "home", "id", "largest", "new", "north", "phone", "quiet", "here", "usual", "wealth")  # noqa: RUF023

    def __init__(self, number: int, random: Random, wealth: float) -> None:
        self.id = f"c{number:05}"
        self.home = self.here = int(random.random() * len(CITIES))
        self.north, self.east = (random.random() - 0.5) * 0.1, (random.random() - 0.5) * 0.1  # of the city's centre
        u = random.random()  # some have two cards, and some pay with their phone, which tells no number
        self.cards = tuple(f'"{_card(number, which, random)}"' for which in range(2 if u < 0.3 else 1)) if u < 0.98 else ("null",)
        first = int(random.random() * 4)
        self.usual = (first, first + 4, first + 8, int(random.random() * len(KINDS)), DEAR[int(random.random() * len(DEAR))])
        self.wealth = wealth
        # The most of an ordinary purchase. Whoever is not new has once paid it: it is the first that the stream sees of them.
        self.ceiling = int(9500 * wealth)
        self.new = random.random() < _NEW
        self.largest = 0
        self.phone = -1  # the city that it last reported from
        self.quiet = 0  # until when the owner buys nothing: nobody is quick enough to break the rule of velocity by habit


def people(count: int, seed: int) -> list[Customer]:
    """The first `count` of the customers of a seed."""
    random = Random(f"people {seed}")
    wealth = log_normal(0.35)
    return [Customer(number, random, wealth[random.getrandbits(12)]) for number in range(1, count + 1)]


def _card(number: int, which: int, random: Random) -> str:
    """A number that passes the Luhn check. No two customers have the same: the number of the customer is in it."""
    prefix, length = _TEST_RANGES[int(random.random() * len(_TEST_RANGES))]
    body = f"{prefix}{number * 2 + which:0{length - 7}}"
    return body + luhn_digit(body)


def luhn_digit(body: str) -> str:
    """The digit that makes the Luhn sum a multiple of ten."""
    total = sum(_DOUBLED[digit] if place % 2 == 0 else int(digit) for place, digit in enumerate(reversed(body)))
    return str(-total % 10)


_DOUBLED = {str(digit): sum(divmod(2 * digit, 10)) for digit in range(10)}
