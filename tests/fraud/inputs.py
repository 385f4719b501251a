"""Nasty input for the decisions: by seed (`nasty`), and for hypothesis (`lines`).

Few customers, so that the rules meet each other; amounts, places and times from small sets, so that ties and exact limits are common.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from hypothesis import strategies as st

EARTH_KM = 6371.0088
START = datetime(2020, 2, 2, 8, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
POISON = 0.03

# Steps on from the customer's latest time, in microseconds: both sides of every limit of the definition, and back.
STEPS = [
    0, 1, -1, 5_000, 1_000_000, 9_999_999, 10_000_000, 10_000_001, -9_999_999, -10_000_000, -10_000_001, 3_000_000, 20_000_000, 47_000_000,
    90_000_000, -60_000_000, -599_999_999, -600_000_000, -600_000_001, 590_000_000, 599_999_999, 600_000_000, 600_000_001,
]  # fmt: skip
# Of a location, against the latest time.
AGES = [0, 1, -1, 60_000_000, 86_399_999_999, 86_400_000_000, 86_400_000_001, -5_000_000, 3_600_000_000]
AMOUNTS = ["5", "5.0", "5.00000000000000001", "5.000000000000001", "12.34", "20", "2e1", "19.999999999999996", "0.01", "1e-300", "999.99"]
NORTH_100 = math.degrees(100 / EARTH_KM)  # degrees along a meridian
# Around the equator (a billionth of a kilometre either side of 100, far more than the last digits of two sine functions can differ), the
# antimeridian, the poles, and a town.
REGIONS = [
    [(0.0, 0.0), (NORTH_100 * (1 - 1e-11), 0.0), (NORTH_100 * (1 + 1e-11), 0.0), (-0.0, -0.0), (0.0, 0.8), (5e-324, 0.0), (0.0, -0.1)],
    [(0.0, 180.0), (0.0, -180.0), (0.0, 179.6), (0.0, -179.6), (0.0, 179.4), (0.5, 179.9), (-0.5, -179.9)],
    [(90.0, 0.0), (90.0, 123.4), (89.6, 0.0), (89.6, 180.0), (89.5, 90.0), (89.5, -90.0), (90.0, -180.0)],
    [(-90.0, 0.0), (-90.0, 180.0), (-89.6, 10.0), (-89.6, -170.0), (-89.5, 10.0)],
    [(59.33, 18.06), (59.33, 18.07), (59.86, 17.64), (59.27, 15.21)],
]
PLACES = [place for region in REGIONS for place in region]
CARDS = ['"4111111111111111"', '"4222222222222"', '"378282246310005"', '"4111 1111 1111 1111"', '"123456789012"', '""', "null", None, '"x"']
NAMES = ["c1", "c2", "c 3", "ç4", "😀5", "\\u00e76", "C1", "c1 ", "<b>7</b>", '\\"8\\"', "null", "0"]  # as they stand in JSON text

BAD_STRINGS = ["1", "true", "[]", '{"a":"b"}', "NaN", '"\\ud800"', '"x\\udc00"']
BAD_NUMBERS = ['"1"', '"x"', "true", "[1]", "{}", "NaN", "Infinity", "-Infinity", "1e999", "-1e400", "1" + "0" * 400]
BAD_TIMES = [
    "1770000000", "[]", '"yesterday"', '"2026-02-30T00:00:00Z"', '"2026-02-02T24:00:00Z"', '"2026-02-02T08:00:60Z"',
    '"2026-02-02T08:00:00.1234567Z"', '"2026-02-02T08:00:00+24:00"', '"2026-02-02 08:00"', '"0000-01-01T00:00:00Z"',
    '" 2026-02-02T08:00:00Z"', '"9999-12-31T23:59:59-01:00"',
]  # fmt: skip
NOT_JSON: list[Callable[[bytes], bytes]] = [
    lambda _: b"", lambda _: b" ", lambda _: b"null", lambda _: b"[]", lambda _: b'"text"', lambda line: line[:-1],
    lambda line: line[: len(line) // 2], lambda line: line + b"x", lambda line: line + line, lambda line: b"\xef\xbb\xbf" + line,
    lambda line: line.replace(b"customer", b"\xff", 1), lambda line: line.replace(b'"', b"'"), lambda line: line.replace(b":", b"", 1),
    lambda line: line.replace(b"}", b",}"), lambda line: b"[" + line + b"]", lambda line: line[:-1] + b',"x":01}',
    lambda line: line[:-1] + b',"x":' + b"[" * 3000 + b"]" * 3000 + b"}", lambda line: line[:-1] + b',"x":"\x01"}',
]  # fmt: skip
UNKNOWN = [None, "null", '""', "1", '"refund"', '"Location"', '["transaction"]', "NaN"]
BEYOND = {"amount": ["0", "-0.0", "-5", "1e-400"], "lat": ["90.00000000000001", "-91"], "lon": ["180.00000000000003", "-1e300"]}
EXTRA = ["null", "NaN", "[1,{}]", '{"amount":-1}', '"\\ud800"', "1e999", "[" * 300 + "]" * 300, '"\\n"']


def reasons() -> list[str]:
    """Every reason that `nasty` has in its poison."""
    required = ["tx_id", "customer", "amount", "merchant", "lat", "lon", "ts"]
    wrong = [*(f"missing:{name}" for name in required), *(f"bad_type:{name}" for name in [*required, "card"])]
    return ["not_json", "unknown_type", *wrong, "out_of_range:amount", "out_of_range:lat", "out_of_range:lon", "future_timestamp"]


def nasty(seed: int, records: int, *, customers: int | None = None) -> list[bytes]:
    """So many lines, the same for the same arguments: 3 % poison, 3 % duplicates, one location to two transactions.

    No line has a line end within. Every time is in 2020, but for the future ones, in the year 9000 or later, so that every
    clock of today judges them alike.
    """
    random = Random(f"nasty {seed}")
    crowd = [_Customer(random, number) for number in range(customers or max(3, min(400, records // 100)))]
    lines: list[bytes] = []
    while len(lines) < records:
        customer = crowd[int(len(crowd) * random.random() ** 2)]  # some are seen far more than others
        u = random.random()
        if u < POISON:
            lines.append(_poisoned(random, customer))
        elif u < 0.06 and customer.sent:
            lines.append(random.choice(customer.sent))
        else:
            fields = customer.location() if u < 0.35 else customer.transaction()
            if random.random() < 0.05:
                fields["extra"] = random.choice(EXTRA)
            lines.append(_text(fields, shuffle=random if random.random() < 0.1 else None))
            if u >= 0.35:
                customer.sent = [*customer.sent[-8:], lines[-1]]
    return lines


class _Customer:
    """Where a customer's time has come to, and the last lines, to be sent again."""

    def __init__(self, random: Random, number: int) -> None:
        self.random = random
        self.name = f'"{NAMES[number % len(NAMES)]}{number // len(NAMES) or ""}"'
        self.home = REGIONS[number % len(REGIONS)]
        self.now = START + timedelta(seconds=number)
        self.count = 0
        self.sent: list[bytes] = []

    def transaction(self) -> dict[str, str | None]:
        random = self.random
        ts = self.now + _micros(random.choice(STEPS) if random.random() < 0.7 else int(random.random() * 120e6))
        self.now = max(self.now, ts)
        if self.now > START + timedelta(days=300):
            self.now = START
        self.count += 1
        # Now and then an id from long ago: forgotten, or not.
        number = self.count - int(random.random() * 40) if random.random() < 0.05 else self.count
        lat, lon = self._place()
        amount = random.choice(AMOUNTS) if random.random() < 0.5 else f"{random.random() * (20 + self.count):.2f}1"
        return {
            "type": '"transaction"', "tx_id": f'"t{number}"', "customer": self.name, "card": random.choice(CARDS), "amount": amount,
            "merchant": f'"m{int(random.random() * 9)}"', "lat": lat, "lon": lon, "ts": _stamp(random, ts),
        }  # fmt: skip

    def location(self) -> dict[str, str | None]:
        lat, lon = self._place()
        ts = self.now - _micros(self.random.choice(AGES) if self.random.random() < 0.6 else int(self.random.random() * 60e6))
        return {"type": '"location"', "customer": self.name, "lat": lat, "lon": lon, "ts": _stamp(self.random, ts)}

    def _place(self) -> tuple[str, str]:
        """Mostly at home; else anywhere."""
        random = self.random
        u = random.random()
        if u < 0.8:
            lat, lon = random.choice(self.home)
        elif u < 0.9:
            lat, lon = random.choice(PLACES)
        else:
            lat, lon = 58.8 + random.random(), 17.5 + random.random()
        return repr(lat), repr(lon)


