"""The rules of ranking, change and limits once more, in plain Python: slow, and sharing nothing with the scan."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple


class Record(NamedTuple):
    i: int
    k: str | None
    v: float | None
    thing: str | None
    ts: datetime | None


Rows = list[tuple[Any, ...]]
Rule = Callable[[list[Record]], Rows]  # what the records of one key, as they arrive, give


def _best(records: list[Record], n: int, *, ascending: bool, ties: bool) -> list[Record]:
    """Python's sort keeps what is equal in its order."""
    ranked = sorted((r for r in records if r.v is not None), key=lambda r: r.v if ascending else -r.v)
    return ranked[:n] + [r for r in ranked[n:] if ties and r.v == ranked[n - 1].v]


def _newest_of_each(records: list[Record]) -> list[Record]:
    counted = [r for r in records if r.v is not None]
    return [r for place, r in enumerate(counted) if r.thing not in {later.thing for later in counted[place + 1 :]}]


def _steps(records: list[Record], n: int, *, things: bool, ascending: bool = False, ties: bool = False) -> Iterator[Any]:
    """The best before and after each record."""
    before: list[Record] = []
    for record in records:
        known = [*before, record]
        after = _best(_newest_of_each(known) if things else known, n, ascending=ascending, ties=ties)
        yield before, after, record
        before = after


def changes_of_top(n: int, *, things: bool = False, **how: bool) -> Rule:
    def rule(records: list[Record]) -> Rows:
        rows: Rows = []
        for before, after, record in _steps(records, n, things=things, **how):
            if record in after:
                rows += [("left", *r) for r in sorted((r for r in before if r not in after), key=lambda r: r.thing != record.thing)]
                rows.append(("entered", *record))
        return rows

    return rule


def ranks_of_top(n: int, *, things: bool = False, ascending: bool = False) -> Rule:
    def rule(records: list[Record]) -> Rows:
        rows: Rows = []
        for before, after, _ in _steps(records, n, things=things, ascending=ascending):
            old = [*before, *[None] * n]
            rows += [(*r, place + 1) for place, r in enumerate(after) if r is not old[place]]
        return rows

    return rule


def final_top(n: int, *, ties: bool) -> Rule:
    def rule(records: list[Record]) -> Rows:
        best = _best(records, n, ascending=False, ties=ties)
        return [(*r, 1 + sum(other.v > r.v for other in best) if ties else place + 1) for place, r in enumerate(best)]

    return rule


def changed(of: Callable[[Record], Any]) -> Rule:
    return lambda records: [(*r,) for place, r in enumerate(records) if place == 0 or of(records[place - 1]) != of(r)]


def passed(n: int, span: timedelta) -> Rule:
    """With a mark: whether it passed."""

    def rule(records: list[Record]) -> Rows:
        times: list[datetime] = []
        rows: Rows = []
        for record in records:
            passes = record.ts is not None and sum(time > record.ts - span for time in times) < n
            if passes and record.ts is not None:
                times.append(record.ts)
            rows.append((passes, *record))
        return rows

    return rule


def zscore(last: int | None) -> Rule:
    def rule(records: list[Record]) -> Rows:
        rows: Rows = []
        for place, record in enumerate(records):
            before = [r.v for r in records[:place] if r.v is not None][-last if last else 0 :]
            spread = statistics.stdev(before) if len(before) > 1 else 0.0
            score = None if spread == 0 or record.v is None else (record.v - statistics.fmean(before)) / spread
            rows.append((record.i, None if score is None else round(score, 9)))
        return rows

    return rule


def median_deviation(last: int) -> Rule:
    def rule(records: list[Record]) -> Rows:
        rows: Rows = []
        for place, record in enumerate(records):
            before = [r.v for r in records[:place] if r.v is not None][-last:]
            median = statistics.median(before) if before else math.nan
            deviation = statistics.median(abs(value - median) for value in before) if before else math.nan
            rows.append((record.i, *((median, deviation) if before else (None, None))))
        return rows

    return rule
