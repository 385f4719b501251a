"""The made-up world: the same for the same seed, worth watching, and its frauds break the rules that they are meant to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.fraud.oracle import Outcome, haversine, oracle

from headrace.errors import DefinitionError
from headrace_fraud import world
from headrace_fraud.world import broken, files, stream, truth
from headrace_fraud.world.cities import AWAY, CITIES
from headrace_fraud.world.scenes import DOSES, spoiled

NOW = datetime(2026, 3, 1, tzinfo=UTC)
RATE, COUNT = 200, 50_000


@pytest.fixture(scope="module")
def events() -> list[world.Event]:
    return list(world.events(seed=11, rate=RATE, events=COUNT))


@pytest.fixture(scope="module")
def outcome(events: list[world.Event]) -> Outcome:
    return oracle([event.value for event in events], NOW)


@pytest.fixture(scope="module")
def rules(outcome: Outcome) -> dict[str, list[str]]:
    """The rules that each transaction broke."""
    return {decision["tx_id"]: decision["rules"] for decision in outcome.decisions}


def records(events: list[world.Event], topic: str) -> list[dict[str, Any]]:
    return [json.loads(event.value) for event in events if event.topic == topic and not (event.note or "").startswith("broken")]


def test_the_same_arguments_give_the_same_events_and_others_do_not() -> None:
    def some(**other: Any) -> list[world.Event]:
        return list(world.events(**{"seed": 1, "rate": 50, "events": 3000, **other}))

    assert some() == some()
    for other in ({"seed": 2}, {"start": world.START + timedelta(seconds=1)}, {"rate": 51}):
        assert some(**other) != some()
    assert some(events=100) == some()[:100]


def test_the_bytes_do_not_depend_on_the_process() -> None:
    program = """
