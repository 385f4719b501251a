"""Totals per minute: what they count, when they close, and what is late."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

import headrace as hr
from headrace.planning.table import Mode
from headrace_fraud.deciding import windows

pytestmark = pytest.mark.usefixtures("spark")

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


def totals(mode: Mode, *batches: Sequence[Decision]) -> tuple[dict[Any, tuple[Any, ...]], dict[Any, tuple[Any, ...]], list[str]]:
    """The last row of every minute, those of them that are closed, and the ids of what was late; each batch is a micro-batch."""
    minutes, late = windows.totals(hr.read.memory(SCHEMA, *batches))
    outputs = minutes.to.memory("minutes"), late.to.memory("late")
    hr.Job("totals", *outputs, trigger=hr.once).run(mode)
    rows, too_late = (output.sink.rows for output in outputs)  # type: ignore[attr-defined]
    last = {(row.minute.astimezone(UTC), row.merchant): row for row in rows}
    counts = {
        key: (row.transactions, row.amount, row.flagged, row.velocity, row.amount_rule, row.location, row.customers)
        for key, row in last.items()
    }
    return counts, {key: counts[key] for key, row in last.items() if row.closed}, [row.tx_id for row in too_late]


@pytest.mark.parametrize("size", [600, 50])
def test_closed_windows_equal_the_recomputation_however_the_stream_was_cut(size: int) -> None:
    rows = decisions(1, 600, 200, disorder=8)
    end = [("end", "c", START + timedelta(hours=1), 1.0, "m", [], False)]
    _, closed, late = totals("micro-batch", *(rows[start : start + size] for start in range(0, len(rows), size)), end)
    assert late == []
    assert closed == recomputed(rows)


def test_a_decision_behind_the_watermark_is_late_and_not_counted() -> None:
    def at(name: str, seconds: float) -> Decision:
        return (name, "c1", START + timedelta(seconds=seconds), 1.0, "m1", [], False)

    _, closed, late = totals(
        "micro-batch",
        [at("first", 5), at("newest", 100)],  # the watermark is now 90 seconds after the start
        [at("late", 30), at("at the watermark", 90), at("in time", 90.000_001)],
        [at("end", 1_000)],
    )
    assert late == ["late", "at the watermark"]
    assert closed == recomputed([at("first", 5), at("newest", 100), at("in time", 90.000_001)])


def test_a_minute_shows_its_totals_before_it_is_closed() -> None:
    rows = decisions(2, 40, 20, disorder=0)
    counts, closed, _ = totals("micro-batch", rows)
    assert (counts, closed) == (recomputed(rows), {})


def test_a_batch_has_all_its_windows() -> None:
    rows = decisions(3, 300, 150, disorder=60)
    counts, _, late = totals("batch", rows)
    assert (counts, late) == (recomputed(rows), [])
