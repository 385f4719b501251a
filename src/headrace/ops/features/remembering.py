"""What features are made of: fields of the key's state, and records that a key remembers in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headrace.errors import DefinitionError, user_line
from headrace.kernel.expressions.recent_rows import recent
from headrace.kernel.folds import Fold
from headrace.ops import merging

Field = Callable[[str], Column]


@dataclass(frozen=True)
class Parts:
    """A feature over a certain table: its fields with their first values, their update and its value, given a way to read the fields. An
    inclusive value is read from the fields after the record; one that `sees_itself` adds the record to those before."""

    state: Mapping[str, Any]
    update: Callable[[Field], Mapping[str, Column]]
    value: Callable[[Field], Column]
    sees_itself: bool = False


@dataclass(frozen=True)
class Context:
    """What a feature may look at while it is defined: the records of all streams that are merged, with the features that it mentions; the
    column that holds the time; and whether a record counts for this feature (None: each does)."""

    merged: merging.Merged
    df: DataFrame
    time: str | None
    counts: Column | None = None
    by_event_time: bool = False

    def time_column(self, feature: str) -> Column:
        if self.time is None:
            raise DefinitionError(
                f"{feature} needs to know which column holds the time", fix='name it: with_features(..., time="ts")', where=user_line()
            )
        column = merging.named(self.time)
        if not isinstance(kind := self.type_of(column), T.DatetimeType):
            raise DefinitionError(
                f"{feature}: the time {self.time!r} is of type {kind.simpleString()}, but a timestamp is needed",
                fix=f"make it one before: with_columns({self.time}=F.to_timestamp({self.time!r})); or name another: time='at'",
                where=user_line(),
            )
        return column

    def type_of(self, column: Column) -> T.DataType:
        return self.df.select(column).schema[0].dataType

    def empty_rows(self, columns: Mapping[str, Column]) -> Column:
        """An empty array of structs with these fields, typed as the columns are."""
        fields = [T.StructField(name, self.type_of(column)) for name, column in columns.items()]
        return F.array().cast(T.ArrayType(T.StructType(fields)))


class Remembered:
    """Rows of a key kept in its state: a time, and what an aggregate reads (or the columns given, of which `at` may be the time itself)."""

    def __init__(
        self, context: Context, fold: Fold | None, time: Column | None = None, columns: Mapping[str, Column] | None = None, *, at: str = "t"
    ) -> None:
        self.fold, self.time, self.at, self._spark = fold, time, at, context.df.sparkSession
        self._exact = time is not None and isinstance(context.type_of(time), T.TimestampType)
        read = {f"i{i}": column for i, column in enumerate(fold.inputs)} if fold else dict(columns or {})
        stored = ({} if at in read else {at: time if time is not None else F.lit(True)}) | read
        self.inputs = list(read)
        self.none = context.empty_rows(stored)
        self.this = F.struct(*[column.alias(name) for name, column in stored.items()])

    def with_this(self, rows: Column, adding: Column | None = None) -> Column:
        """The rows and this one, if the condition `adding` is true."""
        this = F.array(self.this)
        return F.concat(rows, this if adding is None else F.when(adding, this).otherwise(self.none))

    def forgetting(self, field: Field, span: int, adding: Column | None = None) -> dict[str, Column]:
        """The rows with this one, without those that are more than `span` microseconds behind the newest."""
        if self._exact:
            added = self.this if adding is None else F.when(adding, self.this)
            rows = recent(self._spark, field("rows"), added, self.moved(self._newest(field), -span), at=self.at)
        else:
            rows = F.filter(self.with_this(field("rows"), adding), self.still(field, span))
        return {"rows": rows, "newest": self._newest(field)}

    def still(self, field: Field, span: int) -> Callable[[Column], Column]:
        """Whether a row is no more than `span` microseconds behind the newest, which may be this one."""
        return lambda row: row[self.at] >= self.moved(self._newest(field), -span)

    def between(self, rows: Column, before: int, after: int) -> Column:
        """The rows whose time is at most so many microseconds before this record's, or after it."""
        assert self.time is not None
        first, last = self.moved(self.time, -before), self.moved(self.time, after)
        return F.filter(rows, lambda row: row[self.at].between(first, last))

    def _newest(self, field: Field) -> Column:
        assert self.time is not None
        return F.greatest(field("newest"), self.time)

    def moved(self, time: Column, micros: int) -> Column:
        """A time so many microseconds later."""
        if self._exact:  # one addition; Spark would ask the calendar
            return time if micros == 0 else F.timestamp_micros(F.unix_micros(time) + F.lit(micros))
        return time + F.expr(f"make_dt_interval(0, 0, 0, {micros / 1_000_000:.6f})")

    def value(self, rows: Column) -> Column:
        """The aggregate over the rows, in their order."""
        fold = self.fold
        assert fold is not None
        names = [f"b{i}" for i in range(len(fold.initial))]

        def step(total: Column, row: Column) -> Column:
            new = fold.update([total[name] for name in names], [row[name] for name in self.inputs])
            return F.struct(*[column.alias(name) for name, column in zip(names, new, strict=True)])

        start = F.struct(*[column.alias(name) for name, column in zip(names, fold.initial, strict=True)])
        return F.aggregate(rows, start, step, lambda total: fold.result([total[name] for name in names]))
