"""`headrace fraud decide` equals the oracle, which shares no code with it: in all three modes, to the last digit."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from pyspark.sql import SparkSession
from tests.fraud import inputs
from tests.fraud.oracle import Limits, oracle

from headrace import HeadraceError
from headrace_fraud.deciding import lines
from headrace_fraud.deciding.lines import Mode
from headrace_fraud.deciding.settings import Rules

MODES: tuple[Mode, ...] = ("batch", "micro-batch", "real-time")
CARD = "4111111111111111"

Decide = Callable[..., tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, int]]]


@pytest.fixture
def decide(tmp_path: Path, spark: SparkSession) -> Decide:  # noqa: ARG001 - decided with this session
    """Decisions, dead letters and the summary of some lines."""

    def run(given: Sequence[bytes], mode: Mode = "batch", rules: Rules = Rules()) -> Any:  # noqa: B008
        file, out, dead = tmp_path / "in.jsonl", tmp_path / "out.jsonl", tmp_path / "dead.jsonl"
        file.write_bytes(b"".join(line + b"\n" for line in given))
        summary = lines.decide(file, mode, out, dead, rules)
        return rows(out), rows(dead), asdict(summary)

    return run


def rows(file: Path) -> list[dict[str, Any]]:
    *found, end = file.read_bytes().split(b"\n")
    assert end == b""
    return [json.loads(line) for line in found]


def check(decide: Decide, given: Sequence[bytes], mode: Mode = "batch", rules: Rules = Rules(), limits: Limits = Limits()) -> None:  # noqa: B008
    compare(oracle(given, datetime.now(UTC), limits), len(given), *decide(given, mode, rules))


def compare(wanted: Any, lines: int, decisions: list[dict[str, Any]], dead: list[dict[str, Any]], summary: dict[str, int]) -> None:
    assert decisions == wanted.decisions
    assert [(letter["line"], letter["reason"]) for letter in dead] == wanted.dead
    assert summary == {
        "lines": lines,
        "decided": len(wanted.decisions),
        "flagged": sum(decision["flagged"] for decision in wanted.decisions),
        "duplicates": len(wanted.duplicates),
        "dead_letters": len(wanted.dead),
        "locations": len(wanted.locations),
    }


@functools.cache
def nasty(count: int) -> tuple[list[bytes], Any]:
    """The records of the test below, and what the oracle says of them: half of its time, and the same for each mode."""
    given = inputs.nasty(2026, count)
    return given, oracle(given, datetime.now(UTC), Limits())


@pytest.mark.parametrize("count", [30_000, pytest.param(200_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("mode", MODES)
def test_nasty_records_are_decided_as_the_oracle_does(decide: Decide, mode: Mode, count: int) -> None:
    given, wanted = nasty(count)
    compare(wanted, len(given), *decide(given, mode))


SLOW = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]


@hypothesis_settings(max_examples=5, deadline=None, suppress_health_check=SLOW)  # few and large: each takes a run of seconds
@given(given=inputs.lines(min_size=60, max_size=200))
def test_any_records_are_decided_as_the_oracle_does(decide: Decide, given: list[bytes]) -> None:
    check(decide, given)


def test_the_numbers_of_the_rules_are_parameters(decide: Decide) -> None:
    rules = Rules(velocity_seconds=3, memory_minutes=0.5, distance_km=2000, location_hours=1, ahead_hours=1)
    limits = Limits(velocity_s=3, memory_s=30, distance_km=2000, location_age_s=3600, ahead_s=3600)
    check(decide, inputs.nasty(11, 5_000), rules=rules, limits=limits)


def test_lines_are_numbered_through_all_parts_of_a_large_file(decide: Decide, spark: SparkSession) -> None:
    spark.conf.set("spark.sql.files.maxPartitionBytes", "100000")
    try:
        check(decide, inputs.nasty(12, 5_000))
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")


def transaction(**fields: object) -> bytes:
    whole = {
        "type": "transaction", "tx_id": "t1", "customer": "c1", "card": CARD, "amount": 12.34, "merchant": "m7",
        "lat": 59.33, "lon": 18.06, "ts": "2026-02-02T02:40:00.005Z",
    }  # fmt: skip
    return json.dumps(whole | fields).encode()


@pytest.mark.parametrize("mode", MODES)
def test_the_full_card_number_is_in_no_output(decide: Decide, mode: Mode, tmp_path: Path) -> None:
    given = [transaction(), transaction(amount=-1), transaction(card=int(CARD)), b'{"card": "4111 1111 1111 1111"', transaction(tx_id=CARD)]
    decisions, dead, _ = decide(given, mode)
    assert decisions[0]["card"] == "411111******1111"
    assert [letter["reason"] for letter in dead] == ["out_of_range:amount", "bad_type:card", "not_json"]
    for letter in dead:
        assert CARD not in letter["raw"]
        assert "4111 1111 1111 1111" not in letter["raw"]
    assert CARD not in (tmp_path / "dead.jsonl").read_text()


@pytest.mark.parametrize("mode", MODES)
def test_an_empty_file_gives_two_empty_files(decide: Decide, mode: Mode) -> None:
    decisions, dead, summary = decide([], mode)
    assert (decisions, dead, summary["lines"]) == ([], [], 0)


def test_a_line_end_of_another_system_is_no_line_end(decide: Decide) -> None:
    _, dead, summary = decide([b"a\rb", b"", b"c"])
    assert [(letter["line"], letter["reason"]) for letter in dead] == [(1, "not_json"), (2, "not_json"), (3, "not_json")]
    assert summary["lines"] == 3


@pytest.mark.parametrize(
    ("given", "out", "what"),
    [
        ("absent.jsonl", "out.jsonl", "there is no file absent.jsonl"),
        ("in.jsonl", "absent/out.jsonl", "there is no directory for absent/out.jsonl"),
    ],
)
def test_what_cannot_be_read_or_written_is_said_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, out: str, what: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.jsonl").write_text("{}")
    with pytest.raises(HeadraceError) as error:
        lines.decide(Path(given), "batch", Path(out), None, Rules())
    assert error.value.what == what
