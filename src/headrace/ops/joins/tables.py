"""Tables that change, joined: of a stream, the newest record of each key is the row of that key, until one comes that deletes it.

| what meets       | what comes out                                                                                             |
|------------------|------------------------------------------------------------------------------------------------------------|
| stream and table | each record of the stream, with the row that the table has at that moment. The table's records give nothing |
| table and table  | a change of the joined table for each record of either: its new row, or that it has none any more           |

The joined table has a row for a key that both have (`inner`), that the first has (`left`), or that one of them has (`full`). A change has
the columns of both, and `deleted`: true for a key that had a row and has none now, with nulls for the columns of both.

    first   A   .   B   .   x   .   C         x: deleted
    second  .   a   .   b   .   x   .
    inner       Aa  Ba  Bb  x
    left    A-  Aa  Ba  Bb  x       C-
    full    A-  Aa  Ba  Bb  -b  x   C-

**Order.** By arrival: a record finds what came before it. Two streams have no order between them but that; within a micro-batch, and in a
batch, the second one's records come first, so only the last row of a key is the same in every mode, and of a stream with a table not even
that. By time: records of both are taken in the order of their time, those of the second first if it is the same, when the watermark of
both has passed them. Then every mode gives the same rows, late records go out of the ports `late` and `late_other`, and a change says in
`changed` when it was, which is its time for what follows. A stream meets a table by time as `as_of` does, backward.

A record with a null key is no row of a table, and finds none.

State: the row of each key of the table, of both tables if there are two; of a key that is deleted, nothing.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.kernel.scan import scan
from headrace.ops.joins import checks
from headrace.ops.joins.sides import AT, Sides

HOW = ("inner", "left", "full")
HOW_STREAM = ("inner", "left")
DELETED, CHANGED = "deleted", "changed"

_TURN = "turn"


def looked_up(sides: Sides, how: str) -> DataFrame:
    """The records of a stream, with the rows that a table has when they arrive."""
    checks.how("join", how, HOW_STREAM, "a stream and a table that changes")
    before, comes = F.col("state.row"), ~sides.is_own & sides.has_keys
    row = F.when(sides.has_keys, before)
    return scan(
        sides.df,
        keys=sides.keys,
        state={"row": sides.df.schema[sides.other.name].dataType},
        update={"row": F.when(comes, F.when(~sides.is_gone, sides.other.row)).otherwise(before)},
        output=[*sides.key_columns("left"), *sides.own.columns(sides.own.row), *sides.other.columns(row)],
        when=sides.is_own & row.isNotNull() if how == "inner" else sides.is_own,
        forget=~sides.is_own & sides.is_gone,
    )


def changes(sides: Sides, how: str) -> DataFrame:
    """The changes of two tables, joined. With a time the result has the ports `main`, `late` and `late_other`."""
    checks.how("join", how, HOW, "two tables that change")
    for name in (DELETED, *([CHANGED] if sides.by_time else [])):
        for side in (sides.own, sides.other):
            if name in (column.lower() for column in side.schema.names):
                raise checks.refused("join", f"a table has a column {name!r} already", f"rename it before: .rename({name}='…')")
    rows_before = {side.name: F.col(f"state.{side.name}") for side in (sides.own, sides.other)}

    def after(side: str, row: Column, comes: Column) -> Column:
        return F.when(comes & sides.has_keys, F.when(~sides.is_gone, row)).otherwise(rows_before[side])

    own = after("own", sides.own.row, sides.is_own)
    other = after("other", sides.other.row, ~sides.is_own)
    was, is_now = _has_row(how, rows_before["own"], rows_before["other"]), _has_row(how, own, other)
    rows = [*sides.own.columns(F.when(is_now, own)), *sides.other.columns(F.when(is_now, other)), (~is_now).alias(DELETED)]
    timed: dict[str, Any] = {"event_time": AT, "order": _TURN} if sides.by_time else {}
    if sides.by_time and sides.df.isStreaming:
        timed["time_out"] = CHANGED
    result = scan(
        sides.df.withColumn(_TURN, sides.is_own) if sides.by_time else sides.df,
        keys=sides.keys,
        state={side: sides.df.schema[side].dataType for side in rows_before},
        update={"own": own, "other": other},
        output=[*sides.key_columns(how), *rows, *([F.col(AT).alias(CHANGED)] if sides.by_time else [])],
        when=sides.has_keys & (was | is_now),
        forget=own.isNull() & other.isNull(),
        **timed,
    )
    return sides.parted(result) if sides.by_time else result


def _has_row(how: str, own: Column, other: Column) -> Column:
    """Whether the joined table has a row for the key."""
    match how:
        case "inner":
            return own.isNotNull() & other.isNotNull()
        case "left":
            return own.isNotNull()
        case _:
            return own.isNotNull() | other.isNotNull()
