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
from pyspark.sql import types as T

from headrace.definitions import arguments, durations
from headrace.definitions.arguments import Condition
from headrace.errors import DefinitionError, user_line
from headrace.kernel import casts
from headrace.kernel.event_time import watermarked
from headrace.kernel.folds import Fold
from headrace.kernel.scan import LATE, scan
from headrace.ops import merging

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
    """What a feature may look at while it is defined: the columns of all streams that are merged, the one that holds the time, and whether
    a record counts for this feature (None: each does)."""

    merged: merging.Merged
    time: str | None
    counts: Column | None = None

    @property
    def df(self) -> DataFrame:
        return self.merged.df

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

    def empty_rows(self, **columns: Column) -> Column:
        """An empty array of structs with these fields, typed as the columns are."""
        fields = [T.StructField(name, self.type_of(column)) for name, column in columns.items()]
        return F.array().cast(T.ArrayType(T.StructType(fields)))


@dataclass(frozen=True)
class Feature:
    """A specification; nothing happens until `with_features` puts it into a scan."""

    define: Callable[[Context], Parts]
    condition: Column | None = None
    other: merging.Other | None = None

    def only(self, condition: Condition) -> Feature:
        """The same, counting only the records for which `condition` (a column, or text) is true; asked twice, both must be."""
        if self.other is not None:
            raise DefinitionError(
                "latest: its records are those of another stream, of which the condition of `only` knows nothing",
                fix="filter that stream: latest(places.where(condition), ...)", where=user_line(),
            )  # fmt: skip
        more = arguments.condition("only", condition)
        return replace(self, condition=more if self.condition is None or more is None else self.condition & more)


def running(aggregate: Column, *, inclusive: bool = False) -> Feature:
    """Any of Spark's aggregates over all records of the key so far: count, sum, min, max, avg, first, last, stddev, max_by,
    approx_count_distinct, …  Before the first record it is what the aggregate of no rows is: null, or 0 for a count.

    State: the aggregate's buffers, of fixed size (approx_count_distinct: 52 words of 8 bytes).
    """
    arguments.aggregate("running", aggregate)

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
    value = arguments.column("previous", column)

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
    arguments.aggregate("last_n", aggregate)

    def define(context: Context) -> Parts:
        rows = Remembered(context, Fold(context.df, aggregate))
        return Parts(
            {"rows": rows.none},
            lambda field: {"rows": _last(rows.with_this(field("rows")), n)},
            lambda field: rows.value(field("rows")),
            inclusive,
        )

    return Feature(define)


def within(duration: str, aggregate: Column, *, keep: str | None = None, inclusive: bool = False) -> Feature:
    """An aggregate over the sliding window that ends at this record: records that came before it and whose time is in [t - duration, t],
    both ends included. It is exact: there are no hops, and a record with a later time that came before is not in it.

    A record that comes out of order finds what is still remembered: `keep` (default: the duration) says how far behind the newest time of
    the key that reaches. A record without a time is in no window and sees an empty one. Inclusive: with the record itself, if it counts.

    State: what the aggregate reads of the records in the last `keep` of time. It grows with the rate of the key, not with its age.
    """
    arguments.aggregate("within", aggregate)
    width, kept = durations.micros(duration, "within"), durations.micros(keep or duration, "within: keep")
    if kept < width:
        raise DefinitionError(
            f"within: keep ({keep}) is shorter than the window ({duration})", fix=f"give keep={duration!r} or more", where=user_line()
        )

    def define(context: Context) -> Parts:
        time = context.time_column("within")
        rows = Remembered(context, Fold(context.df, aggregate), time)

        def value(field: Field) -> Column:
            known = rows.with_this(field("rows"), context.counts) if inclusive else field("rows")
            return rows.value(F.filter(known, lambda row: row["t"].between(time - _interval(width), time)))

        return Parts({"rows": rows.none, "newest": context.type_of(time)}, lambda field: rows.forgetting(field, kept), value)

    return Feature(define)


def seen_before(column: Column | str, within: str) -> Feature:
    """Whether the key had this value of `column` before and still remembers it: values are remembered until the newest time of the key,
    that of this record included, is more than `within` after theirs. A value that is still remembered is not remembered anew, so
    repetitions do not keep it alive. Null was never seen, and a record without a time is not remembered.

    State: the different values of the last `within` of time.
    """
    value, kept = arguments.column("seen_before", column), durations.micros(within, "seen_before")

    def define(context: Context) -> Parts:
        time = context.time_column("seen_before")
        rows = Remembered(context, None, time, v=value)

        def seen(field: Field) -> Column:
            still = rows.still(field, kept)
            return F.coalesce(F.exists(field("rows"), lambda row: (row["v"] == value) & still(row)), F.lit(False))

        def update(field: Field) -> Mapping[str, Column]:
            return rows.forgetting(field, kept, adding=value.isNotNull() & ~seen(field))

        return Parts({"rows": rows.none, "newest": context.type_of(time)}, update, seen)

    return Feature(define)


