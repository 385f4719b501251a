"""What is known of a key when a record of it comes: features, all of one key in one scan.

    with_features(transactions, keys="customer", time="ts", features={
        "previous_max": running(F.max("amount")),
        "recent": within("10 seconds", F.count("*")),
    })

Each feature is a value as it was *before* the record; `inclusive=True` counts the record itself too. `.only(condition)` counts only the
records for which the condition holds. A feature may mention others of the same call by their names, in its condition, its aggregate or its
column: it sees the value that they have for this record. Features add fields to one state row, so however many there are, a record costs
one shuffle, one read and one write of state.
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
from headrace.kernel.ports import Port
from headrace.kernel.scan import LATE, promise, scan_with_values
from headrace.ops import mentions, merging
from headrace.ops.remembering import Context, Field, Parts, Remembered

ANSWERS, QUESTION_ID = "answers", "id"


@dataclass(frozen=True)
class Feature:
    """A specification; nothing happens until `with_features` puts it into a scan. `reads` is what it computes with, and `inclusive` is
    whether its value is one after the record and not before."""

    define: Callable[[Context], Parts]
    reads: tuple[Column, ...] = ()
    inclusive: bool = False
    condition: Column | None = None
    other: merging.Other | None = None

    def only(self, condition: Condition) -> Feature:
        """The same, counting only the records for which `condition` (a column, or text) is true; asked twice, both must be.

        The condition may mention other features of the same `with_features`, and, unless the feature is inclusive, the feature itself:
        `n=running(F.count("*")).only("n < 3")` counts to three.
        """
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

    Spark's sketches are among them: `F.expr("approx_top_k(item, 5, 100)")` for what is frequent, `F.percentile_approx`, `F.hll_sketch_agg`,
    `F.theta_sketch_agg`, `F.kll_sketch_agg_double`, `F.count_min_sketch`. Spark's are made for many rows at a time: here each record reads
    and writes the whole sketch, so give them a size that fits, such as the 100 items above. (KLL throws dice: no two runs give the same.)

    State: the aggregate's buffers, of fixed size (approx_count_distinct: 52 words of 8 bytes); of a sketch, its bytes.
    """
    arguments.aggregate("running", aggregate)

    def define(context: Context) -> Parts:
        fold = Fold(context.df, aggregate)
        names = [f"b{i}" for i in range(len(fold.initial))]
        return Parts(
            dict(zip(names, fold.initial, strict=True)),
            lambda field: dict(zip(names, fold.update([field(n) for n in names], fold.inputs), strict=True)),
            lambda field: fold.result([field(n) for n in names]),
        )

    return Feature(define, (aggregate,), inclusive)


def previous(column: Column | str, n: int = 1) -> Feature:
    """The value of `column` in the record before this one, or `n` records before; null if there were fewer.

    State: the last n values.
    """
    _at_least_one("previous", n)
    value = arguments.column("previous", column)

    def define(context: Context) -> Parts:
        return Parts(
            {"values": context.empty_rows({"v": value})},
            lambda field: {"values": _last(F.concat(field("values"), F.array(F.struct(value.alias("v")))), n)},
            lambda field: F.get(field("values"), F.size(field("values")) - n)["v"],
        )

    return Feature(define, (value,))


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
        )

    return Feature(define, (aggregate,), inclusive)


def within(duration: str, aggregate: Column, *, ahead: str = "0 seconds", keep: str | None = None, inclusive: bool = False) -> Feature:
    """An aggregate over the sliding window around the time t of this record: the records that came before it and whose time is in
    [t - duration, t + ahead], both ends included. It is exact: there are no hops. Without `ahead` a record with a later time that came
    before is not in it; `within("10 seconds", F.count("*"), ahead="10 seconds")` counts those within ten seconds, earlier or later.

        came  time      ahead="10 seconds"  without
        1st   10:00:00  0                   0
        2nd   10:00:10  1                   1         # ten seconds later: both ends are in
        3rd   10:00:05  2                   1         # the 2nd is later in time
        4th   10:00:21  0                   0

    A record that comes out of order finds what is still remembered: `keep` (default: duration and ahead together) says how far behind the
    newest time of the key that reaches. A record without a time is in no window and sees an empty one. Inclusive: with the record itself,
    if it counts. With `event_time` records come in the order of their time, so there is nothing ahead, and it is refused.

    State: what the aggregate reads of the records in the last `keep` of time. It grows with the rate of the key, not with its age.
    """
    arguments.aggregate("within", aggregate)
    width, later = durations.micros(duration, "within"), durations.delay(ahead, "within: ahead")
    kept = width + later if keep is None else durations.micros(keep, "within: keep")
    if kept < width:
        raise DefinitionError(
            f"within: keep ({keep}) is shorter than the window ({duration})", fix=f"give keep={duration!r} or more", where=user_line()
        )

    def define(context: Context) -> Parts:
        time = context.time_column("within")
        if later and context.by_event_time:
            raise DefinitionError(
                "within: with event_time records are taken in the order of their time, and none that is ahead has come",
                fix="leave out ahead= or event_time=", where=user_line(),
            )  # fmt: skip
        rows = Remembered(context, Fold(context.df, aggregate), time)

        def value(field: Field) -> Column:
            known = rows.with_this(field("rows"), context.counts) if inclusive else field("rows")
            return rows.value(rows.between(known, width, later))

        return Parts(
            {"rows": rows.none, "newest": context.type_of(time)}, lambda field: rows.forgetting(field, kept), value, sees_itself=True
        )

    return Feature(define, (aggregate,), inclusive)


