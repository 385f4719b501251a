"""What is known of a key when a record of it comes: features, all of one key in one scan.

    with_features(transactions, keys="customer", time="ts", features={
        "previous_max": running(F.max("amount")),
        "recent": within("10 seconds", F.count("*")),
    })

Each feature is a value as it was *before* the record; `inclusive=True` counts the record itself too. `.only(condition)` counts only the
records for which the condition holds. Features add fields to one state row, so however many there are, a record costs one shuffle, one
read and one write of state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.errors import DefinitionError, user_line
from headrace.kernel import durations
from headrace.kernel.folds import Fold
from headrace.kernel.scan import scan
from headrace.ops import tagging

Field = Callable[[str], Column]


@dataclass(frozen=True)
class Parts:
    """A feature over a certain table: its fields with their first values, their update and its value, given a way to read the fields."""

    state: Mapping[str, Any]
    update: Callable[[Field], Mapping[str, Column]]
    value: Callable[[Field], Column]
    inclusive: bool = False


@dataclass(frozen=True)
class Context:
    """What a feature may look at while it is defined: the columns of all streams that are merged, and the one that holds the time."""

    merged: tagging.Merged
    time: str | None

    @property
    def df(self) -> DataFrame:
        return self.merged.df

    def time_column(self, feature: str) -> Column:
        if self.time is None:
            raise DefinitionError(
                f"{feature} needs to know which column holds the time", fix='name it: with_features(..., time="ts")', where=user_line()
            )
        return F.col(self.time)

    def type_of(self, *columns: Column) -> list[str]:
        return [field.dataType.simpleString() for field in self.df.select(*columns).schema]

    def empty_rows(self, **columns: Column) -> Column:
        """An empty array of structs with these fields, typed as the columns are."""
        types = self.type_of(*columns.values())
        fields = ",".join(f"{name}:{kind}" for name, kind in zip(columns, types, strict=True))
        return F.array().cast(f"array<struct<{fields}>>")


@dataclass(frozen=True)
class Feature:
    """A specification; nothing happens until `with_features` puts it into a scan."""

    define: Callable[[Context], Parts]
    condition: Column | None = None
    other: tagging.Other | None = None

    def only(self, condition: Column) -> Feature:
        """The same, counting only the records for which `condition` is true."""
        return replace(self, condition=condition)


def running(aggregate: Column, *, inclusive: bool = False) -> Feature:
    """Any of Spark's aggregates over all records of the key so far: count, sum, min, max, avg, first, last, stddev, max_by,
    approx_count_distinct, …  Before the first record it is what the aggregate of no rows is: null, or 0 for a count.

    State: the aggregate's buffers, of fixed size (approx_count_distinct: 52 words of 8 bytes).
    """

    def define(context: Context) -> Parts:
        fold = Fold(context.df, aggregate)
        names = [f"b{i}" for i in range(len(fold.initial))]
        return Parts(
            dict(zip(names, fold.initial, strict=True)),
            lambda field: dict(zip(names, fold.update([field(n) for n in names], fold.inputs), strict=True)),
            lambda field: fold.result([field(n) for n in names]),
            inclusive,
        )

    return Feature(define)


def previous(column: Column | str, n: int = 1) -> Feature:
    """The value of `column` in the record before this one, or `n` records before; null if there were fewer.

    State: the last n values.
    """
    _at_least_one("previous", n)
    value = F.col(column) if isinstance(column, str) else column

    def define(context: Context) -> Parts:
        return Parts(
            {"values": context.empty_rows(v=value)},
            lambda field: {"values": _last(F.concat(field("values"), F.array(F.struct(value.alias("v")))), n)},
            lambda field: F.get(field("values"), F.size(field("values")) - n)["v"],
        )

    return Feature(define)


def last_n(n: int, aggregate: Column, *, inclusive: bool = False) -> Feature:
    """An aggregate over the last `n` records of the key: the ones before this, or (inclusive) this one and the n-1 before.

    State: what the aggregate reads of the last n records.
    """
    _at_least_one("last_n", n)

    def define(context: Context) -> Parts:
        rows = Remembered(context, Fold(context.df, aggregate))
        return Parts(
            {"rows": rows.none},
            lambda field: {"rows": _last(F.concat(field("rows"), F.array(rows.this)), n)},
            lambda field: rows.value(field("rows")),
            inclusive,
        )

    return Feature(define)


def within(duration: str, aggregate: Column, *, keep: str | None = None, inclusive: bool = False) -> Feature:
    """An aggregate over the sliding window that ends at this record: records that came before it and whose time is in [t - duration, t],
    both ends included. It is exact: there are no hops, and a record with a later time that came before is not in it.

    A record that comes out of order finds what is still remembered: `keep` (default: the duration) says how far behind the newest time of
    the key that reaches. A record without a time is in no window and sees an empty one.

    State: what the aggregate reads of the records in the last `keep` of time. It grows with the rate of the key, not with its age.
    """
    width, kept = durations.micros(duration), durations.micros(keep or duration)
    if kept < width:
        raise DefinitionError(f"keep ({keep}) is shorter than the window ({duration})", fix="keep at least the window", where=user_line())

    def define(context: Context) -> Parts:
        time = context.time_column("within")
        rows = Remembered(context, Fold(context.df, aggregate), time)

        def value(field: Field) -> Column:
            known = F.concat(field("rows"), F.array(rows.this)) if inclusive else field("rows")
            return rows.value(F.filter(known, lambda row: row["t"].between(time - _interval(width), time)))

        return Parts({"rows": rows.none, "newest": context.type_of(time)[0]}, lambda field: rows.forgetting(field, kept), value)

    return Feature(define)


def seen_before(column: Column | str, within: str) -> Feature:
    """Whether the key had this value of `column` before and still remembers it: values are remembered until the newest time of the key is
    more than `within` after theirs. A repeated value is not remembered anew, so a duplicate changes nothing. Null was never seen.

    State: the different values of the last `within` of time.
    """
    value, kept = F.col(column) if isinstance(column, str) else column, durations.micros(within)

    def define(context: Context) -> Parts:
        time = context.time_column("seen_before")
        rows = Remembered(context, None, time, v=value)

        def seen(field: Field) -> Column:
            return F.coalesce(F.exists(field("rows"), lambda row: row["v"] == value), F.lit(False))

        def update(field: Field) -> Mapping[str, Column]:
            new = rows.forgetting(field, kept)
            return {name: F.when(seen(field) | value.isNull(), field(name)).otherwise(after) for name, after in new.items()}

        return Parts({"rows": rows.none, "newest": context.type_of(time)[0]}, update, seen)

    return Feature(define)


def since(column: Column | str) -> Feature:
    """How much `column` has grown since the previous record of the key: seconds for a timestamp, days for a date, else the difference; null
    for the first. With `.only(condition)`: since the last record for which it held. State: one value.
    """
    value = F.col(column) if isinstance(column, str) else column

    def define(context: Context) -> Parts:
        kind = context.type_of(value)[0]

        def elapsed(field: Field) -> Column:
            if kind.startswith("timestamp"):
                micros = F.unix_micros(value.cast("timestamp")) - F.unix_micros(field("last").cast("timestamp"))
                return micros / F.lit(1_000_000.0)
            return F.datediff(value, field("last")) if kind == "date" else value - field("last")

        return Parts({"last": kind}, lambda field: {"last": F.coalesce(value, field("last"))}, elapsed)

    return Feature(define)


def latest(other: Any, *columns: str, by: str | None = None) -> Feature:
    """The newest values of `columns` in another stream of the same key (a struct): the last that arrived before this record, or the one
    with the greatest `by` (equal ones: the last that arrived). Null as long as none has come.

    The two streams have no order between them but that of arrival: in a batch, and within one micro-batch, the other stream's records are
    taken first. For a result that does not depend on it, order the scan by event time. State: the columns, once.
    """
    if not columns:
        raise DefinitionError(
            "latest: no column is named", fix='name those to remember: latest(locations, "lat", "lon")', where=user_line()
        )
    source = tagging.Other(other, tuple(dict.fromkeys((*columns, *([by] if by else [])))))

    def define(context: Context) -> Parts:
        incoming = context.merged.incoming(source)
        found = F.struct(*[incoming[name].alias(name) for name in columns])
        kept = {"value": context.type_of(found)[0]} | ({"by": context.type_of(incoming[by])[0]} if by else {})

        def update(field: Field) -> Mapping[str, Column]:
            if by is None:
                return {"value": found}
            newer = incoming[by].isNotNull() & (field("by").isNull() | (incoming[by] >= field("by")))
            return {"value": F.when(newer, found).otherwise(field("value")), "by": F.when(newer, incoming[by]).otherwise(field("by"))}

        return Parts(kept, update, lambda field: field("value"))

    return Feature(define, other=source)


def with_features(
    df: DataFrame,
    *,
    keys: str | Sequence[str],
    features: Mapping[str, Feature],
    others: Sequence[DataFrame] | None = None,
    time: str | None = None,
    order: str | Sequence[str] = (),
    event_time: str | None = None,
    delay: str = "0 seconds",
    idle: str | None = None,
) -> DataFrame:
    """Every record of `df` with the features of its key, in one scan. `time` is the column that `within` and `seen_before` measure by.
    `others` are the tables of the streams that `latest` names, one for each, where it does not name a table itself. The other options are
    those of `scan`."""
    names = [keys] if isinstance(keys, str) else list(keys)
    if clash := sorted(set(features) & set(df.columns)):
        raise DefinitionError(f"the records have a column '{clash[0]}' already", fix="give the feature another name", where=user_line())
    named = [feature.other for feature in features.values() if feature.other is not None]
    tables = [other.df for other in named] if others is None else list(others)
    ordered_by = [*([event_time] if event_time else []), *([order] if isinstance(order, str) else order)]
    merged = tagging.merge(df, names, list(zip(named, tables, strict=True)), ordered_by)
    context = Context(merged, time or event_time)
    state: dict[str, Any] = {}
    update: dict[str, Column] = {}
    output = [F.col(f"record.`{name}`") for name in df.columns]
    for name, feature in features.items():
        parts = feature.define(context)

        def before(field: str, name: str = name) -> Column:
            return F.col(f"state.`{name}__{field}`")

        counts = merged.comes_from(feature.other)
        condition = counts if feature.condition is None else (counts & feature.condition if counts is not None else feature.condition)
        after = {
            field: new if condition is None else F.when(condition, new).otherwise(before(field))
            for field, new in parts.update(before).items()
        }
        state |= {f"{name}__{field}": first for field, first in parts.state.items()}
        update |= {f"{name}__{field}": new for field, new in after.items()}
        value = parts.value(after.__getitem__) if parts.inclusive else parts.value(before)
        output.append(value.alias(name))
    return scan(
        merged.df, keys=names, state=state, update=update, output=output, when=merged.comes_from(None), order=order, event_time=event_time,
        delay=delay, idle=idle,
    )  # fmt: skip


class Remembered:
    """Rows of a key kept in its state: a time, and what an aggregate reads (or the columns given)."""

    def __init__(self, context: Context, fold: Fold | None, time: Column | None = None, **columns: Column) -> None:
        self.fold, self.time = fold, time
        read = {f"i{i}": column for i, column in enumerate(fold.inputs)} if fold else columns
        stored = {"t": time if time is not None else F.lit(True)} | read
        self.inputs = list(read)
        self.none = context.empty_rows(**stored)
        self.this = F.struct(*[column.alias(name) for name, column in stored.items()])

    def forgetting(self, field: Field, kept: int) -> dict[str, Column]:
        """The rows with this one, without those that are more than `kept` microseconds behind the newest."""
        assert self.time is not None
        newest = F.greatest(field("newest"), self.time)
        rows = F.filter(F.concat(field("rows"), F.array(self.this)), lambda row: row["t"] >= newest - _interval(kept))
        return {"rows": rows, "newest": newest}

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


def _last(rows: Column, n: int) -> Column:
    return F.when(F.size(rows) > n, F.slice(rows, F.size(rows) - (n - 1), n)).otherwise(rows)


def _interval(micros: int) -> Column:
    return F.expr(f"make_dt_interval(0, 0, 0, {micros / 1_000_000:.6f})")


def _at_least_one(feature: str, n: int) -> None:
    if n < 1:
        raise DefinitionError(f"{feature}: n is {n}", fix="count from 1", where=user_line())
