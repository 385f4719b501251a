"""The decisions once more, from their definition alone, in plain Python: sharing nothing with the app, and meant to be read."""

from __future__ import annotations

import json
import math
import re
import sys
from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

STRINGS = {"tx_id", "customer", "card", "merchant"}
# The order of the examples, which is the order in which fields are looked at; `card` alone may be absent.
FIELDS = {
    "transaction": ("tx_id", "customer", "card", "amount", "merchant", "lat", "lon", "ts"),
    "location": ("customer", "lat", "lon", "ts"),
}
REQUIRED = {kind: tuple(name for name in names if name != "card") for kind, names in FIELDS.items()}
TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?(?:Z|([+-])(\d\d):(\d\d))?", re.ASCII)
SURROGATE = re.compile("[\ud800-\udfff]")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999  # the years 0001 to 9999, in microseconds since 1970
SECOND = 1_000_000
EARTH_KM = 6371.0088
DEEPEST = 1000  # brackets within brackets; the definition leaves it open, the decoder of headrace promises this
DECODER = json.JSONDecoder(parse_int=float)  # so that an integer of any length is the nearest double, or infinite


@dataclass(frozen=True)
class Limits:
    velocity_s: float = 10
    memory_s: float = 600
    distance_km: float = 100
    location_age_s: float = 86_400
    ahead_s: float = 86_400


@dataclass
class Outcome:
    """What became of the lines, which are counted from 1. `decided` has the line of each decision."""

    decisions: list[dict[str, Any]] = field(default_factory=list)
    decided: list[int] = field(default_factory=list)
    dead: list[tuple[int, str]] = field(default_factory=list)
    duplicates: list[int] = field(default_factory=list)
    locations: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Customer:
    remembered: list[tuple[int, str]] = field(default_factory=list)  # (ts, tx_id), sorted
    ids: set[str] = field(default_factory=set)  # of those
    latest: int = FIRST  # the greatest ts of all transactions
    largest: float | None = None
    phone: tuple[int, float, float] | None = None  # (ts, lat, lon)


class Refused(Exception):  # noqa: N818
    """Its argument is the reason."""


def oracle(lines: Iterable[bytes], now: datetime, limits: Limits = Limits()) -> Outcome:  # noqa: B008
    outcome = Outcome()
    customers: dict[str, Customer] = {}
    clock = (now - EPOCH) // timedelta(microseconds=1)
    for number, line in enumerate(lines, start=1):
        try:
            record = read(line, clock, limits)
        except Refused as refused:
            outcome.dead.append((number, str(refused)))
            continue
        customer = customers.setdefault(record["customer"], Customer())
        if record["type"] == "location":
            outcome.locations.append(number)
            if customer.phone is None or record["ts"] >= customer.phone[0]:
                customer.phone = record["ts"], record["lat"], record["lon"]
        elif record["tx_id"] in customer.ids:
            outcome.duplicates.append(number)
        else:
            outcome.decisions.append(decide(customer, record, limits))
            outcome.decided.append(number)
            remember(customer, record, limits)
    return outcome


def decide(customer: Customer, record: dict[str, Any], limits: Limits) -> dict[str, Any]:
    ts, amount = record["ts"], record["amount"]
    place = bisect_left(customer.remembered, (ts,))  # the nearest is one of the two beside this place
    gap = min((abs(ts - other) for other, _ in customer.remembered[max(place - 1, 0) : place + 1]), default=None)
    distance = None
    if customer.phone is not None and ts - customer.phone[0] <= limits.location_age_s * SECOND:
        distance = haversine(customer.phone[1], customer.phone[2], record["lat"], record["lon"])
    broken = {
        "velocity": gap is not None and gap <= limits.velocity_s * SECOND,
        "amount": customer.largest is not None and amount > customer.largest,
        "location": distance is not None and distance > limits.distance_km,
    }
    return {
        "tx_id": record["tx_id"],
        "customer": record["customer"],
        "ts": written(ts),
        "amount": amount,
        "merchant": record["merchant"],
        "card": masked(record.get("card")),
        "rules": [rule for rule, is_broken in broken.items() if is_broken],
        "flagged": any(broken.values()),
        "gap_s": None if gap is None else gap / 1e6,
        "previous_max": customer.largest,
        "distance_km": None if distance is None else round(distance, 3),
    }