def since(column: Column | str) -> Feature:
    """How much `column` has grown since the previous record of the key: seconds for a timestamp, days for a date, else the difference; null
    for the first. A null is skipped: it has not grown itself, and the record after it is compared with the value before it.
    With `.only(condition)`: since the last record for which it held. State: one value.
    """
    value = arguments.column("since", column)

    def define(context: Context) -> Parts:
        kind = context.type_of(value)
        if isinstance(kind, T.StringType):
            raise DefinitionError(
                "since: it measures how a number or a time grows, and this is text",
                fix="name another column, or cast it: since(F.col('at').cast('timestamp'))", where=user_line(),
            )  # fmt: skip

        def elapsed(field: Field) -> Column:
            if isinstance(kind, T.TimestampType | T.TimestampNTZType):
                micros = F.unix_micros(value.cast("timestamp")) - F.unix_micros(field("last").cast("timestamp"))
                return micros / F.lit(1_000_000.0)
            return F.datediff(value, field("last")) if isinstance(kind, T.DateType) else value - field("last")

        return Parts({"last": kind}, lambda field: {"last": F.coalesce(value, field("last"))}, elapsed)

    return Feature(define)


def latest(other: Any, *columns: str, by: str | None = None) -> Feature:
    """The newest values of `columns` in another stream of the same key (a struct): the last that arrived before this record, or the one
    with the greatest `by` (equal ones: the last that arrived). Null as long as none has come.

    The two streams have no order between them but that of arrival: within a micro-batch the other stream's records are taken first, and a
    batch takes *all* of them first, so without event time the modes differ. With `event_time` a record finds what had been said up to its
    own time (equal times: the other stream's come first), in every mode and however the records arrive. Time is then what both streams
    have reached: one that is silent holds up the other. What comes later than that from the other stream is left out.
    To take only some of its records, filter the other stream. State: the columns, once.
    """
    if not columns:
        raise DefinitionError(
            "latest: no column is named", fix='name those to remember: latest(locations, "lat", "lon")', where=user_line()
        )
    source = merging.Other(other, tuple(dict.fromkeys(arguments.names("latest", (*columns, *([by] if by is not None else []))))))

    def define(context: Context) -> Parts:
        incoming = context.merged.incoming(source)
        found = F.struct(*[incoming[name].alias(name) for name in columns])
        kept = {"value": context.type_of(found)} | ({"by": context.type_of(incoming[by])} if by else {})

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
    check_options(time=time, order=order, event_time=event_time, delay=delay, idle=idle)
    durations.delay(delay, "with_features: delay")
    if not features:
        raise DefinitionError(
            "with_features: no feature is given", fix='name some: with_features(largest=running(F.max("amount")))', where=user_line()
        )
    names = arguments.names("with_features: key", keys)
    if clash := sorted(set(features) & set(df.columns)):
        raise DefinitionError(f"the records have a column '{clash[0]}' already", fix="give the feature another name", where=user_line())
    named = others_of(features)
    tables = [other.df for other in named] if others is None else list(others)
    for table in tables:
        merging.check(table, DataFrame, "a DataFrame, as the records are")
    ordered_by = [order] if isinstance(order, str) else list(order)
    if event_time:  # each stream has a watermark of its own: the slower one is not late because the other is ahead
        df, *tables = (watermarked(each, event_time, delay) for each in (df, *tables))
    merged = merging.merge(df, names, list(zip(named, tables, strict=True)), [*([event_time] if event_time else []), *ordered_by])
    state: dict[str, Any] = {}
    update: dict[str, Column] = {}
    output = [merging.named(name, of="record") for name in df.columns]
    for name, feature in features.items():
        origin = merged.comes_from(feature.other)
        _check_condition(name, feature, merged.df)
        counts = origin if feature.condition is None else feature.condition if origin is None else origin & feature.condition
        parts = feature.define(Context(merged, time or event_time, counts))

        def before(field: str, name: str = name) -> Column:
            return merging.named(f"{name}__{field}", of="state")

        after = {
            field: new if counts is None else F.when(counts, new).otherwise(before(field)) for field, new in parts.update(before).items()
        }
        state |= {f"{name}__{field}": first for field, first in parts.state.items()}
        update |= {f"{name}__{field}": new for field, new in after.items()}
        value = parts.value(after.__getitem__) if parts.inclusive else parts.value(before)
        output.append(value.alias(name))
    found = scan(
        merged.df, keys=names, state=state, update=update, output=output, when=merged.comes_from(None),
        order=[*ordered_by, merged.stream] if event_time and named else ordered_by, event_time=event_time, delay=delay, idle=idle,
    )  # fmt: skip
    return _own_late_records(found, df, merged) if event_time and named else found


