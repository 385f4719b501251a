"""Windows over generated, disordered records, cut into batches at random: pane by pane what plain Python has."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pyspark.sql import functions as F
from tests.ops.windows.oracle import Oracle, Record, Row, Spec
from tests.ops.windows.running import SCHEMA, at, seconds, windowed
from tests.ops.windows.test_panes import together

from headrace.ops.windows import after_watermark, cumulating, sessions, sliding, tumbling
from headrace.testing.microbatches import MicroBatches

pytestmark = pytest.mark.usefixtures("spark")
DELAY = 3

SPECS: dict[str, tuple[Any, Spec]] = {
    "tumbling": (tumbling("10 seconds", offset="3 seconds"), Spec(assign=lambda t: [((t - 3) // 10 * 10 + 3, (t - 3) // 10 * 10 + 13)])),
    "tumbling, late": (
        tumbling("5 seconds"), Spec(lateness=4, early=2, late=2, discarding=True, assign=lambda t: [(t // 5 * 5, t // 5 * 5 + 5)]),
    ),
    "sliding, late": (
        sliding("6 seconds", "4 seconds"),
        Spec(lateness=3, early=3, assign=lambda t: [(s, s + 6) for s in range(t // 4 * 4, t - 6, -4)]),
    ),
    "cumulating": (
        cumulating("2 seconds", "6 seconds"),
        Spec(early=4, assign=lambda t: [(t // 6 * 6, t // 6 * 6 + end) for end in (2, 4, 6) if t // 6 * 6 + end > t]),
    ),
    "sessions": (sessions("2 seconds"), Spec(gap=lambda _: 2)),
    "sessions, late": (sessions("2 seconds"), Spec(lateness=6, early=2, late=2, gap=lambda _: 2)),
    "sessions of any gap": (lambda: sessions(F.col("v") % 4 + 1), Spec(lateness=4, gap=lambda v: v % 4 + 1)),
}  # fmt: skip


def operator(window: Any, spec: Spec) -> Any:
    window = window() if callable(window) else window  # a column needs a session
    trigger = after_watermark(early=spec.early or None, late=spec.late if spec.lateness else None)
    return windowed(
        window, delay=f"{DELAY} seconds", trigger=trigger, lateness=spec.lateness * 1_000_000,
        accumulation="discarding" if spec.discarding else "accumulating", aggregates=lambda: {"values": F.collect_list("v")},
    )  # fmt: skip


def batches(seed: int) -> list[list[Record]]:
    """Time goes on by a second a record or so; some come much later."""
    chance = random.Random(seed)
    records = [
        (chance.choice("ab"), number, max(0, number // 2 - chance.choice([0, 0, 1, 2, 3, 5, 9, 14]) + chance.choice([0, 0, 0, 6])))
        for number in range(1, 61)
    ]
    cuts = sorted(chance.sample(range(1, 60), 7))
    return [records[start:end] for start, end in zip([0, *cuts], [*cuts, 60], strict=True)]


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 33))])
def test_every_pane_is_what_plain_python_has(seed: int) -> None:
    fed = batches(seed)
    with MicroBatches(together({name: operator(*SPECS[name]) for name in SPECS}), SCHEMA, partitions=1) as stream:
        result = stream.nothing
        for records in fed:
            result += stream.feed([(key, value, at(time)) for key, value, time in records])
        result += stream.finish()
    seen = set()
    for name, (_, spec) in SPECS.items():
        oracle = Oracle(spec, DELAY)
        want = [row for records in fed for row in oracle.batch(records)] + list(oracle.end())
        assert sorted(map(str, got(result.rows, name))) == sorted(map(str, want)), name
        seen |= {"refused" if row[0] == "late" else row[4] for row in want}
    assert seen == {"early", "on_time", "late", "refused"}, "else little is shown"


def got(rows: Any, name: str) -> list[Row]:
    return [
        ("late", row.late.v)
        if row.main is None
        else (
            row.main.k, int(seconds(row.main.start)), int(seconds(row.main.end)), sorted(row.main["values"]), row.main.pane.timing,
            row.main.pane["index"], row.main.pane.last,
        )
        for row in rows
        if row.name == name
    ]  # fmt: skip
