"""Features over the records of a key of some span of time."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

from headrace.definitions import arguments, durations
from headrace.errors import DefinitionError, user_line
from headrace.kernel.folds import Fold
from headrace.ops import merging
from headrace.ops.features.feature import Feature
from headrace.ops.features.remembering import Context, Field, Parts, Remembered


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
    span = width + later if keep is None else durations.micros(keep, "within: keep")
    if span < width:
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
            {"rows": rows.none, "newest": context.type_of(time)}, lambda field: rows.forgetting(field, span), value, sees_itself=True
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
    span, names = durations.micros(duration, "recent"), arguments.names("recent", columns)
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

        return Parts({"rows": rows.none, "newest": context.type_of(time)}, lambda field: rows.forgetting(field, span), value)

    return Feature(define, tuple(map(merging.named, names)))


def seen_before(column: Column | str, within: str) -> Feature:
    """Whether the key had this value of `column` before and still remembers it: values are remembered until the newest time of the key,
    that of this record included, is more than `within` after theirs. A value that is still remembered is not remembered anew, so
    repetitions do not keep it alive. Null was never seen, and a record without a time is not remembered.

    State: the different values of the last `within` of time.
    """
    value, span = arguments.column("seen_before", column), durations.micros(within, "seen_before")

    def define(context: Context) -> Parts:
        time = context.time_column("seen_before")
        rows = Remembered(context, None, time, {"v": value})

        def seen(field: Field) -> Column:
            still = rows.still(field, span)
            return F.coalesce(F.exists(field("rows"), lambda row: (row["v"] == value) & still(row)), F.lit(False))

        def update(field: Field) -> Mapping[str, Column]:
            return rows.forgetting(field, span, adding=value.isNotNull() & ~seen(field))

        return Parts({"rows": rows.none, "newest": context.type_of(time)}, update, seen)

    return Feature(define, (value,))
