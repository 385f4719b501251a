"""A small table that every record sees whole: rules, limits, lists, which another stream changes while the job runs.

Each record goes on with one more column, an array of the rows that the table has: of the records of the control stream the newest of each
key, without those that are deleted, in the order of their keys.

    control   limit eur 100         limit eur 200   limit usd 50   eur deleted
    records                 r1                                  r2              r3
    r.rules                 [eur 100]                           [eur 200, usd 50]   [usd 50]

**Order.** By time: a record at t sees what was said up to t, t included, once the watermark of both streams has passed t. So a rule that
is to hold from noon may be said before noon or after it, up to the delay, and every mode gives the same rows. Late records go out of the
port `late`, late rules out of `late_other`. By arrival: a record sees what has come before it, in real time at once; two streams have no
order between them but that, so the modes differ.

**How.** The records are spread over `copies` places by a hash of their key, so those of a key stay in their order. Each place keeps a table
of its own, and what the control stream says goes to all of them: a record of it costs as much as `copies` records do.

A rule with a null key is no row. State: the table, `copies` times, and with time the records of the delay. Each record carries all of it,
so it should be small: some hundred rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType

from headrace.kernel.ports import LATE
from headrace.kernel.scan import scan
from headrace.ops.joins import checks
from headrace.ops.joins.sides import AT, LATE_OTHER, Sides, together
from headrace.ops.merging import named, unused

COPIES = 16

_TURN = "turn"


def with_rules(
    df: DataFrame,
    rules: DataFrame,
    *,
    keys: Sequence[str],
    by: Sequence[str],
    into: str,
    times: tuple[str, str] | None = None,
    deleted: Column | None = None,
    copies: int = COPIES,
    delay: str = "0 seconds",
) -> DataFrame:
    """The records of `df`, whose keys are `keys`, with all rows of the table `rules`, whose keys are `by`, as the array `into`.

    With `times`, those of both, the result has the ports `main`, `late` and `late_other`.
    """
    if into.lower() in (name.lower() for name in df.columns):
        raise checks.refused("with_rules", f"the records have a column {into!r} already", 'name another: into="limits"')
    if not isinstance(copies, int) or isinstance(copies, bool) or copies < 1:
        raise checks.refused("with_rules", f"copies is {copies!r}", "give a whole number from 1 on")
    place = unused("_place", df)
    spread = df.withColumn(place, F.pmod(F.xxhash64(*map(named, keys)), F.lit(copies)).cast("int"))
    everywhere = rules.select("*", F.explode(F.sequence(F.lit(0), F.lit(copies - 1))).alias(place))
    return seen(together("with_rules", spread, everywhere, [place], times, delay, (None, deleted)), by, into)


def seen(sides: Sides, by: Sequence[str], into: str) -> DataFrame:
    """The same for the records of both sides, by place."""
    row, known = sides.other.row, F.col("state.rules")
    is_rule = ~sides.is_own & _known(row, by)
    before, behind = (
        F.filter(known, lambda rule: _key(rule, by) < _key(row, by)),
        F.filter(known, lambda rule: _key(rule, by) > _key(row, by)),
    )
    after = F.when(sides.is_gone, F.concat(before, behind)).otherwise(F.concat(before, F.array(row), behind))
    timed: dict[str, Any] = {"event_time": AT, "order": _TURN} if sides.by_time else {}
    if sides.by_time and sides.df.isStreaming:
        timed["time_out"] = sides.own.time
    rows = ArrayType(sides.df.schema[sides.other.name].dataType)
    result = scan(
        sides.df.withColumn(_TURN, sides.is_own) if sides.by_time else sides.df,
        keys=sides.keys,
        state={"rules": F.array().cast(rows)},
        update={"rules": F.when(is_rule, after).otherwise(known)},
        output=[*sides.own.columns(sides.own.row), known.alias(into)],
        when=sides.is_own,
        **timed,
    )
    return _once(sides, result) if sides.by_time else result


def _once(sides: Sides, result: DataFrame) -> DataFrame:
    """With the late records of both as they came; a rule is late in every place, and comes out of the first."""
    late = {LATE: sides.own, LATE_OTHER: sides.other}
    first = F.col(f"{LATE}.{sides.keys[0]}") == 0
    ports = []
    for port, side in late.items():
        row = F.col(f"{LATE}.{side.name}")
        comes = row.isNotNull() if port == LATE else row.isNotNull() & first
        ports.append(F.when(comes, F.struct(*side.columns(row))).alias(port))
    parted = result.select(*(f"`{name}`" for name in result.columns if name != LATE), *ports)
    return parted.where(reduce(or_, (F.col(f"`{name}`").isNotNull() for name in parted.columns)))


def _known(row: Column, by: Sequence[str]) -> Column:
    return reduce(and_, (row[name].isNotNull() for name in by))


def _key(rule: Column, by: Sequence[str]) -> Column:
    return F.struct(*(rule[name] for name in by))
