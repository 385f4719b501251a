"""Two streams by window: the records of a key that are in the same window, as two lists (a co-group) or as pairs (a window join).

Tumbling windows of five minutes, one record of each key:

    own    12:02 L1 of key 1   12:06 L2 of key 2   12:03 L3 of key 3
    other  12:01 R2 of key 2   12:04 R3 of key 3   12:05 R4 of key 4
    full   [12:00, 12:05)  L1 -, - R2, L3 R3        [12:05, 12:10)  L2 -, - R4
    semi   L3              anti  L1, L2             left, right, inner accordingly

Rows come once, when the window ends: when the watermark of both streams has reached its end. Each has `start` and `end`, and is of the
moment just before its end for whatever follows. A window's start is in it, its end is not. Sessions are made of the records of both
streams together. Where windows overlap, a pair comes once for each window that holds both. Pairs are in the order of arrival, those of
one own record together.

A record is late when its last window has ended, and then goes out of the port `late`, or `late_other`; so does one without a time. In a
batch none with a time is late.

In a join null keys have no partner. In a co-group null is a key like any other.

State: the records of both, in each of their windows that has not ended. Of fixed windows, a record writes itself alone; of sessions, and of
windows that records decide on, it writes the whole list of its window.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.kernel.bags import Bag, Expire
from headrace.kernel.ports import MAIN
from headrace.kernel.scan import scan
from headrace.ops import windows
from headrace.ops.joins import checks
from headrace.ops.joins.sides import AT, PORTS, Sides
from headrace.ops.windows import Fixed, Window, Windowing, assigning

HOW = ("inner", "left", "right", "full", "semi", "anti")
START, END = "start", "end"
OWN, OTHER = "own", "other"


def cogroup(sides: Sides, window: Window, into: tuple[str, str]) -> DataFrame:
    """A row for each key and window: both lists, in the order of arrival, either of which may be empty. The ports are `main`, `late` and
    `late_other`."""
    _check_names("cogroup", [*sides.own.keys, *into])
    lists = _lists(sides, window)
    main = F.col(MAIN)
    columns = [*_borders(main), *_keys(sides, main, "full"), main[OWN].alias(into[0]), main[OTHER].alias(into[1])]
    return lists.select(F.when(main.isNotNull(), F.struct(*columns)).alias(MAIN), *PORTS[1:])


def join(sides: Sides, window: Window, how: str) -> DataFrame:
    """The pairs of each window, and what is alone in it. The ports are `main`, `late` and `late_other`."""
    checks.how("join", how, HOW, "two streams by window")
    once = how in ("semi", "anti")
    _check_names("join", sides.own.schema.names if once else [*sides.own.schema.names, *sides.other.values])
    main, pair = F.col(MAIN), F.col("pair")
    pairs = _lists(sides, window).select("*", F.explode_outer(F.when(main.isNotNull(), _pairs(sides, main, how))).alias("pair"))
    if once:
        columns = sides.own.record(pair[OWN], [main[key] for key in sides.keys])
    else:
        columns = [*_keys(sides, main, how), *sides.own.columns(pair[OWN]), *sides.other.columns(pair[OTHER])]
    parted = pairs.select(F.when(pair.isNotNull(), F.struct(*_borders(main), *columns)).alias(MAIN), *PORTS[1:])
    return parted.where(reduce(or_, (F.col(port).isNotNull() for port in PORTS)))


def _pairs(sides: Sides, main: Column, how: str) -> Column:
    """What comes out of a window, as an array of (own, other). Those of a null key are all alone."""
    own, others = main[OWN], main[OTHER]
    has_keys = reduce(and_, (main[key].isNotNull() for key in sides.keys))
    met = has_keys & (F.size(own) > 0) & (F.size(others) > 0)

    def pair(one: Column, two: Column) -> Column:
        return F.struct(one.alias(OWN), two.alias(OTHER))

    def when(condition: Column, rows: Column) -> Column:
        return F.when(condition, rows).otherwise(F.slice(rows, 1, 0))

    alone = F.transform(own, lambda one: pair(one, F.get(F.slice(others, 1, 0), 0)))
    others_alone = F.transform(others, lambda two: pair(F.get(F.slice(own, 1, 0), 0), two))
    if how in ("semi", "anti"):
        return when(met if how == "semi" else ~met, alone)
    parts = [when(met, F.flatten(F.transform(own, lambda one: F.transform(others, lambda two: pair(one, two)))))]
    parts += [when(~met, alone)] if how in ("left", "full") else []
    parts += [when(~met, others_alone)] if how in ("right", "full") else []
    return F.concat(*parts)


def _lists(sides: Sides, window: Window) -> DataFrame:
    """The ports, of which the main one has the borders of a window, the keys, and both lists."""
    if not isinstance(window, Fixed) and not window.merges:
        what = "two streams meet in windows of time, and these are none"
        raise checks.refused("window", what, "use hr.tumbling, hr.sliding, hr.cumulating or hr.sessions")
    windowing = Windowing(window, tuple(sides.keys), AT, timed=True, mode="append")
    if isinstance(window, Fixed):
        return sides.parted(_in_bags(sides, window, windowing))
    lists = {OWN: F.collect_list(OWN), OTHER: F.collect_list(OTHER)}
    return sides.parted(windows.aggregate(sides.df, windowing, lists))


def _in_bags(sides: Sides, window: Fixed, windowing: Windowing) -> DataFrame:
    """The records lie in a bag by the end of their window, and all of one end leave together."""
    at = assigning.assign(sides.df, window, assigning.micros(sides.df, AT))
    end, rows = F.col(at.end), F.col("bag.rows")

    def of(side: str) -> Column:
        return F.transform(F.filter(rows, lambda row: row[side].isNotNull()), lambda row: row[side]).alias(side)

    first = F.get(rows, 0)
    bag = Bag(
        add=[OWN, OTHER, F.col(at.start).alias(START), end.alias(END)],
        when=end > F.col("scan.watermark"),  # else another window takes it, or it is late
        time=END,
        expire=Expire(
            after="0 seconds",
            together=True,
            output=[*windowing.borders(sides.df, first[START], first[END]), *sides.keys, of(OWN), of(OTHER)],
        ),
    )
    late_after = end if at.last is None else F.when(F.col(at.last), end).otherwise(F.lit(assigning.LAST))
    return scan(
        at.df, keys=sides.keys, bags={"rows": bag}, event_time=AT, wait=False, late_after=late_after, time_out=END, time_out_exclusive=True
    )


def _borders(main: Column) -> list[Column]:
    return [main[name].alias(name) for name in (START, END)]


def _keys(sides: Sides, main: Column, how: str) -> list[Column]:
    """The keys as they go out, of the type that `Sides.key_columns` has."""
    side = sides.other if how == "right" else sides.own
    kinds = [side.schema[name].dataType for name in sides.own.keys]
    return [
        (main[key] if how == "full" else main[key].cast(kind)).alias(name)
        for key, name, kind in zip(sides.keys, sides.own.keys, kinds, strict=True)
    ]


def _check_names(operator: str, names: Sequence[str]) -> None:
    for name in (START, END):
        if name in (column.lower() for column in names):
            raise checks.refused(
                operator, f"a row has the {name} of its window, and a column {name!r} is there", f"rename it: .rename({name}='…')"
            )