import hashlib
from headrace_fraud import world
print(hashlib.sha256(b"".join(event.value for event in world.events(seed=5, rate=50, events=5000))).hexdigest())
"""
    apps = str(Path(__file__).parents[2] / "apps" / "fraud")
    path = os.pathsep.join([apps, str(Path(__file__).parents[2] / "src")])
    sums = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONPATH": path, "PYTHONHASHSEED": seed}, check=True, capture_output=True, timeout=60
        ).stdout
        for seed in ("1", "2")
    }
    # Also the bytes of every other machine: if they change on purpose, so does this.
    assert sums == {b"3121e1c2061061098516539e75eacecaeb2a2ed357b929e268676424948964f2\n"}


def test_two_runs_of_a_seed_have_no_tx_id_in_common() -> None:
    ids = [
        {record["tx_id"] for record in records(list(world.events(start=start, events=200)), "transactions")}
        for start in (world.START, world.START + timedelta(milliseconds=1))
    ]
    assert not ids[0] & ids[1]


@pytest.mark.parametrize("rate", [0.5, 7, 1000, 2500.5])
def test_the_rate_is_in_transactions_a_second_and_locations_come_on_top(rate: float) -> None:
    some = list(world.events(rate=rate, events=6000))
    counts = Counter(event.topic for event in some)
    seconds = some[-1].due - some[0].due
    assert counts["transactions"] / seconds == pytest.approx(rate, rel=0.02)
    assert counts["transactions"] / counts["locations"] == pytest.approx(stream.TRANSACTIONS_PER_LOCATION, rel=0.05)
    assert all(before.due <= after.due for before, after in pairwise(some))


@pytest.mark.parametrize("rate", [0, -1, 1e7, float("nan")])
def test_a_rate_that_cannot_be_is_refused(rate: float) -> None:
    with pytest.raises(DefinitionError) as refused:
        world.events(rate=rate)
    assert "cannot be made" in refused.value.what


def test_a_start_without_a_time_zone_is_refused() -> None:
    with pytest.raises(DefinitionError) as refused:
        world.events(start=datetime(2026, 2, 2))
    assert refused.value.what == "the start 2026-02-02 00:00:00 has no time zone"


def test_a_record_is_due_at_its_ts_unless_it_is_late_disordered_or_again(events: list[world.Event]) -> None:
    gaps: dict[str | None, list[float]] = defaultdict(list)
    for event in events:
        if not (event.note or "").startswith("broken"):
            ts = datetime.fromisoformat(json.loads(event.value)["ts"]).timestamp()
            gaps[event.note if event.note in ("late", "disordered", "duplicate") else None].append(round(event.due - ts, 6))
    assert set(gaps[None]) == {0.0}
    for note, (least, most) in {"late": (5, 180), "disordered": (0.1, 3), "duplicate": (0.2, 5)}.items():
        assert least <= min(gaps[note]) <= max(gaps[note]) <= most


def test_customers_buy_by_day_and_sleep_by_night() -> None:
    day = list(world.events(rate=0.4, events=int(86_400 * 0.4 * 1.2)))
    hours: Counter[int] = Counter()
    city = {merchant.id: merchant.city for merchant in world.merchants().values()}
    offsets = {each.name: timedelta(minutes=each.utc_offset_min) for each in CITIES}
    kinds: dict[int, Counter[str]] = defaultdict(Counter)
    for record in records(day, "transactions"):
        hour = (datetime.fromisoformat(record["ts"]) + offsets[city[record["merchant"]]]).hour
        hours[hour] += 1
        kinds[hour][world.merchants()[record["merchant"]].kind] += 1
    assert sum(hours[hour] for hour in range(1, 5)) * 4 < sum(hours[hour] for hour in range(16, 20))
    assert kinds[8]["coffee"] > 1.4 * kinds[20]["coffee"] * hours[8] / hours[20]
    assert kinds[19]["dinner"] > 1.4 * kinds[9]["dinner"] * hours[19] / hours[9]


def test_customers_have_habits(events: list[world.Event]) -> None:
    shops: dict[str, set[str]] = defaultdict(set)
    amounts: dict[str, list[float]] = defaultdict(list)
    cities: dict[str, set[str]] = defaultdict(set)
    for event in events:
        if event.topic == "transactions" and event.truth is None and event.note is None:
            record = json.loads(event.value)
            shops[record["customer"]].add(record["merchant"])
            cities[record["customer"]].add(world.merchants()[record["merchant"]].city)
            amounts[world.merchants()[record["merchant"]].kind].append(record["amount"])
    assert max(len(each) for each in cities.values()) <= 4
    assert sum(len(each) == 1 for each in cities.values()) / len(cities) > 0.9
    assert len(shops) > 2000
    assert sorted(amounts["coffee"])[len(amounts["coffee"]) // 2] < sorted(amounts["electronics"])[len(amounts["electronics"]) // 2] / 5


def test_cards_are_of_test_ranges_and_pass_the_luhn_check(events: list[world.Event]) -> None:
    cards = {(record["card"], record["customer"]) for record in records(events, "transactions") if record["card"]}
    assert len(cards) == len({card for card, _ in cards}), "no two customers share a card"
    assert 1 < max(Counter(customer for _, customer in cards).values()) <= 2
    for card, _ in cards:
        digits = [int(digit) for digit in reversed(card)]
        assert sum(digits[0::2] + [sum(divmod(2 * digit, 10)) for digit in digits[1::2]]) % 10 == 0
        assert card.startswith(("411111", "424242", "555555", "510510", "601111", "378282"))
    assert any(record["card"] is None for record in records(events, "transactions"))


def test_places_are_on_the_map_and_shops_in_their_cities(events: list[world.Event]) -> None:
    assert len(CITIES) >= 60
    places = {city.name: (city.lat, city.lon) for city in CITIES}
    assert all(haversine(*places[merchant.city], merchant.lat, merchant.lon) < 10 for merchant in world.merchants().values())
    assert all(
        haversine(a.lat, a.lon, CITIES[there].lat, CITIES[there].lon) > 240 for a, away in zip(CITIES, AWAY, strict=True) for there in away
    )
    for record in records(events, "locations"):
        assert min(haversine(*place, record["lat"], record["lon"]) for place in places.values()) < 12
    for record in records(events, "transactions"):
        merchant = world.merchants()[record["merchant"]]
        assert (record["lat"], record["lon"]) == (merchant.lat, merchant.lon)


def test_phones_travel_with_their_owners(events: list[world.Event]) -> None:
    travelled = {event.key for event in events if event.note == "travel" and event.topic == "locations"}
    assert travelled
    seen: dict[str, set[tuple[int, int]]] = defaultdict(set)
    for record in records(events, "locations"):
        seen[record["customer"]].add((round(record["lat"]), round(record["lon"])))
    assert any(len(seen[customer]) > 1 for customer in travelled)


@pytest.mark.parametrize("kind", truth.RULES)
def test_a_fraud_breaks_its_rule_unless_it_is_careful_or_opens_a_burst(
    kind: str, events: list[world.Event], rules: dict[str, list[str]]
) -> None:  # fmt: skip
    frauds = [event for event in events if event.truth and event.truth.kind == kind and event.note != "duplicate"]
    unnoticed = {event.truth.tx_id for event in frauds if event.truth and kind not in rules[event.truth.tx_id]}
    meant = {
        event.truth.tx_id for event in frauds if event.truth and (event.note == "careful" or (kind == "velocity" and event.truth.part == 0))
    }
    assert len(frauds) > 100
    assert len(unnoticed) < len(frauds) / 3
    assert unnoticed == meant


def test_the_honest_break_rules_too_though_seldom(events: list[world.Event], outcome: Outcome) -> None:
    scores = world.score(outcome.decisions, [event.truth for event in events if event.truth])
    for rule, (least, most) in {"velocity": (0.5, 0.95), "amount": (0.4, 0.9), "location": (0.6, 0.99)}.items():
        precision = scores[rule]["precision"]
        assert precision is not None
        assert least < precision < most


def test_what_is_broken_is_refused_for_its_reason_and_nothing_else_is(events: list[world.Event], outcome: Outcome) -> None:
    noted = [(line, event.note[7:]) for line, event in enumerate(events, start=1) if event.note and event.note.startswith("broken:")]
    assert outcome.dead == noted
    assert outcome.duplicates == [line for line, event in enumerate(events, start=1) if event.note == "duplicate"]


def later(due: int, make: Callable[[int], world.Event], *, instead: bool = True) -> None:
    raise AssertionError(f"nothing should follow, but {make} at {due}, instead: {instead}")


def test_every_reason_occurs_sooner_or_later() -> None:
    people, start = world.World(1), int(world.START.timestamp() * 1000)
    some = [spoiled(people, start + number * 20_000, later) for number in range(1500)]
    judged = oracle([event.value for event in some], NOW)
    assert {reason for _, reason in judged.dead} == broken.reasons()
    numbers = [f"bad_type:{name}" for name in ("amount", "lat", "lon")] + [f"out_of_range:{name}" for name in ("amount", "lat", "lon")]
    strings = [f"bad_type:{name}" for name in ("tx_id", "customer", "card", "merchant", "ts")]
    missing = [f"missing:{name}" for name in ("tx_id", "customer", "amount", "merchant", "lat", "lon", "ts")]
    assert broken.reasons() == {"not_json", "unknown_type", "future_timestamp", *numbers, *strings, *missing}
    assert all(event.key.startswith("c") for event in some), "keyed by the customer, also where the record does not say"
    assert not any(b"\n" in event.value for event in some)


def test_the_doses_are_as_stated(events: list[world.Event]) -> None:
    transactions = sum(event.topic == "transactions" for event in events)
    stated = {scene.__name__: dose / 1000 for scene, dose in DOSES}
    counts = Counter((event.note or "").split(":")[0] for event in events if event.topic == "transactions")
    frauds = Counter(event.truth.kind for event in events if event.truth and event.truth.part == 0 and event.note != "duplicate")
    for found, dose in [
        (counts["late"], stated["late"]), (counts["disordered"], stated["disordered"]), (counts["duplicate"], stated["duplicate"]),
        (counts["broken"], stated["spoiled"] * 0.8), (counts["record"], stated["record"]), (counts["double"], stated["double"]),
        (frauds["velocity"], stated["burst"]), (frauds["amount"], stated["splurge"]), (frauds["location"], stated["elsewhere"]),
    ]:  # fmt: skip
        assert 0.5 * dose < found / transactions < 1.5 * dose
    assert len([event for event in events if event.truth]) / transactions < 0.02


def test_the_file_has_the_events_and_the_truth_is_kept_aside(tmp_path: Path) -> None:
    counts = files.write(tmp_path / "in.jsonl", events=20_000, seed=3, rate=100, truth_path=tmp_path / "truth.jsonl")
    some = list(world.events(seed=3, rate=100, events=20_000))
    assert (tmp_path / "in.jsonl").read_bytes().split(b"\n") == [*(event.value for event in some), b""]
    frauds = [event.truth for event in some if event.truth]
    assert list(truth.read(tmp_path / "truth.jsonl")) == frauds
    assert counts == {**Counter(event.topic for event in some), "frauds": len(frauds)}
    assert len({fraud.tx_id for fraud in frauds}) == len(frauds)
    ids = {json.loads(event.value)["tx_id"] for event in some if event.truth}
    assert ids == {fraud.tx_id for fraud in frauds}
    assert b"fraud" not in (tmp_path / "in.jsonl").read_bytes()


def test_a_line_of_truth_that_is_still_being_written_is_left_out(tmp_path: Path) -> None:
    whole = world.Truth("t1", "c1", "amount", 0)
    (tmp_path / "truth.jsonl").write_text(whole.line() + whole.line()[:-5])
    assert list(truth.read(tmp_path / "truth.jsonl")) == [whole]


def decision(tx_id: str, *broken_rules: str) -> dict[str, Any]:
    return {"customer": "c", "tx_id": tx_id, "rules": list(broken_rules)}


def test_the_score_counts_by_transaction_and_rule() -> None:
    frauds = [world.Truth(f"v{part}", "c", "velocity", part) for part in range(3)] + [world.Truth("l", "c", "location", 0)]
    decisions = [
        decision("v0"), decision("v1", "velocity", "amount"), decision("v1", "velocity", "amount"),
        decision("honest", "velocity", "amount"),
    ]  # fmt: skip
    assert world.score(decisions, frauds) == {
        "velocity": {"precision": 1 / 2, "recall": 1 / 3, "alerts": 2, "right": 1, "frauds": 3, "caught": 1},
        "amount": {"precision": 1 / 2, "recall": None, "alerts": 2, "right": 1, "frauds": 0, "caught": 0},
        "location": {"precision": None, "recall": 0.0, "alerts": 0, "right": 0, "frauds": 1, "caught": 0},
    }


def test_nobody_breaks_velocity_by_habit_while_there_are_customers_enough() -> None:
    some = list(islice(world.events(rate=1500, start=datetime(2026, 2, 2, 3, tzinfo=UTC)), 40_000))
    honest = [event for event in some if event.note is None and event.truth is None]
    alerts = {d["tx_id"] for d in oracle([event.value for event in some], NOW).decisions if "velocity" in d["rules"]}
    wrong = [event for event in honest if event.topic == "transactions" and json.loads(event.value)["tx_id"] in alerts]
    assert len(wrong) < len(honest) / 2000