def recent(duration: str, *columns: str) -> Feature:
    """The recent records of the key: an array of structs with these columns, in the order in which they came. A record is remembered until
    one has come (and counted) whose time is more than `duration` after its own. So what this record finds does not depend on its own time.

    For what no aggregate says, because it compares this record with each of those. Whether one of them had its id is, of the feature
    `recent`, `F.exists("recent", lambda old: old["id"] == F.col("id"))`. A record without a time is not remembered.

    >>> import headrace as hr
    >>> payments = hr.read.memory("customer string, id string, at timestamp")
    >>> payments.key_by("customer").with_features(time="at", recent=hr.recent("10 minutes", "id", "at"))
    Stream[customer: string, id: string, at: timestamp, recent: array<struct<id:string,at:timestamp>>]

    State: the columns of the records in the last `duration` of time.
    """
    kept, names = durations.micros(duration, "recent"), arguments.names("recent", columns)
    if not names:
        raise DefinitionError("recent: no column is named", fix='name those to remember: recent("10 minutes", "id")', where=user_line())

    def define(context: Context) -> Parts:
        time = context.time_column("recent")
        with_time = context.time in names
        at = context.time if with_time and context.time else "t" if "t" not in names else "t_"
        rows = Remembered(context, None, time, {name: merging.named(name) for name in names}, at=at)

        def value(field: Field) -> Column:
            known = field("rows")
            return known if with_time else F.transform(known, lambda row: F.struct(*[row[name].alias(name) for name in names]))

        return Parts({"rows": rows.none, "newest": context.type_of(time)}, lambda field: rows.forgetting(field, kept), value)

    return Feature(define, tuple(map(merging.named, names)))


def seen_before(column: Column | str, within: str) -> Feature:
    """Whether the key had this value of `column` before and still remembers it: values are remembered until the newest time of the key,
    that of this record included, is more than `within` after theirs. A value that is still remembered is not remembered anew, so
    repetitions do not keep it alive. Null was never seen, and a record without a time is not remembered.

    State: the different values of the last `within` of time.
    """
    value, kept = arguments.column("seen_before", column), durations.micros(within, "seen_before")

    def define(context: Context) -> Parts:
        time = context.time_column("seen_before")
        rows = Remembered(context, None, time, {"v": value})

        def seen(field: Field) -> Column:
            still = rows.still(field, kept)
            return F.coalesce(F.exists(field("rows"), lambda row: (row["v"] == value) & still(row)), F.lit(False))

        def update(field: Field) -> Mapping[str, Column]:
            return rows.forgetting(field, kept, adding=value.isNotNull() & ~seen(field))

        return Parts({"rows": rows.none, "newest": context.type_of(time)}, update, seen)

    return Feature(define, (value,))


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

    return Feature(define, (value,))


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
        values = F.struct(*[incoming[name].alias(name) for name in columns])
        kept = {"value": context.type_of(values)} | ({"by": context.type_of(incoming[by])} if by else {})

        def update(field: Field) -> Mapping[str, Column]:
            if by is None:
                return {"value": values}
            newer = incoming[by].isNotNull() & (field("by").isNull() | (incoming[by] >= field("by")))
            return {"value": F.when(newer, values).otherwise(field("value")), "by": F.when(newer, incoming[by]).otherwise(field("by"))}

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
    wait: bool = True,
    idle: str | None = None,
    asked: DataFrame | None = None,
) -> DataFrame:
    """Every record of `df` with the features of its key, in one scan. `time` is the column that `within` and `seen_before` measure by.
    `others` are the tables of the streams that `latest` names, one for each, where it does not name a table itself. The other options are
    those of `scan`.

    `asked` are questions, with the key and an `id`: the result then also has the port `answers`, a row for each question, with its `id`,
    the key, and the features as they are at that moment. A question changes nothing. What a feature measures from the record's own columns
    (`since`, `within`), it measures from nulls."""
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
    question = _question(asked, event_time)
    if question is not None:
        named, tables = [*named, question], [*tables, question.df]
    for table in tables:
        merging.check(table, DataFrame, "a DataFrame, as the records are")
    ordered_by = [order] if isinstance(order, str) else list(order)
    if event_time:  # each stream has a watermark of its own: the slower one is not late because the other is ahead
        df, *tables = (watermarked(each, event_time, delay) for each in (df, *tables))
    merged = merging.merge(df, names, list(zip(named, tables, strict=True)), [*([event_time] if event_time else []), *ordered_by])
    fields = _Fields(merged, time or event_time, by_event_time=event_time is not None and wait)
    between = mentions.among(df, features)
    for name in between.order:
        fields.add(name, features[name], mentioning=name in between.mentioning, mentioned=name in between.mentioned)
    result = scan_with_values(
        fields.df, keys=names, values=fields.promised,
        options={
            "state": {field: fields.state[field] for name in features for field in fields.of[name]},
            "update": fields.update,
            "output": [*(merging.named(name, of="record") for name in df.columns), *(fields.values[name].alias(name) for name in features)],
            "when": merged.comes_from(None),
            "ports": {} if question is None else {ANSWERS: _answers(merged, question, names, fields, features)},
            "order": [*ordered_by, merged.stream] if event_time and named else ordered_by,
            "event_time": event_time, "delay": delay, "wait": wait, "idle": idle,
        },
    )  # fmt: skip
    return _own_late_records(result, df, merged) if event_time and named else result


