"""Records of two streams that are no further apart in time than a bound: an interval join.

With `between=("-2 seconds", "1 second")` a record `o` of the other stream is a partner of `r` if r - 2 s <= o <= r + 1 s, both ends
included. Either end may be negative; the first must not be after the second.

    own at    0 2 3 4 5 7           pairs: (0,0) (0,1) (2,0) (2,1) (3,1) (5,6) (7,6) (7,7)
    other at  0 1 6 7               alone: 4

Both sides are bags of one scan. A record looks for its partners in the bag of the other side, and stays in its own until no partner can
come any more: as long as the watermark has not reached the end of its bound. So a pair comes with the later of its records, in real time at
once; a record without a partner when it leaves, and a record of `semi` at its first partner. A record that is late, or has no time, goes
out of a port and meets nothing. Null keys have no partner, and come out at once where records without a partner do.

The time that goes on is that of the first stream (with `right` that of the other; with `full` a record that is alone on the other side
has none). It may be behind the watermark by the bound, and what follows waits so much longer.

State: the records of both sides, until the watermark has passed their bound. A key without any is forgotten. Without a bound (`inner`
only) they are kept for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headrace.definitions import durations
from headrace.kernel.bags import Bag, Each, Expire
from headrace.kernel.event_time import WATERMARK
from headrace.kernel.scan import scan
from headrace.ops.joins import checks
from headrace.ops.joins.sides import AT, Side, Sides, together

HOW = ("inner", "left", "right", "full", "semi", "anti")


@dataclass(frozen=True)
class Between:
    """`lower` <= other's time - own time <= `upper`, in microseconds. Either may be negative, and both are inclusive."""

    time: str
    other_time: str
    lower: int
    upper: int


def bound(own: StructType, other: StructType, keys: Sequence[str], how: str, between: tuple[str, str] | None) -> Between | None:
    """The bound of time of two streams with these columns. DefinitionError if it is none, or there is none where one is needed."""
    times, others = event_times(own), event_times(other)
    if between is None:
        for key in keys:
            if key in times and key in others:  # equal keys are of equal times
                return Between(key, key, 0, 0)
        if how != "inner":
            raise checks.refused(
                "join", f"how={how!r} of two streams needs a bound of time: a record would wait for its partner for ever",
                'say how much earlier and later the other may be: between=("-5 minutes", "10 minutes")',
            )  # fmt: skip
        return None
    for stream, columns in {"this": times, "the other": others}.items():
        if not columns:
            what = f"it is not known which column of {stream} stream is the time"
            raise checks.refused("join", what, '.event_time("column", "10 minutes") before the join')
    if not isinstance(between, Sequence) or isinstance(between, str) or len(between) != 2:
        raise checks.refused("join", f"between={between!r} is no pair of durations", 'write between=("-5 minutes", "10 minutes")')
    lower, upper = (durations.offset(text, "join: between") for text in between)
    if lower > upper:
        raise checks.refused("join", f"between={between!r}: the second is earlier than the first", "give the earlier one first")
    return Between(times[0], others[0], lower, upper)


def event_times(schema: StructType) -> list[str]:
    """The columns that have a watermark."""
    return [field.name for field in schema if WATERMARK in field.metadata]


def join(
    df: DataFrame, other: DataFrame, keys: Sequence[str], how: str = "inner", between: Between | None = None, *, delay: str = "0 seconds"
) -> DataFrame:
    """The records of `df` with those of `other` that have the same keys and are within the bound, if there is one.

    With a bound the result has the ports `main`, `late` and `late_other`. The keys come first and once, then the other columns of `df`,
    then those of `other`; a name that both have is refused. With `semi` and `anti` they are the records of `df`. A stream whose time has no
    watermark gets one that trails it by `delay`.
    """
    checks.how("join", how, HOW, "two streams")
    if how not in ("semi", "anti"):
        checks.names("join", df, other, keys)
    if between is None:
        return _unbounded(together("join", df, other, keys))
    return matched(together("join", df, other, keys, (between.time, between.other_time), delay), how, between.lower, between.upper)


def matched(sides: Sides, how: str, lower: int, upper: int) -> DataFrame:
    """The same for the records of both sides, with the bounds in microseconds."""
    match = _Match(sides, how, lower, upper)
    streaming = sides.df.isStreaming
    goes_on = sides.other if how == "right" else sides.own
    options: dict[str, Any] = {"state": {"met": F.lit(False)}, "update": {"met": False}} if match.remembers else {}
    result = scan(
        sides.df, keys=sides.keys, bags={"own": match.own(), "other": match.others()}, output=match.rows(sides.own.row, sides.other.row),
        when=match.at_once(), event_time=AT,
        wait=not streaming,  # a batch sorts its records, so that they leave the bags as time goes on
        time_out=goes_on.time if streaming else None, time_behind=_micros(upper if goes_on is sides.own else -lower), **options,
    )  # fmt: skip
    return sides.parted(result)


