"""The best of each key: a running top-N, whose changes go out as they happen, or one that goes out once, when the key is complete.

The two highest bids of an auction, in the order of arrival:

| bid | price | goes out                     | with `rank=True`            |
|-----|-------|------------------------------|-----------------------------|
| a   | 5     | entered a                    | 1 a                         |
| b   | 3     | entered b                    | 2 b                         |
| c   | 5     | left b, entered c            | 2 c: of equal ones the earlier is first |
| d   | 9     | left c, entered d            | 1 d, 2 a                    |
| e   | 5     | nothing: the last one has as much, and came before it | nothing |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StructField, StructType

from headrace.definitions import arguments
from headrace.errors import DefinitionError, user_line
from headrace.kernel.scan import ScanOptions, Timer, scan
from headrace.ops.expressions import let
from headrace.ops.merging import named

CHANGE, RANK = "change", "rank"
ENTERED, LEFT = "entered", "left"


class OrderOptions(TypedDict, total=False):
    """How the records of a key are ordered, and when it is forgotten: as `TimeOptions` of the scan explains them."""

    order: str | Sequence[str]
    event_time: str | None
    delay: str
    idle: str | None


@dataclass(frozen=True, kw_only=True)
class Top:
    """What is ranked.

    n          so many rows of a key
    by         what they are ranked by, the greatest first; a record for which it is null is passed over
    of         columns that name a thing: of each only the newest row counts. None: each record counts for itself
    ascending  the least first
    ties       also all that are equal to the last of the n, be they ever so many
    rank       whether rows say their rank
    at         the time at which a key is complete. None: never, and each change goes out
    """

    n: int
    by: Column | str
    of: str | Sequence[str] = ()
    ascending: bool = False
    ties: bool = False
    rank: bool = False
    at: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.n, int) or isinstance(self.n, bool) or self.n < 1:
            raise _refused(f"n is {arguments.shown(self.n)}", "give a whole number from 1 on")
        if self.ties and self.rank and self.at is None:
            raise _refused(
                "with ties a rank has several rows",
                "leave out rank=True or ties=True; or say when a key is complete: at='end'",
            )


def top(df: DataFrame, *, keys: Sequence[str], ranking: Top, **options: Unpack[OrderOptions]) -> DataFrame:
    """The best `n` records of each key, ranked by `by`; equal ones by arrival, the earlier first.

    Running: for each record that changes them, the rows that `left` and the one that `entered`, as the column `change` says. With `rank`,
    each rank that has another row now, and no row for what fell out: a table by key and rank, of which the last row counts.

    With `at`, nothing until the time has passed that column's: then the rows go out once, the best first, and the key is forgotten. What
    comes later than that is late.

    State: n rows a key (with `ties`, as many as are equal).
    """
    rows = _Rows(df, ranking)
    if ranking.at is not None:
        return _at_the_end(df, keys, ranking, rows, options)
    entering = F.when(rows.enters, rows.ranks() if ranking.rank else rows.changes())
    return scan(df, keys=keys, state={"rows": rows.none}, update={"rows": rows.next}, output=entering, **options)


def _at_the_end(df: DataFrame, keys: Sequence[str], ranking: Top, rows: _Rows, options: OrderOptions) -> DataFrame:
    assert ranking.at is not None
    at, end = named(ranking.at), F.col("state.at")
    more: ScanOptions = {
        **options,  # type: ignore[typeddict-item]
        "state": {"rows": rows.none, "at": df.select(at).schema[0].dataType},
        "update": {"rows": rows.next, "at": F.greatest(end, at)},
        "timer": Timer(at=end, output=rows.final(), forget=True),
        "late_after": at,
        "wait": False,
        "time_out": ranking.at,
    }
    return scan(df, keys=keys, **more)


class _Rows:
    """The ranked rows of a key, an array in its state, and what a record makes of it."""

    def __init__(self, df: DataFrame, ranking: Top) -> None:
        self.ranking, self.columns = ranking, df.columns
        for name in (CHANGE, *([RANK] if ranking.rank else [])):
            if (ranking.at is None or name == RANK) and name in (column.lower() for column in df.columns):
                raise _refused(f"the records have a column {name!r} already", f"rename it before: .rename({name}='…')")
        self.by = arguments.column("top: by", ranking.by)
        self.of = [named(column) for column in arguments.names("top: of", ranking.of)]
        self.kept = F.col("state.rows")
        self.this = F.struct(
            self.by.alias("by"), F.struct(*map(named, df.columns)).alias("record"), *(c.alias(f"of{i}") for i, c in enumerate(self.of))
        )
        self.none = F.array().cast(ArrayType(_nullable(df.select(self.this).schema[0].dataType)))

    @property
    def _others(self) -> Column:
        return F.filter(self.kept, lambda row: ~self._same(row)) if self.of else self.kept

    def _same(self, row: Column) -> Column:
        same = F.lit(True)
        for i, column in enumerate(self.of):
            same = same & row[f"of{i}"].eqNullSafe(column)
        return same

    def _ahead(self, value: Column, of: Column, *, equal: bool) -> Column:
        """Whether one value comes before another, or is as good."""
        if self.ranking.ascending:
            return value <= of if equal else value < of
        return value >= of if equal else value > of

    @property
    def _place(self) -> Column:
        """How many rows come before this record."""
        return F.size(F.filter(self._others, lambda row: self._ahead(row["by"], self.by, equal=True)))

    @property
    def enters(self) -> Column:
        others = self._others
        beats = self._ahead(self.by, F.get(others, self.ranking.n - 1)["by"], equal=self.ranking.ties)
        return F.coalesce(self.by.isNotNull() & ((F.size(others) < self.ranking.n) | beats), F.lit(False))

    @property
    def _all(self) -> Column:
        """Those that there were, with this record in its place."""
        others = self._others
        ahead = F.filter(others, lambda row: self._ahead(row["by"], self.by, equal=True))
        behind = F.filter(others, lambda row: ~self._ahead(row["by"], self.by, equal=True))
        return F.concat(ahead, F.array(self.this), behind)

    def _size(self, rows: Column) -> Column:
        """How many of these remain."""
        n = self.ranking.n
        if not self.ranking.ties:
            return F.least(F.size(rows), F.lit(n))
        last = F.get(rows, F.least(F.size(rows), F.lit(n)) - 1)["by"]
        return F.size(F.filter(rows, lambda row: self._ahead(row["by"], last, equal=True)))

    @property
    def next(self) -> Column:
        rows = let(self._all, lambda all_rows: F.slice(all_rows, F.lit(1), self._size(all_rows)))
        return F.when(self.enters, rows).otherwise(self.kept)

    def changes(self) -> Column:
        def marked(rows: Column, change: str) -> Column:
            return F.transform(rows, lambda row: F.struct(F.lit(change).alias(CHANGE), *self._record(row)))

        gone = let(self._all, lambda rows: F.slice(rows, self._size(rows) + 1, F.size(rows)))
        old = [F.filter(self.kept, self._same)] if self.of else []
        return F.concat(*(marked(rows, LEFT) for rows in (*old, gone)), marked(F.array(self.this), ENTERED))

    def ranks(self) -> Column:
        place, size = self._place, F.least(F.size(self._others) + 1, F.lit(self.ranking.n))
        before = F.array_position(F.transform(self.kept, self._same), True).cast("int") - 1 if self.of else F.lit(-1)
        first = F.when(before >= 0, F.least(place, before)).otherwise(place)
        last = F.when(before >= 0, F.greatest(place, before)).otherwise(size - 1)
        ranked = F.transform(self._all, lambda row, i: F.struct(*self._record(row), (i + 1).alias(RANK)))
        return F.slice(ranked, first + 1, last - first + 1)

    def final(self) -> Column:
        def rank(row: Column, i: Column) -> Column:
            if not self.ranking.ties:
                return i + 1
            return F.size(F.filter(self.kept, lambda other: self._ahead(other["by"], row["by"], equal=False))) + 1

        ranks = self.ranking.rank
        return F.transform(self.kept, lambda row, i: F.struct(*self._record(row), *([rank(row, i).alias(RANK)] if ranks else [])))

    def _record(self, row: Column) -> list[Column]:
        return [row["record"][name].alias(name) for name in self.columns]


def _nullable(kind: Any) -> StructType:
    """The same struct, in which every field may be null: a state has no others."""
    assert isinstance(kind, StructType)
    return StructType([StructField(f.name, _nullable(f.dataType) if isinstance(f.dataType, StructType) else f.dataType) for f in kind])


def _refused(what: str, fix: str) -> DefinitionError:
    return DefinitionError(f"top: {what}", fix=fix, where=user_line())
