"""Totals per minute: what they count, when they close, and what is late."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace.testing.microbatches import MicroBatches
from headrace.testing.results import Result
from headrace_fraud import windows

SCHEMA = "tx_id string, customer string, ts timestamp, amount double, merchant string, rules array<string>, flagged boolean"
START = datetime(2026, 2, 2, 2, 40, tzinfo=UTC)
RULES = ("velocity", "amount", "location")

Decision = tuple[str, str, datetime, float, str, list[str], bool]


def decisions(seed: int, count: int, seconds: float, disorder: float) -> list[Decision]:
    """So many decisions over so many seconds; each may come by up to `disorder` seconds too late."""
    random = Random(seed)
    found = []
    for n in range(count):
        at = seconds * n / count
        rules = [rule for rule in RULES if random.random() < 0.2]
        ts = START + timedelta(seconds=at, microseconds=random.randrange(1_000_000))
        row = (f"t{n}", f"c{random.randrange(20)}", ts, random.randrange(1, 10_000) / 100, f"m{random.randrange(4)}", rules, bool(rules))
        found.append((at + random.random() * disorder, row))
    return [row for _, row in sorted(found, key=lambda pair: pair[0])]


def recomputed(rows: Iterable[Decision]) -> dict[tuple[datetime, str | None], tuple[Any, ...]]:
    """The same totals in plain Python, in no time's order."""
    groups: dict[tuple[datetime, str | None], list[Decision]] = defaultdict(list)
    for row in rows:
        minute = row[2].replace(second=0, microsecond=0)
        groups[minute, row[4]].append(row)
        groups[minute, None].append(row)
    return {
        (minute, merchant): (
            len(group),
            round(sum(row[3] for row in group), 6),
            sum(row[6] for row in group),
            *(sum(rule in row[5] for row in group) for rule in RULES),
            len({row[1] for row in group}) if merchant is None else None,
        )
        for (minute, merchant), group in groups.items()
    }


def shown(result: Result) -> tuple[dict[Any, tuple[Any, ...]], dict[Any, tuple[Any, ...]], list[str]]:
    """The last row of every minute, those of them that are closed, and the ids of what was late."""
    last: dict[Any, Any] = {}
    late = []
    for row in result.rows:
        if row.late is not None:
            late.append(row.late.late.tx_id)
        else:
            last[row.main.minute.astimezone(UTC), row.main.merchant] = row.main
    totals = {
        key: (row.transactions, row.amount, row.flagged, row.velocity, row.amount_rule, row.location, row.customers)
        for key, row in last.items()
    }
    return totals, {key: totals[key] for key, row in last.items() if row.closed}, late


@pytest.mark.parametrize("size", [1_000, 37])
def test_closed_windows_equal_the_recomputation_however_the_stream_was_cut(spark: SparkSession, size: int) -> None:
    given = decisions(1, 600, 200, disorder=8)
    with MicroBatches(windows.totals, SCHEMA, spark=spark) as stream:
        result = stream.nothing
        for start in range(0, len(given), size):
            result += stream.feed(given[start : start + size])
        result += stream.feed([("end", "c", START + timedelta(hours=1), 1.0, "m", [], False)])
        result += stream.tick()
    _, closed, late = shown(result)
    assert late == []
    assert closed == recomputed(given)


def test_a_decision_behind_the_watermark_is_late_and_not_counted(spark: SparkSession) -> None:
    def at(name: str, seconds: float) -> Decision:
        return (name, "c1", START + timedelta(seconds=seconds), 1.0, "m1", [], False)

    with MicroBatches(windows.totals, SCHEMA, spark=spark) as stream:
        result = stream.feed([at("first", 5), at("newest", 100)])  # the watermark is now 90 seconds after the start
        result += stream.feed([at("late", 30), at("at the watermark", 90), at("in time", 90.000_001)])
        result += stream.feed([at("end", 1_000)]) + stream.tick()
    _, closed, late = shown(result)
    assert late == ["late", "at the watermark"]
    assert closed == recomputed([at("first", 5), at("newest", 100), at("in time", 90.000_001)])


def test_a_minute_shows_its_totals_before_it_is_closed(spark: SparkSession) -> None:
    given = decisions(2, 40, 20, disorder=0)
    with MicroBatches(windows.totals, SCHEMA, spark=spark) as stream:
        totals, closed, _ = shown(stream.feed(given))
    assert (totals, closed) == (recomputed(given), {})


def test_a_batch_has_all_its_windows(spark: SparkSession) -> None:
    given = decisions(3, 300, 150, disorder=60)
    rows = windows.totals(spark.createDataFrame(given, SCHEMA))
    totals, _, late = shown(Result.of(rows))
    assert (totals, late) == (recomputed(given), [])
