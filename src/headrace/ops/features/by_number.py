"""Features over all records of a key, or over the last so many."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headrace.definitions import arguments
from headrace.errors import DefinitionError, user_line
from headrace.kernel.folds import Fold
from headrace.ops.features.feature import Feature
from headrace.ops.features.remembering import Context, Field, Parts, Remembered


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


def _last(rows: Column, n: int) -> Column:
    return F.when(F.size(rows) > n, F.slice(rows, F.size(rows) - (n - 1), n)).otherwise(rows)


def _at_least_one(feature: str, n: int) -> None:
    if not isinstance(n, int) or isinstance(n, bool) or n < 1:
        raise DefinitionError(f"{feature}: n is {arguments.shown(n)}", fix="give a whole number from 1 on", where=user_line())