def remember(customer: Customer, record: dict[str, Any], limits: Limits) -> None:
    insort(customer.remembered, (record["ts"], record["tx_id"]))
    customer.ids.add(record["tx_id"])
    customer.latest = max(customer.latest, record["ts"])
    customer.largest = record["amount"] if customer.largest is None else max(customer.largest, record["amount"])
    kept = bisect_left(customer.remembered, (customer.latest - limits.memory_s * SECOND,))
    customer.ids.difference_update(tx_id for _, tx_id in customer.remembered[:kept])
    del customer.remembered[:kept]


def read(line: bytes, clock: int, limits: Limits) -> dict[str, Any]:
    """The record, its `ts` in microseconds since 1970; or Refused."""
    record = parsed(line)
    kind = record.get("type")
    if not isinstance(kind, str) or kind not in FIELDS:
        raise Refused("unknown_type")
    for name in REQUIRED[kind]:
        if record.get(name) in (None, ""):
            raise Refused(f"missing:{name}")
    for name in FIELDS[kind]:
        value = record.get(name)
        if name == "ts":
            record["ts"] = instant(value) if isinstance(value, str) else None
            fits = record["ts"] is not None
        elif name in STRINGS:
            fits = value is None or (isinstance(value, str) and SURROGATE.search(value) is None)
        else:
            fits = isinstance(value, float) and math.isfinite(value)
        if not fits:
            raise Refused(f"bad_type:{name}")
    if kind == "transaction" and record["amount"] <= 0:
        raise Refused("out_of_range:amount")
    if not -90 <= record["lat"] <= 90:
        raise Refused("out_of_range:lat")
    if not -180 <= record["lon"] <= 180:
        raise Refused("out_of_range:lon")
    if record["ts"] - clock > limits.ahead_s * SECOND:
        raise Refused("future_timestamp")
    return record


def parsed(line: bytes) -> dict[str, Any]:
    try:
        text = line.decode("utf-8")
        deep = line.count(b"[") + line.count(b"{") > DEEPEST // 2  # Python has a limit of its own, which depends on who calls
        record = parsed_deep(text) if deep else DECODER.decode(text)
    except ValueError:
        raise Refused("not_json") from None
    if not isinstance(record, dict):
        raise Refused("not_json")
    return record


def parsed_deep(text: str) -> Any:
    if depth(text) > DEEPEST:
        raise Refused("not_json")
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + 2 * DEEPEST)
    try:
        return DECODER.decode(text)
    finally:
        sys.setrecursionlimit(limit)


def depth(text: str) -> int:
    deepest = now = 0
    for mark in re.findall(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', text, flags=re.DOTALL):
        now += {"[": 1, "{": 1, "]": -1, "}": -1}.get(mark, 0)
        deepest = max(deepest, now)
    return deepest


def instant(text: str) -> int | None:
    """Microseconds since 1970, or None if this is no time. An offset goes to 23:59; the years in UTC are 0001 to 9999."""
    found = TIME.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, decimals, sign, hours, minutes = found.groups()
    try:
        at = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=UTC) - EPOCH
    except ValueError:
        return None
    micros = (at.days * 86_400 + at.seconds) * SECOND + int((decimals or "0").ljust(6, "0"))
    if sign is not None:
        if int(hours) > 23 or int(minutes) > 59:
            return None
        offset = (int(hours) * 60 + int(minutes)) * 60 * SECOND
        micros += offset if sign == "-" else -offset
    return micros if FIRST <= micros <= LAST else None


def written(micros: int) -> str:
    at = EPOCH + timedelta(microseconds=micros)
    return f"{at.year:04}-{at.month:02}-{at.day:02}T{at.hour:02}:{at.minute:02}:{at.second:02}.{at.microsecond:06}Z"


def haversine(lat1: float, lon1: float, lat2: float, lon2: float) -> float:
    north, east = math.radians(lat2 - lat1), math.radians(lon2 - lon1)
    across, along = math.sin(north / 2), math.sin(east / 2)
    a = across * across + math.cos(math.radians(lat1)) * math.cos(math.radians(lat2)) * along * along
    return 2 * EARTH_KM * math.asin(math.sqrt(min(a, 1.0)))


def masked(card: str | None) -> str | None:
    """Its first six and last four digits, every other character a `*`; all `*` if there are fewer than 13 digits. Digits are 0 to 9."""
    if card is None:
        return None
    digits = [place for place, character in enumerate(card) if character in "0123456789"]
    kept = {*digits[:6], *digits[-4:]} if len(digits) >= 13 else set()
    return "".join(character if place in kept else "*" for place, character in enumerate(card))
