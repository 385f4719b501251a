"""Joins by equal keys: of records with the rows of a table, and of two streams within a bound of time. A null key equals nothing.

| how     | rows                                                                 | with a table | of two streams |
|---------|----------------------------------------------------------------------|--------------|----------------|
| `inner` | each pair of the same key                                            | yes          | yes            |
| `left`  | these, and the records without a partner, with nulls                 | yes          | yes            |
| `right` | the pairs, and the other's records without a partner                 | no           | yes            |
| `full`  | the pairs, and the records of both without a partner                 | no           | yes            |
| `semi`  | the records that have a partner, each once, without its columns      | yes          | yes            |
| `anti`  | the records that have none                                           | yes          | no             |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from headrace.definitions import durations
from headrace.errors import DefinitionError, user_line
from headrace.kernel.event_time import WATERMARK
from headrace.ops.merging import named

WITH_A_TABLE = ("inner", "left", "semi", "anti")
OF_STREAMS = ("inner", "left", "right", "full", "semi")


@dataclass(frozen=True)
class Between:
    """`lower` <= other's time - own time <= `upper`, in microseconds. Either may be negative, and both are inclusive."""

    time: str
    other_time: str
    lower: int
    upper: int

    def condition(self) -> Column:
        own, other = _own(self.time), _other(self.other_time)
        lower, upper = (F.lit(timedelta(microseconds=offset)) for offset in (self.lower, self.upper))
        return (other >= own + lower) & (other <= own + upper)


def check_how(how: str, known: Sequence[str]) -> None:
    """DefinitionError if it is not one of these."""
    if how not in known:
        instead = 'use "left", and then .where("… is null"), or one of' if how == "anti" else "use one of"
        what = "two streams" if known is OF_STREAMS else "a table"
        raise _refused(f"how={how!r} is not known for {what}", f"{instead} {', '.join(known)}")


def bound(own: StructType, other: StructType, keys: Sequence[str], how: str, between: tuple[str, str] | None) -> Between | None:
    """The bound of time of two streams with these columns. DefinitionError if it is none, or there is none where one is needed."""
    times, others = event_times(own), event_times(other)
    if between is None:
        if how != "inner" and not any(key in times or key in others for key in keys):
            raise _refused(
                f"how={how!r} of two streams needs a bound of time: a record would wait for its partner for ever",
                'say how much earlier and later the other may be: between=("-5 minutes", "10 minutes")',
            )
        return None
    for stream, columns in {"this": times, "the other": others}.items():
        if not columns:
            what = f"it is not known which column of {stream} stream is the time"
            raise _refused(what, '.event_time("column", "10 minutes") before the join')
    if not isinstance(between, Sequence) or isinstance(between, str) or len(between) != 2:
        raise _refused(f"between={between!r} is no pair of durations", 'write between=("-5 minutes", "10 minutes")')
    lower, upper = (durations.offset(text, "join: between") for text in between)
    if lower > upper:
        raise _refused(f"between={between!r}: the second is earlier than the first", "give the earlier one first")
    return Between(times[0], others[0], lower, upper)


def join(df: DataFrame, other: DataFrame, keys: Sequence[str], how: str, between: Between | None = None) -> DataFrame:
    """The records of `df` with those of `other` that have the same keys, and are within the bound if there is one.

    The keys come first and once, then the other columns of `df`, then those of `other`; a name that both have is refused. Of two event
    times the first goes on, and with `right` the second, which is the one that every row has; the rest are plain columns.
    """
    _check_keys(df, other, keys)
    conditions = [_own(key) == _other(key) for key in keys]
    conditions += [] if between is None else [between.condition()]
    conditions += _present(keys, between) if other.isStreaming else []
    condition = reduce(and_, conditions)
    joined = df.alias(_OWN).join(other.alias(_OTHER), condition, {"semi": "left_semi", "anti": "left_anti"}.get(how, how))
    if how in ("semi", "anti"):
        return joined.select(*(_own(name) for name in df.columns))
    _check_names(df, other, keys)
    goes_on = _OTHER if how == "right" else _OWN
    return joined.select(
        *(_key(key, how) for key in keys),
        *(_column(_OWN, field, goes_on) for field in df.schema if field.name not in keys),
        *(_column(_OTHER, field, goes_on) for field in other.schema if field.name not in keys),
    )


def _present(keys: Sequence[str], between: Between | None) -> list[Column]:
    """That keys and times are not null. Spark takes null for a key like any other in a full join of streams, and would keep a record
    without a time for ever; of one that fails this it knows at once that it has no partner."""
    own, other = ([], []) if between is None else ([between.time], [between.other_time])
    return [*(_own(name).isNotNull() for name in (*keys, *own)), *(_other(name).isNotNull() for name in (*keys, *other))]


def event_times(schema: StructType) -> list[str]:
    """The columns that have a watermark."""
    return [field.name for field in schema if WATERMARK in field.metadata]


_OWN, _OTHER = "_own", "_other"


def _own(name: str) -> Column:
    return named(name, _OWN)


def _other(name: str) -> Column:
    return named(name, _OTHER)


def _key(name: str, how: str) -> Column:
    if how == "full":
        return F.coalesce(_own(name), _other(name)).alias(name)
    return _other(name) if how == "right" else _own(name)


def _column(side: str, field: StructField, goes_on: str) -> Column:
    """A column, without its watermark if another goes on: Spark refuses what keeps state behind two of them."""
    column = named(field.name, side)
    if side == goes_on or WATERMARK not in field.metadata:
        return column
    return column.alias(field.name, metadata={name: value for name, value in field.metadata.items() if name != WATERMARK})


def _check_keys(df: DataFrame, other: DataFrame, keys: Sequence[str]) -> None:
    if not keys:
        raise _refused("there is no key", 'name one or more columns that both have: on="customer"')
    for side, frame in {"here": df, "there": other}.items():
        for key in keys:
            if key not in frame.columns:
                near = get_close_matches(key, frame.columns, n=1)
                hint = f"did you mean {near[0]!r}? " if near else ""
                raise _refused(f"there is no column {key!r} {side}", f"{hint}The columns {side} are {', '.join(frame.columns)}")


def _check_names(df: DataFrame, other: DataFrame, keys: Sequence[str]) -> None:
    names = {name.lower() for name in df.columns if name not in keys}
    for name in other.columns:
        if name not in keys and name.lower() in names:
            raise _refused(
                f"both have a column {name!r}",
                f'rename it on one side, .rename({name}="…"), or drop it there; or is it one of the keys?',
            )


def _refused(what: str, fix: str) -> DefinitionError:
    return DefinitionError(f"join: {what}", fix=fix, where=user_line())
