"""One record where a key has several: the first or the last of it, of all time or of each span.

Each record comes out once: the one that is kept, or out of the port `again`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Unpack

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headrace.definitions import arguments, durations
from headrace.errors import DefinitionError, user_line
from headrace.kernel.expressions.instants import Instants
from headrace.kernel.scan import Port, Timer, scan
from headrace.ops.changes import OVER, rate_limit
from headrace.ops.merging import named
from headrace.ops.ranking import OrderOptions

AGAIN = "again"
Keep = Literal["first", "last"]
KEEP = ("first", "last")


def distinct(
    df: DataFrame,
    *,
    keys: Sequence[str],
    keep: Keep = "first",
    within: str | None = None,
    time: str | None = None,
    **options: Unpack[OrderOptions],
) -> DataFrame:
    """The first or the last record of each key; the others go out of the port `again`.

    | keep  | within | what comes out                                                                                                  |
    |-------|--------|-----------------------------------------------------------------------------------------------------------------|
    | first |        | the first record of the key: of arrival; with `event_time`, of time                                             |
    | first | d      | a record that is d or more later than the one that came out before it                                           |
    | last  |        | a record unless one that came before it is later: a table by key, of which the last row counts. Of equal times  |
    |       |        | each comes out                                                                                                  |
    | last  | d      | the first record of a key opens a span of the length d; when time has passed its end, the last of it. Of equal  |
    |       |        | times the later arrival. Only with `event_time`                                                                 |

        seconds            0  4  9  10  11        10 s:  first 0 10;  last 9 11

    A span has its beginning and not its end. Taken as they arrive, records that are earlier than the one that came out are doubles of it.
    Without a time a record is older than those that have one; with `within` it goes out of `again`, or, with `event_time`, out of `late`.

    State: a flag or a time a key; with `last` and `within`, a record. For ever, unless there is `idle`; with `within` and `event_time` a
    key is forgotten when its span is over.
    """
    arguments.one_of("distinct: keep", keep, KEEP)
    name = time or options.get("event_time")
    if name is None and (within is not None or keep == "last"):
        raise _refused("it is not known which column is the time", 'name it: time="at"')
    if keep == "first" and within is None:
        seen = F.col("state.seen")
        return _parted(df, keys, {"seen": False}, {"seen": True}, ~seen, seen, options)
    if keep == "first":
        assert within is not None
        if options.get("event_time") is not None:
            options.setdefault("idle", within)
        limited = rate_limit(df, keys=keys, n=1, per=within, time=time, **options)
        return limited.withColumnRenamed(OVER, AGAIN)
    assert name is not None
    at = named(arguments.name("distinct: time", name))
    kind = df.select(at).schema[0].dataType
    if not isinstance(kind, T.TimestampType | T.TimestampNTZType):
        raise _refused(
            f"the time {name!r} is of type {kind.simpleString()}, but a timestamp is needed",
            f"make it one before: with_columns({name}=F.to_timestamp({name!r}))",
        )
    if within is not None:
        return _last_of_spans(df, keys, name, durations.micros(within, "distinct: within"), options)
    newest = F.col("state.newest")
    newer = F.coalesce(at >= newest, at.isNotNull() | newest.isNull())
    return _parted(df, keys, {"newest": kind}, {"newest": F.greatest(newest, at)}, newer, ~newer, options)


def _parted(
    df: DataFrame, keys: Sequence[str], state: dict[str, Any], update: dict[str, Any], when: Column, again: Column, options: OrderOptions
) -> DataFrame:
    double = Port(output=["*"], when=again)
    return scan(df, keys=keys, state=state, update=update, output=["*"], when=when, ports={AGAIN: double}, **options)


def _last_of_spans(df: DataFrame, keys: Sequence[str], time: str, span: int, options: OrderOptions) -> DataFrame:
    if options.get("event_time") != time:
        raise _refused("the last of a span is known when time has passed its end", f'give the time as event_time="{time}"')
    record = F.struct(*(named(name).alias(name, metadata={}) for name in df.columns))
    last, until = F.col("state.record"), F.col("state.until")
    instants = Instants(df.sparkSession, df.schema[time].dataType)
    first = instants.moved(named(time), span - 1)  # an alarm rings after all records of its own time, and the end is not in the span
    row = [last[name].alias(name) for name in df.columns]
    more: dict[str, Any] = {"time_out": time, "time_behind": f"{span} microseconds"} if df.isStreaming else {}
    return scan(
        df,
        keys=keys,
        state={"record": df.select(record).schema[0].dataType, "until": df.schema[time].dataType},
        update={"record": record, "until": F.coalesce(until, first)},
        ports={AGAIN: Port(output=row, when=last.isNotNull())},
        timer=Timer(at=until, output=row, forget=True),
        **options,
        **more,
    )


def _refused(what: str, fix: str) -> DefinitionError:
    return DefinitionError(f"distinct: {what}", fix=fix, where=user_line())