def others_of(features: Mapping[str, Feature]) -> list[merging.Other]:
    """The other streams that the features look at, one for each `latest`."""
    for name, feature in features.items():
        if not isinstance(feature, Feature):
            raise DefinitionError(
                f"with_features: '{name}' is {_shown(feature)}, and no feature",
                fix='make it one, such as running(F.max("amount")) or previous("amount")', where=user_line(),
            )  # fmt: skip
    return [feature.other for feature in features.values() if feature.other is not None]


def _check_condition(name: str, feature: Feature, df: DataFrame) -> None:
    if feature.condition is None:
        return
    selected = df.select(feature.condition)
    kind = selected.schema[0].dataType
    casts.check(f"only: the condition of '{name}'", selected, [df])
    if not isinstance(kind, T.BooleanType):
        raise DefinitionError(
            f"only: the condition of '{name}' is of type {kind.simpleString()}, and is not true or false",
            fix='write a comparison: .only("amount > 3")', where=user_line(),
        )  # fmt: skip


def _own_late_records(result: DataFrame, df: DataFrame, merged: merging.Merged) -> DataFrame:
    """The result without the late records of other streams, and without the columns that only the merging needed."""
    own = F.struct(*[merging.named(name, of=LATE).alias(name) for name in df.columns])
    kept = result.where(F.col(LATE).isNull() | merged.is_of(None, F.col(f"{LATE}.{merged.stream}")))
    return kept.withColumn(LATE, F.when(F.col(LATE).isNotNull(), own))


def check_options(*, order: Any, **texts: Any) -> None:
    """Features are given by name, so one that is named like an option would be taken for it."""
    wrong = {name: value for name, value in texts.items() if not isinstance(value, str | None)}
    if isinstance(order, Feature | Column) or not all(isinstance(name, str) for name in order):
        wrong["order"] = order
    for name, value in wrong.items():
        raise DefinitionError(
            f"with_features: the option '{name}' is {_shown(value)}, but a text is needed",
            fix="give the feature another name" if isinstance(value, Feature) else "give it as text", where=user_line(),
        )  # fmt: skip


def _shown(value: Any) -> str:
    return (
        "a feature"
        if isinstance(value, Feature)
        else f"a {type(value).__name__} ({value})"
        if isinstance(value, Column)
        else arguments.shown(value)
    )


class Remembered:
    """Rows of a key kept in its state: a time, and what an aggregate reads (or the columns given)."""

    def __init__(self, context: Context, fold: Fold | None, time: Column | None = None, **columns: Column) -> None:
        self.fold, self.time = fold, time
        read = {f"i{i}": column for i, column in enumerate(fold.inputs)} if fold else columns
        stored = {"t": time if time is not None else F.lit(True)} | read
        self.inputs = list(read)
        self.none = context.empty_rows(**stored)
        self.this = F.struct(*[column.alias(name) for name, column in stored.items()])

    def with_this(self, rows: Column, adding: Column | None = None) -> Column:
        """The rows and this one, if the condition `adding` is true."""
        this = F.array(self.this)
        return F.concat(rows, this if adding is None else F.when(adding, this).otherwise(self.none))

    def forgetting(self, field: Field, kept: int, adding: Column | None = None) -> dict[str, Column]:
        """The rows with this one, without those that are more than `kept` microseconds behind the newest."""
        return {"rows": F.filter(self.with_this(field("rows"), adding), self.still(field, kept)), "newest": self._newest(field)}

    def still(self, field: Field, kept: int) -> Callable[[Column], Column]:
        """Whether a row is no more than `kept` microseconds behind the newest, which may be this one."""
        return lambda row: row["t"] >= self._newest(field) - _interval(kept)

    def _newest(self, field: Field) -> Column:
        assert self.time is not None
        return F.greatest(field("newest"), self.time)

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
    if not isinstance(n, int) or isinstance(n, bool) or n < 1:
        raise DefinitionError(f"{feature}: n is {arguments.shown(n)}", fix="give a whole number from 1 on", where=user_line())