def _question(asked: DataFrame | None, event_time: str | None) -> merging.Other | None:
    if asked is not None and event_time is not None:
        raise DefinitionError(
            "with_features: asked: a question has no event time, so it would wait for ever",
            fix="leave out event_time; or ask a job that reads what this one puts out",
            where=user_line(),
        )
    return None if asked is None else merging.Other(asked, (QUESTION_ID,))


def _answers(
    merged: merging.Merged, question: merging.Other, keys: Sequence[str], fields: _Fields, features: Mapping[str, Feature]
) -> Port:
    known = (fields.values[name].alias(name) for name in features)
    output = [merged.incoming(question)[QUESTION_ID].alias(QUESTION_ID), *(merging.named(key, of="record") for key in keys), *known]
    return Port(output=output, when=merged.comes_from(question))


class _Fields:
    """The fields of one state row, feature by feature. `df` has the records, and each feature that another one mentions as a column that
    `promised` has the meaning of."""

    def __init__(self, merged: merging.Merged, time: str | None, *, by_event_time: bool) -> None:
        self.merged, self.time, self.by_event_time, self.df = merged, time, by_event_time, merged.df
        self.of: dict[str, list[str]] = {}
        self.state: dict[str, Any] = {}
        self.update: dict[str, Column] = {}
        self.values: dict[str, Column] = {}
        self.promised: dict[str, Column] = {}

    def add(self, name: str, feature: Feature, *, mentioning: bool, mentioned: bool) -> None:
        """One feature more, after those that it mentions."""
        origin = self.merged.comes_from(feature.other)
        counts = origin if feature.condition is None else feature.condition if origin is None else origin & feature.condition
        if feature.inclusive:
            _check_condition(name, feature, self.df)
        seen = self.df if mentioning else self.merged.df  # so that `*` is the record and nothing else
        parts = feature.define(Context(self.merged, seen, self.time, counts, self.by_event_time))

        def before(field: str) -> Column:
            return merging.named(f"{name}__{field}", of="state")

        after = {
            field: new if counts is None else F.when(counts, new).otherwise(before(field)) for field, new in parts.update(before).items()
        }
        self.of[name] = [f"{name}__{field}" for field in parts.state]
        self.state |= {f"{name}__{field}": first for field, first in parts.state.items()}
        self.update |= {f"{name}__{field}": new for field, new in after.items()}
        self.values[name] = parts.value(after.__getitem__ if feature.inclusive and not parts.sees_itself else before)
        if mentioned:
            self.df = promise(self.df, self.state, name, self.values[name])
            self.promised[name] = self.values[name]
        if not feature.inclusive:
            _check_condition(name, feature, self.df)  # which may mention the feature itself


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


def _last(rows: Column, n: int) -> Column:
    return F.when(F.size(rows) > n, F.slice(rows, F.size(rows) - (n - 1), n)).otherwise(rows)


def _at_least_one(feature: str, n: int) -> None:
    if not isinstance(n, int) or isinstance(n, bool) or n < 1:
        raise DefinitionError(f"{feature}: n is {arguments.shown(n)}", fix="give a whole number from 1 on", where=user_line())
