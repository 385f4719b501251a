"""Two streams as one, for a scan: each record is of one side, and has the keys, its time and the values of that side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType, TimestampNTZType, TimestampType

from headrace.definitions import durations
from headrace.kernel import jvm
from headrace.kernel.event_time import watermarked
from headrace.kernel.expressions.instants import Instants
from headrace.kernel.ports import LATE, MAIN
from headrace.ops.joins import checks
from headrace.ops.merging import named

LATE_OTHER = "late_other"
PORTS = [MAIN, LATE, LATE_OTHER]
"""What a join of streams by event time puts out."""

AT = "at"
GONE = "gone"


@dataclass(frozen=True)
class Side:
    """One of two streams. `name` is the column of all records that has the values of this side's, as a struct, and null in the other's;
    `time` is its time, if records are taken by that."""

    name: str
    schema: StructType
    keys: tuple[str, ...]
    time: str | None

    @property
    def values(self) -> list[str]:
        """Its columns but the keys."""
        return [name for name in self.schema.names if name not in self.keys]

    @property
    def row(self) -> Column:
        """The values of the record at hand; null if it is of the other side."""
        return F.col(self.name)

    def columns(self, row: Column | None) -> list[Column]:
        """The values of a row by their own names; without a row, nulls."""
        return [self._value(row, name).alias(name) for name in self.values]

    def record(self, row: Column, keys: Sequence[Column]) -> list[Column]:
        """All columns of a row, as they came."""
        cast_keys = {name: key.cast(self.schema[name].dataType) for name, key in zip(self.keys, keys, strict=True)}
        return [(cast_keys[name] if name in cast_keys else self._value(row, name)).alias(name) for name in self.schema.names]

    def _value(self, row: Column | None, name: str) -> Column:
        return F.lit(None).cast(self.schema[name].dataType) if row is None else row.getField(name)


@dataclass(frozen=True)
class Sides:
    """The records of both streams: a column for each key (`key_0`, …), the values of either side, the time `at`, and of the rows of a table
    that may be deleted, whether this one is `gone`."""

    df: DataFrame
    own: Side
    other: Side

    @property
    def keys(self) -> list[str]:
        return [_key(number) for number, _ in enumerate(self.own.keys)]

    @property
    def is_own(self) -> Column:
        return self.own.row.isNotNull()

    @property
    def has_keys(self) -> Column:
        """Whether no key is null: such a record equals nothing."""
        return reduce(and_, [F.col(key).isNotNull() for key in self.keys])

    @property
    def by_time(self) -> bool:
        return self.own.time is not None

    @property
    def is_gone(self) -> Column:
        """Whether the record deletes the row of its key."""
        return F.coalesce(F.col(GONE), F.lit(False)) if GONE in self.df.columns else F.lit(False)

    def key_columns(self, how: str) -> list[Column]:
        """The keys as they go out: of the type of the side that every row has."""
        side = self.other if how == "right" else self.own
        types = (None if how == "full" else side.schema[name].dataType for name in self.own.keys)
        pairs = zip(self.keys, self.own.keys, types, strict=True)
        return [(F.col(key) if kind is None else F.col(key).cast(kind)).alias(name) for key, name, kind in pairs]

    @property
    def instants(self) -> Instants:
        """How to compute with the times."""
        return Instants(self.df.sparkSession, self.df.schema[AT].dataType)

    def moved(self, micros: int) -> Column:
        """The time of the record, so many microseconds later."""
        return self.instants.moved(F.col(AT), micros)

    def parted(self, result: DataFrame) -> DataFrame:
        """What a scan of these by event time gave, with the late records of each side as they came."""
        keys = [F.col(f"{LATE}.{key}") for key in self.keys]
        rows = {LATE: self.own, LATE_OTHER: self.other}
        late = [
            F.when(F.col(f"{LATE}.{side.name}").isNotNull(), F.struct(*side.record(F.col(f"{LATE}.{side.name}"), keys))).alias(port)
            for port, side in rows.items()
        ]
        return result.select(*(f"`{name}`" for name in result.columns if name != LATE), *late)


def together(
    operator: str,
    df: DataFrame,
    other: DataFrame,
    keys: Sequence[str],
    times: tuple[str, str] | None = None,
    delay: str = "0 seconds",
    deleted: tuple[Column | None, Column | None] = (None, None),
) -> Sides:
    """Both streams by these keys and, if there are, these times. In a micro-batch the other's records come first. A record of a table for
    which `deleted` is true says that its key has no row any more."""
    checks.keys(operator, df, other, keys)
    durations.delay(delay, f"{operator}: delay")
    if times is not None:
        _check_times(operator, df, other, times)
        df, other = watermarked(df, times[0], delay), watermarked(other, times[1], delay)
    own_time, other_time = times or (None, None)
    own, others = Side("own", df.schema, tuple(keys), own_time), Side("other", other.schema, tuple(keys), other_time)
    fitted = [_fitted(operator, df, other, key) for key in keys]
    ours = _typed(df, own, [here for here, _ in fitted], deleted[0])
    theirs = _typed(other, others, [there for _, there in fitted], deleted[1])
    return Sides(theirs.unionByName(ours, allowMissingColumns=True), own, others)


def _key(number: int) -> str:
    return f"key_{number}"


def _typed(frame: DataFrame, side: Side, keys: Sequence[Column], deleted: Column | None) -> DataFrame:
    # Without the mark of an event time on the values: only `at` is one.
    values = {f"value_{n}": name for n, name in enumerate(side.values)}
    plain = [named(name).alias(value, metadata={}) for value, name in values.items()] or [F.lit(True).alias("_")]
    known = {_key(n): key for n, key in enumerate(keys)}
    known |= {} if side.time is None else {AT: named(side.time)}
    known |= {} if deleted is None else {GONE: deleted}
    row = F.struct(*(F.col(value).alias(name) for value, name in (values or {"_": "_"}).items())).alias(side.name)
    return frame.select(*(column.alias(name) for name, column in known.items()), *plain).select(*known, row)


def _fitted(operator: str, own: DataFrame, other: DataFrame, key: str) -> tuple[Column, Column]:
    """The key of both in one type: the wider of two numbers."""
    there = jvm.fitted(other, own, key)
    here = jvm.fitted(own, other, key) if there is None else named(key)
    if here is None:
        ours, theirs = (_type(frame, key) for frame in (own, other))
        raise checks.refused(
            operator,
            f"the key {key!r} is of type {ours} here and of type {theirs} there",
            "cast one of the two, so that equal keys are equal",
        )
    return here, named(key) if there is None else there


def _check_times(operator: str, df: DataFrame, other: DataFrame, times: tuple[str, str]) -> None:
    kinds: list[DataType] = []
    for side, frame, time in zip(("here", "there"), (df, other), times, strict=True):
        if time not in frame.columns:
            raise checks.refused(operator, f"there is no column {time!r} {side}", f"The columns {side} are {', '.join(frame.columns)}")
        kinds.append(frame.schema[time].dataType)
        if not isinstance(kinds[-1], TimestampType | TimestampNTZType):
            what = f"the time {time!r} is of type {_type(frame, time)} {side}, but a timestamp is needed"
            raise checks.refused(operator, what, f"make it one before: with_columns({time}=F.to_timestamp({time!r}))")
    if kinds[0] != kinds[1]:
        ours, theirs = (kind.simpleString().upper() for kind in kinds)
        raise checks.refused(operator, f"the time is of type {ours} here and of type {theirs} there", "cast one of the two")


def _type(frame: DataFrame, name: str) -> str:
    return frame.schema[name].dataType.simpleString().upper()