def _micros(count: int) -> timedelta:
    return count * MICROSECOND


def _stamp(random: Random, ts: datetime) -> str:
    """The time in one of the forms that it may have."""
    u = random.random()
    if u < 0.6:
        return f'"{ts:%Y-%m-%dT%H:%M:%S.%f}Z"'
    if u < 0.7 and ts.microsecond == 0:
        return f'"{ts:%Y-%m-%dT%H:%M:%S}"'
    if u < 0.8 and ts.microsecond % 1000 == 0:
        return f'"{ts:%Y-%m-%d %H:%M:%S}.{ts.microsecond // 1000:03}"'
    minutes = random.choice([0, 1, 90, 345, 14 * 60, 23 * 60 + 59])
    sign = random.choice("+-")
    local = ts + timedelta(minutes=minutes if sign == "+" else -minutes)
    return f'"{local:%Y-%m-%dT%H:%M:%S.%f}{sign}{minutes // 60:02}:{minutes % 60:02}"'


def _text(fields: dict[str, str | None], shuffle: Random | None = None) -> bytes:
    parts = [f'"{name}":{value}' for name, value in fields.items() if value is not None]
    if shuffle is not None:
        shuffle.shuffle(parts)
        return (" { " + " , ".join(parts) + "}\t").encode()
    return ("{" + ",".join(parts) + "}").encode()


