"""The merchants: the same twelve chains in every city, so that ids and names can be read."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import NamedTuple

from headrace_fraud.world.cities import CITIES


class Kind(NamedTuple):
    """What a purchase costs, in cents, and when it is made: the share of the day's peak in the local hours 0 to 23."""

    name: str
    median: int
    spread: float  # sigma of the logarithm
    hours: tuple[float, ...]


class Merchant(NamedTuple):
    id: str
    name: str
    kind: str
    city: str
    country: str
    lat: float
    lon: float


def _hours(open_from: int, open_until: int, *peaks: int) -> tuple[float, ...]:
    """Little when closed, some when open, most around the peaks."""
    return tuple(1.0 if min(abs(h - p) for p in peaks) <= 1 else 0.5 if open_from <= h < open_until else 0.05 for h in range(24))


KINDS = [
    Kind("coffee", 450, 0.30, _hours(6, 18, 8, 15)),
    Kind("bakery", 620, 0.35, _hours(6, 17, 8)),
    Kind("transit", 340, 0.20, _hours(5, 24, 8, 17)),
    Kind("groceries", 3200, 0.55, _hours(7, 22, 12, 18)),
    Kind("pharmacy", 1500, 0.50, _hours(8, 20, 17)),
    Kind("fuel", 4800, 0.30, _hours(5, 23, 7, 17)),
    Kind("lunch", 1400, 0.30, _hours(11, 15, 12)),
    Kind("dinner", 3900, 0.50, _hours(17, 24, 19, 20)),
    Kind("books", 1900, 0.50, _hours(9, 19, 16)),
    Kind("clothing", 5200, 0.55, _hours(9, 20, 13, 17)),
    Kind("hardware", 4100, 0.60, _hours(7, 19, 10, 16)),
    Kind("electronics", 6500, 0.60, _hours(9, 21, 14, 18)),
]
_CHAINS = {
    "coffee": "Blue Kettle", "bakery": "Crust & Crumb", "transit": "Metroline", "groceries": "Daily Basket", "pharmacy": "Green Mortar",
    "fuel": "Roadside", "lunch": "Noon Table", "dinner": "Olive Court", "books": "Paper Lantern", "clothing": "Thread House",
    "hardware": "Bolt Barn", "electronics": "Ohm & Co",
}  # fmt: skip
DEAR = [place for place, kind in enumerate(KINDS) if kind.name in ("clothing", "electronics", "hardware")]  # what a thief buys


@cache
def merchants() -> dict[str, Merchant]:
    """Every merchant by its id, city by city, kinds in the order of KINDS; the same in every world."""
    random = Random("merchants")
    shops: dict[str, Merchant] = {}
    for city in CITIES:
        for kind in KINDS:
            lat, lon = city.lat + (random.random() - 0.5) * 0.08, city.lon + (random.random() - 0.5) * 0.08
            identity = f"{city.name.lower().replace(' ', '-')}-{kind.name}"
            shops[identity] = Merchant(
                identity, f"{_CHAINS[kind.name]} {city.name}", kind.name, city.name, city.country, round(lat, 5), round(lon, 5)
            )
    return shops