def _micros(micros: int) -> str:
    return f"{max(micros, 0)} microseconds"


@dataclass(frozen=True)
class _Match:
    """The bags of a join. A row, or a record that has just visited the other bag, has `met` a partner or not; that is kept of the sides
    whose rows come out alone."""

    sides: Sides
    how: str
    lower: int
    upper: int

    @property
    def once(self) -> bool:
        """Whether a record of the own side is done with at its first partner."""
        return self.how in ("semi", "anti")

    @property
    def own_alone(self) -> bool:
        return self.how in ("left", "full", "anti")

    @property
    def others_alone(self) -> bool:
        return self.how in ("right", "full")

    @property
    def remembers(self) -> bool:
        return self.own_alone or self.others_alone or self.once

    def rows(self, own: Column | None, other: Column | None) -> list[Column]:
        """What goes out for a pair, or for a row that is alone."""
        if self.once:
            assert own is not None
            return self.sides.own.record(own, [F.col(key) for key in self.sides.keys])
        return [*self.sides.key_columns(self.how), *self.sides.own.columns(own), *self.sides.other.columns(other)]

    def at_once(self) -> Column:
        """Whether a record goes out by itself, and is not kept: one that has no key, or has met what it needs to meet."""
        mine, no_key = self.sides.is_own, ~self.sides.has_keys
        alone = no_key & F.when(mine, F.lit(self.own_alone)).otherwise(F.lit(self.others_alone))
        return alone | (mine & _met()) if self.how == "semi" else alone

    def own(self) -> Bag:
        keeps = self.sides.is_own & self.sides.has_keys
        return Bag(
            add=self._row(self.sides.own, met=self.own_alone and not self.once),
            when=keeps & ~_met() if self.once else keeps,
            time=AT,
            each=Each(
                between=(F.when(~self.sides.is_own & self.sides.has_keys, self.sides.moved(-self.upper)), self.sides.moved(-self.lower)),
                update={"met": True} if self.others_alone else {},
                change={"met": True} if self.own_alone and not self.once else {},
                remove=self.once,
                output=() if self.how == "anti" else self.rows(_kept(), self.sides.other.row),
            ),
            expire=self._expire(self.upper, self.rows(_kept(), None), alone=self.own_alone, kept=not self.once),
        )

    def others(self) -> Bag:
        return Bag(
            add=[F.col(AT)] if self.once else self._row(self.sides.other, met=self.others_alone),
            when=~self.sides.is_own & self.sides.has_keys,
            time=AT,
            each=Each(
                between=(F.when(self.sides.is_own & self.sides.has_keys, self.sides.moved(self.lower)), self.sides.moved(self.upper)),
                limit=1 if self.once else None,
                update={"met": True} if self.own_alone or self.once else {},
                change={"met": True} if self.others_alone else {},
                output=() if self.once else self.rows(self.sides.own.row, _kept()),
            ),
            expire=self._expire(-self.lower, [] if self.once else self.rows(None, _kept()), alone=self.others_alone, kept=True),
        )

    def _row(self, side: Side, *, met: bool) -> list[Column]:
        return [side.row.alias("row"), F.col(AT), *([_met().alias("met")] if met else [])]

    def _expire(self, after: int, rows: list[Column], *, alone: bool, kept: bool) -> Expire:
        """Rows leave so many microseconds after their time; if they go out `alone`, and those that have met a partner are `kept`, too, then
        only if they have met none."""
        if not alone:
            return Expire(after=_micros(after))
        return Expire(after=_micros(after), output=rows, when=~F.col("bag.met") if kept else None)


def _met() -> Column:
    return F.col("state.met")


def _kept() -> Column:
    return F.col("bag.row")


def _unbounded(sides: Sides) -> DataFrame:
    """All pairs of a key, whenever they come. A row's time in its bag is its number: rows of one time are one value of the store, which is
    read and written as a whole."""
    number, first = F.col("state.number"), F.lit(datetime(1970, 1, 1, tzinfo=UTC))

    def rows(own: Column, other: Column) -> list[Column]:
        return [*sides.key_columns("inner"), *sides.own.columns(own), *sides.other.columns(other)]

    def bag(side: Side, visitor: Column, output: list[Column]) -> Bag:
        return Bag(
            add=[side.row.alias("row"), F.timestamp_micros(number).alias(AT)],
            when=side.row.isNotNull() & sides.has_keys,
            time=AT,
            each=Each(between=(F.when(visitor & sides.has_keys, first), None), output=output),
        )

    own = bag(sides.own, ~sides.is_own, rows(_kept(), sides.other.row))
    other = bag(sides.other, sides.is_own, rows(sides.own.row, _kept()))
    numbers: dict[str, Any] = {"state": {"number": F.lit(0).cast("bigint")}, "update": {"number": number + 1}}
    return scan(sides.df, keys=sides.keys, bags={"own": own, "other": other}, **numbers)