def _poisoned(random: Random, customer: _Customer) -> bytes:
    """A line that must be refused; each reason as often as the others, some with more than one thing wrong."""
    fields = customer.transaction() if random.random() < 0.7 else customer.location()
    reason = random.choice(_REASONS)
    kind, _, name = reason.partition(":")
    if name and name not in fields:
        fields = customer.transaction()
    if kind == "not_json":
        return random.choice(NOT_JSON)(_text(fields))
    if kind == "unknown_type":
        fields["type"] = random.choice(UNKNOWN)
    elif kind == "future_timestamp":
        fields["ts"] = f'"{random.randrange(9000, 10000)}-01-01T00:00:00Z"'
    elif kind == "out_of_range":
        fields[name] = random.choice(BEYOND[name])
    else:
        _spoil(random, fields, kind, name)
    if random.random() < 0.2:  # something else too, which may come first
        second = random.choice([name for name in fields if name not in ("type", "card")])
        _spoil(random, fields, random.choice(["missing", "bad_type"]), second)
    return _text(fields)


def _spoil(random: Random, fields: dict[str, str | None], kind: str, name: str) -> None:
    if kind == "missing":
        fields[name] = random.choice([None, "null", '""'])
    else:
        fields[name] = random.choice(BAD_TIMES if name == "ts" else BAD_NUMBERS if name in ("amount", "lat", "lon") else BAD_STRINGS)


_REASONS = reasons()


def lines(min_size: int = 1, max_size: int = 200) -> st.SearchStrategy[list[bytes]]:
    """Lists of lines of three customers, from the sets above and from all that JSON can say, that shrink to few and plain ones."""
    return st.lists(_good() | _good() | _good() | _odd() | _bytes(), min_size=min_size, max_size=max_size)


def _good() -> st.SearchStrategy[bytes]:
    times = st.sampled_from(STEPS + AGES) | st.integers(-700_000_000, 700_000_000)
    stamps = times.map(lambda micros: f"{START + _micros(micros):%Y-%m-%dT%H:%M:%S.%f}Z")
    names = st.sampled_from(["a", "b", "å"])
    # Almost opposite points are told apart by the last digit of a sine, which libraries do not agree on: free places are opposite to none.
    places = st.sampled_from(PLACES) | st.tuples(st.floats(20, 80), st.floats(20, 170))
    amounts = st.sampled_from([float(amount) for amount in AMOUNTS]) | st.floats(1e-300, 1e300)
    cards = (
        st.none()
        | st.sampled_from([json.loads(card) for card in CARDS if card])
        | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    )
    buys = st.builds(
        lambda tx_id, customer, card, amount, place, ts: {
            "type": "transaction", "tx_id": f"t{tx_id}", "customer": customer, "card": card, "amount": amount, "merchant": "m",
            "lat": place[0], "lon": place[1], "ts": ts,
        },
        st.integers(0, 30), names, cards, amounts, places, stamps,
    )  # fmt: skip
    phones = st.builds(
        lambda customer, place, ts: {"type": "location", "customer": customer, "lat": place[0], "lon": place[1], "ts": ts},
        names, places, stamps,
    )  # fmt: skip
    return (buys | buys | phones).map(_dumped)


def _odd() -> st.SearchStrategy[bytes]:
    """A good line with up to two fields dropped or holding anything."""
    names = st.sampled_from(["type", "tx_id", "customer", "card", "amount", "merchant", "lat", "lon", "ts", "extra"])
    wrong = [*BAD_STRINGS, *BAD_NUMBERS, *BAD_TIMES, *EXTRA, *(value for values in BEYOND.values() for value in values)]
    values = st.sampled_from(["", "null", '""', '"9000-01-01T00:00:00Z"', *wrong])

    def change(line: bytes, changes: list[tuple[str, str]]) -> bytes:
        fields: dict[str, str | None] = {name: json.dumps(value) for name, value in json.loads(line).items()}
        return _text(fields | {name: value or None for name, value in changes})

    return st.builds(change, _good(), st.lists(st.tuples(names, values), min_size=1, max_size=2))


def _bytes() -> st.SearchStrategy[bytes]:
    return (st.binary(max_size=40) | st.builds(lambda line, wreck: wreck(line), _good(), st.sampled_from(NOT_JSON))).map(_one_line)


def _one_line(raw: bytes) -> bytes:
    return raw.replace(b"\n", b" ")


def _dumped(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode()
