"""Fewer records: those that changed something, those of some keys, and not too many at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import Unpack

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headrace.definitions import arguments, durations
from headrace.errors import DefinitionError, user_line
from headrace.kernel.scan import Port, scan
from headrace.ops.merging import named
from headrace.ops.ranking import OrderOptions

OVER = "over"


def changes(df: DataFrame, *, keys: Sequence[str], columns: Sequence[str], **options: Unpack[OrderOptions]) -> DataFrame:
    """The records in which one of the columns differs from that of the key's record before; null equals null. The first of a key comes out.
    Without columns: any but the keys.

    | status of a key | comes out |
    |-----------------|-----------|
    | up              | yes       |
    | up              | no        |
    | null            | yes       |
    | null            | no        |
    | up              | yes       |

    State: the columns, once a key.
    """
    watched = list(columns) or [name for name in df.columns if name not in keys]
    if not watched:
        raise DefinitionError("changes: the records have no column but the keys", fix="name one to watch", where=user_line())
    now = {f"c{i}": named(name) for i, name in enumerate(watched)}
    same = reduce(and_, (F.col(f"state.{field}").eqNullSafe(value) for field, value in now.items()))
    kinds = df.select(*now.values()).schema
    state = {field: kind.dataType for field, kind in zip(now, kinds, strict=True)}
    return scan(
        df, keys=keys, state={"seen": False, **state}, update={"seen": True, **now}, output=["*"],
        when=~(F.col("state.seen") & same), **options,
    )  # fmt: skip


def sample(df: DataFrame, *, keys: Sequence[str], fraction: float, seed: int = 0) -> DataFrame:
    """About this part of the keys, each with all of its records. Which keys, a hash of the key says: the same in every run and every mode,
    and those of a smaller part are among those of a larger one. Another seed takes others. Nothing is kept."""
    if not isinstance(fraction, int | float) or isinstance(fraction, bool) or not 0 <= fraction <= 1:
        raise DefinitionError(
            f"sample: {arguments.shown(fraction)} is no part of a whole",
            fix="give a number from 0 to 1: 0.1 for a tenth",
            where=user_line(),
        )
    hashed = F.xxhash64(F.lit(seed), *(_one_zero(df, key) for key in keys))
    return df.where(F.shiftrightunsigned(hashed, 11) < F.lit(round(fraction * 2**53)))


def _one_zero(df: DataFrame, key: str) -> Column:
    """0.0 and -0.0 are one key, and must have one hash."""
    column = named(key)
    return column + F.lit(0.0) if isinstance(df.schema[key].dataType, T.FractionalType) else column


def rate_limit(
    df: DataFrame, *, keys: Sequence[str], n: int, per: str, time: str | None = None, **options: Unpack[OrderOptions]
) -> DataFrame:
    """At most `n` records of a key in any span of time of the length `per`; the others go out of the port `over`.

    The rule: a record passes if fewer than n that have passed are later than `per` before it. One that is exactly `per` later than another
    is not in one span with it. What did not pass does not count, so a key that is over its limit all the time still passes n in
    each span. Where records come out of order, those that are later in time count as well. A record without a time does not pass.

        2 a minute  10:00:00  10:00:20  10:00:40  10:01:00  10:01:10  10:01:20
                    passes    passes    over      passes    over      passes

    State: n times a key.
    """
    if not isinstance(n, int) or isinstance(n, bool) or n < 1:
        raise DefinitionError(f"rate_limit: n is {arguments.shown(n)}", fix="give a whole number from 1 on", where=user_line())
    span, name = durations.micros(per, "rate_limit: per"), time or options.get("event_time")
    if name is None:
        raise DefinitionError("rate_limit: it is not known which column is the time", fix='name it: time="at"', where=user_line())
    at, passed = named(arguments.name("rate_limit: time", name)), F.col("state.passed")
    kind = df.select(at).schema[0].dataType
    if not isinstance(kind, T.TimestampType | T.TimestampNTZType):
        raise DefinitionError(
            f"rate_limit: the time {name!r} is of type {kind.simpleString()}, but a timestamp is needed",
            fix=f"make it one before: with_columns({name}=F.to_timestamp({name!r})); or name another: time='at'", where=user_line(),
        )  # fmt: skip
    micros = F.unix_micros(at.cast("timestamp"))
    free = (F.size(passed) < n) | (F.get(passed, n - 1) <= micros - span)  # the latest come first
    passes = at.isNotNull() & F.coalesce(free, F.lit(False))
    latest = F.slice(F.sort_array(F.concat(passed, F.array(micros)), asc=False), 1, n)
    return scan(
        df, keys=keys, state={"passed": F.array().cast("array<bigint>")}, update={"passed": F.when(passes, latest).otherwise(passed)},
        output=["*"], when=passes, ports={OVER: Port(output=["*"], when=~passes)}, **options,
    )  # fmt: skip
