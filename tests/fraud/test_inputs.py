"""The nasty input is as nasty as it says."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from tests.fraud.inputs import POISON, lines, nasty, reasons
from tests.fraud.oracle import Outcome, oracle

NOW = datetime(2027, 1, 1, tzinfo=UTC)
COUNT = 20_000


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return oracle(nasty(7, COUNT), NOW)


def test_the_same_seed_gives_the_same_lines() -> None:
    assert nasty(3, 500) == nasty(3, 500) != nasty(4, 500)


def test_no_line_has_a_line_end() -> None:
    assert not [line for line in nasty(5, COUNT) if b"\n" in line]


def test_the_poison_is_three_per_cent_and_has_every_reason(outcome: Outcome) -> None:
    assert len(outcome.dead) / COUNT == pytest.approx(POISON, rel=0.15)
    assert {reason for _, reason in outcome.dead} == set(reasons())


def test_every_rule_is_both_broken_and_kept_often(outcome: Outcome) -> None:
    broken = Counter(rule for decision in outcome.decisions for rule in decision["rules"])
    for rule, least in {"velocity": 0.2, "amount": 0.005, "location": 0.2}.items():
        assert least < broken[rule] / len(outcome.decisions) < 0.8
    assert len(Counter(tuple(decision["rules"]) for decision in outcome.decisions)) == 8, "in every combination"


def test_the_exact_limits_occur(outcome: Outcome) -> None:
    gaps = Counter(decision["gap_s"] for decision in outcome.decisions)
    assert min(gaps[gap] for gap in (0.0, 1e-6, 9.999999, 10.0, 10.000001, 599.999999, 600.0, 600.000001)) > 20
    at_100_km = Counter("location" in decision["rules"] for decision in outcome.decisions if decision["distance_km"] == 100.0)
    assert at_100_km[True] > 20
    assert at_100_km[False] > 20
    assert sum(decision["amount"] == decision["previous_max"] for decision in outcome.decisions) > 20
    assert len(outcome.duplicates) / COUNT > 0.01


def test_a_tx_id_is_also_decided_twice(outcome: Outcome) -> None:
    assert max(Counter((decision["customer"], decision["tx_id"]) for decision in outcome.decisions).values()) > 1


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(given=lines(max_size=60))
def test_each_line_of_the_strategy_has_one_fate(given: list[bytes]) -> None:
    outcome = oracle(given, NOW)
    fates = outcome.decided + outcome.duplicates + outcome.locations + [line for line, _ in outcome.dead]
    assert sorted(fates) == list(range(1, len(given) + 1))
    assert not any(b"\n" in line for line in given)
