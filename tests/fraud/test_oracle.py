"""The oracle itself against cases worked out by hand."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.fraud import oracle as module
from tests.fraud.oracle import EARTH_KM, Limits, Outcome, haversine, instant, masked, oracle

NOW = datetime(2026, 2, 3, tzinfo=UTC)
NOON = datetime(2026, 2, 2, 12, tzinfo=UTC)


def at(seconds: float | str) -> str:
    """A time so many seconds after noon."""
    return seconds if isinstance(seconds, str) else (NOON + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def buys(tx_id: str, seconds: float | str = 0, amount: float = 10, lat: float = 0, lon: float = 0, **other: Any) -> bytes:
    values = {"tx_id": tx_id, "customer": "c", "amount": amount, "merchant": "m", "lat": lat, "lon": lon, "ts": at(seconds)}
    return json.dumps({"type": "transaction", **values, **other}).encode()


def phone(seconds: float | str = 0, lat: float = 0, lon: float = 0, **other: Any) -> bytes:
    return json.dumps({"type": "location", "customer": "c", "lat": lat, "lon": lon, "ts": at(seconds), **other}).encode()


def judge(*lines: bytes, limits: Limits = Limits()) -> Outcome:  # noqa: B008
    outcome = oracle(lines, NOW, limits)
    numbers = sorted(outcome.decided + outcome.duplicates + outcome.locations + [line for line, _ in outcome.dead])
    assert numbers == list(range(1, len(lines) + 1)), "each line has exactly one fate"
    return outcome


def rules(*lines: bytes) -> list[str]:
    """The rules that each transaction broke, as one word a transaction."""
    return ["+".join(decision["rules"]) for decision in judge(*lines).decisions]


def gaps(*lines: bytes) -> list[float | None]:
    return [decision["gap_s"] for decision in judge(*lines).decisions]


def test_a_decision_has_these_fields_in_this_order() -> None:
    (decision,) = judge(buys("t1", "2026-02-02T02:40:00.005Z", 12.34, card="4111111111111111", merchant="m7", more=1)).decisions
    assert json.dumps(decision) == json.dumps({
        "tx_id": "t1", "customer": "c", "ts": "2026-02-02T02:40:00.005000Z", "amount": 12.34, "merchant": "m7", "card": "411111******1111",
        "rules": [], "flagged": False, "gap_s": None, "previous_max": None, "distance_km": None,
    })  # fmt: skip


VELOCITY = [
    ("exactly ten seconds later", 0, 10, "velocity", 10.0),
    ("a microsecond more", 0, 10.000001, "", 10.000001),
    ("exactly ten seconds earlier", 0, -10, "velocity", 10.0),
    ("a microsecond more, earlier", 0, -10.000001, "", 10.000001),
    ("the same time", 0, 0, "velocity", 0.0),
    ("an hour later: remembered until after this one", 0, 3600, "", 3600.0),
]


@pytest.mark.parametrize(("case", "first", "second", "rule", "gap"), VELOCITY)
def test_velocity_is_ten_seconds_inclusive_either_way(case: str, first: float, second: float, rule: str, gap: float) -> None:
    lines = buys("a", first), buys("b", second)
    assert rules(*lines) == ["", rule], case
    assert gaps(*lines) == [None, gap]


def test_the_gap_is_to_the_nearest_of_all_remembered() -> None:
    assert gaps(buys("a", 0), buys("b", 100), buys("c", 40), buys("d", 90), buys("e", 1000), buys("f", 80)) == [None, 100, 40, 10, 900, 920]


def test_ten_minutes_exactly_is_still_remembered_and_a_microsecond_more_is_not() -> None:
    assert gaps(buys("a", 0), buys("b", 600), buys("c", 1)) == [None, 600, 1]
    assert gaps(buys("a", 0), buys("b", 600.000001), buys("c", 1)) == [None, 600.000001, 599.000001]


def test_a_transaction_that_comes_too_late_to_be_remembered_is_forgotten_at_once() -> None:
    outcome = judge(buys("a", 700), buys("b", 99), buys("b", 99), buys("c", 100), buys("c", 100))
    assert [decision["gap_s"] for decision in outcome.decisions] == [None, 601, 601, 600]
    assert outcome.duplicates == [5]


def test_a_duplicate_is_not_decided_and_changes_nothing() -> None:
    outcome = judge(buys("a", 0, 10), buys("a", 599, 99), buys("a", 5000, 99), buys("b", 5, 11), buys("a", 3, customer="d"))
    assert outcome.duplicates == [2, 3]
    assert outcome.decided == [1, 4, 5]
    assert [(d["rules"], d["gap_s"], d["previous_max"]) for d in outcome.decisions] == [
        ([], None, None), (["velocity", "amount"], 5.0, 10.0), ([], None, None),
    ]  # fmt: skip


def test_a_forgotten_tx_id_is_decided_again() -> None:
    assert judge(buys("a", 0), buys("b", 600), buys("a", 600)).duplicates == [3]
    assert judge(buys("a", 0), buys("b", 600.000001), buys("a", 0)).duplicates == []


AMOUNTS = [
    ("the first never", [5], [""]),
    ("equal is not greater", [5, 5], ["", ""]),
    ("the next double is", [5, math.nextafter(5, 6)], ["", "amount"]),
    ("less, and then between", [5, 1, 3], ["", "", ""]),
    ("an integer is the same number", [5, 5.0, 6], ["", "", "amount"]),
]


@pytest.mark.parametrize(("case", "amounts", "broken"), AMOUNTS)
def test_amount_is_strictly_greater_than_all_before(case: str, amounts: list[float], broken: list[str]) -> None:
    assert rules(*(buys(f"t{n}", n * 60, amount) for n, amount in enumerate(amounts))) == broken, case


def test_the_largest_amount_is_not_forgotten_with_its_transaction() -> None:
    assert [d["previous_max"] for d in judge(buys("a", 0, 50), buys("b", 9000, 1), buys("c", 20000, 49)).decisions] == [None, 50, 50]


NORTH_100 = math.degrees(100 / EARTH_KM)  # of the equator
NEAR, FAR = NORTH_100 * (1 - 1e-12), NORTH_100 * (1 + 1e-12)
DISTANCES = [
    ("just less than 100 km", (0, 0), (NEAR, 0), "", 100.0),
    ("just more: rounded the same, judged as it is", (0, 0), (FAR, 0), "location", 100.0),
    ("along the equator", (0, 0), (0, 1), "location", 111.195),
    ("over the antimeridian", (0, 179.6), (0, -179.6), "", 88.956),
    ("over the antimeridian, too far", (0, 179.5), (0, -179.5), "location", 111.195),
    ("180 and -180 are the same", (10, 180), (10, -180), "", 0.0),
    ("at the pole every longitude is the same", (90, 0), (90, 123.4), "", 0.0),
    ("over the pole", (89.6, 0), (89.6, 180), "", 88.956),
    ("over the pole, too far", (-89.5, 90), (-89.5, -90), "location", 111.195),
    ("pole to pole", (90, 0), (-90, 0), "location", 20015.114),
    ("the other side", (0, 0), (0, 180), "location", 20015.114),
]


@pytest.mark.parametrize(("case", "here", "there", "rule", "km"), DISTANCES)
def test_location_is_more_than_100_km(case: str, here: tuple[float, float], there: tuple[float, float], rule: str, km: float) -> None:
    (decision,) = judge(phone(0, *here), buys("a", 0, 10, *there)).decisions
    assert (decision["rules"], decision["distance_km"]) == ([rule] if rule else [], km), case


def test_exactly_100_km_is_not_more() -> None:
    lat = next(lat for lat in neighbours(NORTH_100) if haversine(0, 0, lat, 0) == 100.0)
    assert rules(phone(0, 0, 0), buys("a", 0, 10, lat, 0)) == [""]
    assert haversine(0, 0, NEAR, 0) < 100 < haversine(0, 0, FAR, 0)


def neighbours(value: float) -> list[float]:
    below, above = [value], [value]
    for _ in range(8):
        below.append(math.nextafter(below[-1], -math.inf))
        above.append(math.nextafter(above[-1], math.inf))
    return below + above


def distances(*lines: bytes) -> list[float | None]:
    return [decision["distance_km"] for decision in judge(*lines).decisions]


def test_the_known_location_is_the_latest_by_ts_and_then_by_arrival() -> None:
    far, near = {"lat": 50.0}, {"lat": 0.0}
    assert distances(buys("a")) == [None]
    assert distances(phone(5, **near), phone(4, **far), buys("a")) == [0.0], "an older one changes nothing"
    assert distances(phone(5, **far), phone(5, **near), buys("a")) == [0.0], "of a tie the later arrival counts"
    assert distances(phone(5, **far), phone(5.000001, **near), buys("a")) == [0.0]
    assert distances(buys("a"), phone(0, **near)) == [None], "what comes afterwards is not known"
    assert distances(phone(0, customer="d"), buys("a")) == [None], "another's phone"
    assert distances(phone(7200, **near), buys("a", 0)) == [0.0], "a phone may be ahead"


def test_a_location_of_24_hours_counts_and_an_older_one_does_not() -> None:
    day = 86_400
    assert rules(phone(-day, 50), buys("a", 0)) == ["location"]
    assert rules(phone(-day - 0.000001, 50), buys("a", 0)) == [""]
    assert distances(phone(-day - 0.000001, 50), buys("a", 0), buys("b", -0.000001)) == [None, 5559.754]


def test_the_rules_are_named_in_their_order() -> None:
    assert rules(phone(0), buys("a", 0, 1), buys("b", 1, 2, 50))[1] == "velocity+amount+location"


def test_the_limits_are_parameters() -> None:
    limits = Limits(velocity_s=1, memory_s=5, distance_km=1, location_age_s=60, ahead_s=0)
    lines = phone(0, 0.1), buys("a", 0), buys("b", 2), buys("c", 8), buys("a", 61), buys("z", "2026-02-03T00:00:00.000001Z")
    outcome = judge(*lines, limits=limits)
    assert [(d["rules"], d["gap_s"]) for d in outcome.decisions] == [(["location"], None), (["location"], 2), (["location"], 6), ([], 53)]
    assert outcome.dead == [(6, "future_timestamp")]


CARDS = [
    (None, None), ("", ""), ("4111111111111111", "411111******1111"), ("4222222222222", "422222***2222"), ("123456789012", "*" * 12),
    ("1", "*"), ("4111 1111 1111 1111", "4111*11********1111"), ("4111-1111-1111-1111", "4111*11********1111"), ("card", "****"),
    ("x4222222222222y", "*422222***2222*"), ("٤" * 16, "*" * 16), ("😀" + "1" * 13, "*111111***1111"),
    ("5" * 30, "555555" + "*" * 20 + "5555"),
]  # fmt: skip


@pytest.mark.parametrize(("card", "shown"), CARDS)
def test_a_card_keeps_its_first_six_and_last_four_digits(card: str | None, shown: str | None) -> None:
    assert masked(card) == shown
    assert judge(buys("a", card=card)).decisions[0]["card"] == shown


GOOD = buys("t1", card="4111111111111111")
THERE = phone()


def but(line: bytes, **changed: str) -> bytes:
    """The line with other JSON text for some fields; without them if that is empty."""
    kept = {name: json.dumps(value) for name, value in json.loads(line).items()} | changed
    return ("{" + ",".join(f'"{name}":{text}' for name, text in kept.items() if text) + "}").encode()


REFUSED = [
    *((line, "not_json") for line in (
        b"", b" ", b"{", b"null", b"[]", b"1", b'"x"', b"NaN", GOOD + b"x", GOOD + GOOD, GOOD[:-1], b"\xef\xbb\xbf" + GOOD, b"\xff" + GOOD,
        GOOD.replace(b'"c"', b'"\xff"'), GOOD.replace(b'"c"', b'"\xed\xa0\x80"'), GOOD.replace(b'"c"', b'"\t"'),
        GOOD.replace(b": 10,", b": 010,"), GOOD.replace(b": 10,", b": .5,"), GOOD.replace(b": 10,", b": 1.,"),
        GOOD.replace(b": 10,", b": -NaN,"), GOOD.replace(b'"', b"'"),
        but(GOOD, extra="[" * 3000 + "]" * 3000), b"\x0b" + GOOD, "\u00a0".encode() + GOOD,
    )),
    *((but(GOOD, type=text), "unknown_type") for text in ("", "null", '""', "1", '["location"]', '"Transaction"', "NaN")),
    *((but(GOOD, **{name: text}), f"missing:{name}") for name in ("tx_id", "customer", "amount", "merchant", "lat", "lon", "ts")
      for text in ("", "null", '""')),
    *((but(THERE, **{name: text}), f"missing:{name}") for name in module.FIELDS["location"] for text in ("", "null", '""')),
    *((but(GOOD, **{name: text}), f"bad_type:{name}") for name in ("tx_id", "customer", "card", "merchant")
      for text in ("1", "true", "[]", "{}", "NaN", '"\\ud800"', '"\\udc00\\ud800"')),
    *((but(GOOD, **{name: text}), f"bad_type:{name}") for name in ("amount", "lat", "lon")
      for text in ('"1"', "true", "false", "[]", "{}", "NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 400, "9" * 5000)),
    *((but(GOOD, ts=json.dumps(text)), "bad_type:ts") for text in (
        1770000000, True, "x", "2026-02-30T00:00:00Z", "2026-02-02T24:00:00Z", "2026-02-02T23:59:60Z", "2026-02-02T00:00:00.1234567Z",
        "2026-02-02T00:00:00.Z", "2026-02-02  00:00:00", "2026-02-02t00:00:00", "2026-02-02T00:00:00z", "2026-02-02T00:00:00+01",
        "2026-02-02T00:00:00+24:00", "2026-02-02T00:00:00+01:60", "2026-02-02", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01", "2026-02-02T00:00:00Z\n", "２０２６-02-02T00:00:00Z",
    )),
    *((but(GOOD, amount=text), "out_of_range:amount") for text in ("0", "-0.0", "-1e-300", "1e-400")),
    *((but(line, lat=text), "out_of_range:lat") for line in (GOOD, THERE) for text in ("90.00000000000001", "-91", "1e300")),
    *((but(line, lon=text), "out_of_range:lon") for line in (GOOD, THERE) for text in ("180.00000000000003", "-181")),
    *((but(line, ts=json.dumps(text)), "future_timestamp") for line in (GOOD, THERE)
      for text in ("2026-02-04T00:00:00.000001Z", "2026-02-03T23:59:59.999999-00:01", "9999-12-31T23:59:59.999999Z")),
    # all that is missing goes first, then all that is of the wrong type, then what is out of range
    (but(GOOD, tx_id="1", amount='"x"', ts='""'), "missing:ts"),
    (but(GOOD, amount="0", lat="99", lon="999", ts='"x"'), "bad_type:ts"),
    (but(GOOD, card="1", amount="NaN"), "bad_type:card"),
    (but(GOOD, amount="0", lat="99", lon="999"), "out_of_range:amount"),
    (but(GOOD, lat="99", lon="999", ts='"9999-01-01T00:00:00"'), "out_of_range:lat"),
    (GOOD[:-1] + b',"amount":null}', "missing:amount"),  # of a name that occurs twice the last counts
]  # fmt: skip


@pytest.mark.parametrize(("line", "reason"), REFUSED, ids=lambda value: repr(value)[:60])
def test_a_refused_line_has_its_first_reason(line: bytes, reason: str) -> None:
    assert judge(line).dead == [(1, reason)]


TAKEN = [
    but(GOOD, card=""), but(GOOD, card="null"), but(GOOD, card='""'), but(GOOD, extra="[" * 300 + "]" * 300), but(GOOD, extra="NaN"),
    but(GOOD, extra='"\\ud800"'), but(GOOD, amount="1e-300"), but(GOOD, amount="9" * 300), but(GOOD, lat="-90", lon="180"),
    b" " + GOOD + b" \r", but(GOOD, customer='"\\ud83d\\ude00"'), but(GOOD, type='"\\u0074ransaction"'),
    but(GOOD, ts='"2026-02-04T00:00:00Z"'),
    but(GOOD, ts='"2026-02-04T01:30:00+01:30"'), but(GOOD, ts='"0001-01-01 00:00:00"'), GOOD[:-1] + b',"amount":"x","amount":1}',
    but(GOOD, tx_id='" "'),
]  # fmt: skip


@pytest.mark.parametrize("line", TAKEN, ids=lambda value: repr(value)[:60])
def test_these_are_valid(line: bytes) -> None:
    assert judge(line).decided == [1]


TIMES = [
    ("1970-01-01T00:00:00Z", 0), ("1970-01-01 00:00:00", 0), ("1970-01-01T00:00:00.000001", 1), ("1970-01-01T00:00:01.5Z", 1_500_000),
    ("1969-12-31T23:59:59.999999Z", -1), ("1970-01-01T01:30:00+01:30", 0), ("1969-12-31T19:00:00-05:00", 0),
    ("1970-01-01T00:00:00-00:00", 0), ("1970-01-01T23:59:00+23:59", 0), ("2026-02-02T02:40:00.005Z", 1_770_000_000_005_000),
    ("0001-01-01T00:00:00Z", module.FIRST),
    ("9999-12-31T23:59:59.999999Z", module.LAST),
]  # fmt: skip


@pytest.mark.parametrize(("text", "micros"), TIMES)
def test_a_time_is_microseconds_since_1970(text: str, micros: int) -> None:
    assert instant(text) == micros
    assert instant(module.written(micros)) == micros
