"""The rules of the features once more, in plain Python: slow, and sharing nothing with the scan."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any, NamedTuple


class Record(NamedTuple):
    i: int
    k: str | None
    v: float | None
    ts: datetime | None
    id: str | None


Value = Callable[[list[Record], Record], Any]  # of the records of the key that came before, and of the one at hand


def count(records: Iterable[Record]) -> int:
    return len(list(records))


def total(records: Iterable[Record]) -> float | None:
    values = [record.v for record in records if record.v is not None]
    return sum(values) if values else None


def most(records: Iterable[Record]) -> float | None:
    return max((record.v for record in records if record.v is not None), default=None)


def positive(record: Record) -> bool:
    return record.v is not None and record.v > 0


def everyone(_: Record) -> bool:
    return True


def running(aggregate: Callable[[list[Record]], Any], counts: Callable[[Record], bool] = everyone, *, inclusive: bool = False) -> Value:
    return lambda before, this: aggregate([r for r in [*before, *([this] if inclusive else [])] if counts(r)])


def last_n(
    n: int, aggregate: Callable[[list[Record]], Any], counts: Callable[[Record], bool] = everyone, *, inclusive: bool = False
) -> Value:
    return running(lambda records: aggregate(records[-n:]), counts, inclusive=inclusive)


def within(
    width: int,
    aggregate: Callable[[list[Record]], Any],
    counts: Callable[[Record], bool] = everyone,
    *,
    ahead: int = 0,
    keep: int | None = None,
    inclusive: bool = False,
) -> Value:
    def value(before: list[Record], this: Record) -> Any:
        counted = [r for r in before if r.ts is not None and counts(r)]
        newest = max((r.ts for r in counted), default=None)
        known = [r for r in counted if newest - r.ts <= timedelta(seconds=keep or width + ahead)]
        known += [this] if inclusive and counts(this) else []
        near = [r for r in known if this.ts is not None and timedelta(seconds=-ahead) <= this.ts - r.ts <= timedelta(seconds=width)]
        return aggregate(near)

    return value


def recent(duration: int) -> Value:
    """The ids that are remembered; of those that were not, when they came."""

    def value(before: list[Record], _: Record) -> list[str | None]:
        known: list[Record] = []
        newest = datetime.min
        for record in before:
            if record.ts is not None and record.id not in [old.id for old in known if old.id is not None]:
                newest = max(newest, record.ts)
                known = [old for old in [*known, record] if newest - old.ts <= timedelta(seconds=duration)]
        return [record.id for record in known]

    return value


def when_new(within: int, aggregate: Callable[[list[Record]], Any]) -> Value:
    """Of the records whose id had not been seen."""
    seen = seen_before(within)
    return lambda before, _: aggregate([record for i, record in enumerate(before) if not seen(before[:i], record)])


def previous(n: int) -> Value:
    return lambda before, _: before[-n].v if len(before) >= n else None


def since(of: Callable[[Record], Any]) -> Value:
    def value(before: list[Record], this: Record) -> Any:
        last = next((of(r) for r in reversed(before) if of(r) is not None), None)
        if last is None or of(this) is None:
            return None
        grown = of(this) - last
        return grown.total_seconds() if isinstance(grown, timedelta) else grown

    return value


def seen_before(within: int) -> Value:
    def value(before: list[Record], this: Record) -> bool:
        memory: dict[str, datetime] = {}
        newest = datetime.min
        seen = False
        for record in [*before, this]:
            newest = max(newest, record.ts or newest)
            memory = {id: ts for id, ts in memory.items() if newest - ts <= timedelta(seconds=within)}
            seen = record.id in memory
            if record.id is not None and record.ts is not None and not seen and newest - record.ts <= timedelta(seconds=within):
                memory[record.id] = record.ts
        return seen

    return value


def answers(records: list[Record], features: dict[str, Value]) -> dict[int, dict[str, Any]]:
    """The features of each record, by its number."""
    values: dict[int, dict[str, Any]] = {}
    for place, record in enumerate(records):
        before = [r for r in records[:place] if r.k == record.k]
        values[record.i] = {name: value(before, record) for name, value in features.items()}
    return values
