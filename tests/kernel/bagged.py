"""Operators that are bags: joins by time, sessions in any order, patterns. For tests of what a bag does."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.kernel.bags import Bag, Each, Expire
from headrace.kernel.folds import Fold
from headrace.kernel.ports import port
from headrace.kernel.scan import scan
from headrace.testing.results import Result, difference

BEFORE, AFTER = 2, 3  # seconds: how much earlier and how much later than a left record a right one may be
GAP = 5  # seconds between the sessions of a key
WITHIN = 10  # seconds for a whole pattern


def seconds(n: int) -> Column:
    return F.expr(f"INTERVAL {n} SECONDS")


def interval_join(df: DataFrame, how: str = "inner", **more: Any) -> DataFrame:
    """The `left` records of a key `k` with the others that are at most so much before or after them, by their values.

    A row remembers whether it has met one of the other side; a record learns of that through the state, when it has visited the bags.
    """
    left, ts, mine, theirs, nothing = F.col("left"), F.col("ts"), F.col("v"), F.col("bag.v"), F.lit(None).cast("double")
    met, pairs, once = F.col("state.met"), how in ("inner", "left", "right", "full"), how in ("semi", "anti")

    def rows(left: Column, right: Column) -> list[Column | str]:
        return ["k", left.alias("l"), right.alias("r")]

    lefts = Bag(
        add=["v", "ts", met.alias("met")],
        when=left & ~met if once else left,
        time="ts",
        each=Each(
            between=(F.when(~left, ts - seconds(AFTER)), ts + seconds(BEFORE)),
            update={"met": True},
            change={"met": True},
            remove=once,
            output=rows(theirs, nothing if once else mine),
            when=how != "anti",
        ),
        expire=Expire(
            after=f"{AFTER} seconds", output=rows(theirs, nothing), when=~F.col("bag.met") & F.lit(how in ("left", "full", "anti"))
        ),
    )
    rights = Bag(
        add=["v", "ts", met.alias("met")],
        when=~left,
        time="ts",
        each=Each(
            between=(F.when(left, ts - seconds(BEFORE)), ts + seconds(AFTER)),
            update={"met": True},
            change={"met": True},
            output=rows(mine, theirs),
            when=pairs,
        ),
        expire=Expire(after=f"{BEFORE} seconds", output=rows(nothing, theirs), when=~F.col("bag.met") & F.lit(how in ("right", "full"))),
    )
    options: dict[str, Any] = {"event_time": "ts", "delay": "10 seconds", **more}
    return scan(
        df, keys="k", state={"met": False}, update={"met": False}, bags={"lefts": lefts, "rights": rights},
        output=rows(mine, nothing), when=left & met & F.lit(how == "semi"), **options,
    )  # fmt: skip


def sessions(df: DataFrame, aggregate: Column, **more: Any) -> DataFrame:
    """The sessions of a key in whatever order its records come: one that lies between two sessions makes one of them."""
    fold, ts = Fold(df, aggregate), F.col("ts")
    names = [f"_{i}" for i, _ in enumerate(fold.initial)]
    start, end, parts = F.col("state.start"), F.col("state.end"), [F.col(f"state.{name}") for name in names]
    touches = F.col("bag.start") <= ts + seconds(GAP)
    merged = {
        "start": F.least(start, F.col("bag.start")),
        "end": F.greatest(end, F.col("bag.end")),
        **dict(zip(names, fold.merge(parts, [F.col(f"bag.{name}") for name in names]), strict=True)),
    }
    none = {"start": "timestamp", "end": "timestamp", **dict(zip(names, fold.initial, strict=True))}
    bag = Bag(
        add=[
            F.least(start, ts).alias("start"),
            F.greatest(end, ts).alias("end"),
            *[next_.alias(name) for name, next_ in zip(names, fold.update(parts, fold.inputs), strict=True)],
        ],
        time="end",
        each=Each(
            between=(ts - seconds(GAP), None),
            limit=2,  # sessions lie further apart than the gap: more than two cannot touch one record
            remove=touches,
            update={name: F.when(touches, value).otherwise(F.col(f"state.{name}")) for name, value in merged.items()},
        ),
        expire=Expire(
            after=f"{GAP} seconds",
            output=["k", F.col("bag.start"), F.col("bag.end"), fold.result([F.col(f"bag.{name}") for name in names]).alias("value")],
        ),
    )
    cleared = {name: F.lit(None).cast("timestamp") if isinstance(value, str) else value for name, value in none.items()}
    options: dict[str, Any] = {"event_time": "ts", "delay": "20 seconds", "wait": False, **more}
    return scan(df, keys="k", state=none, update=cleared, bags={"open": bag}, **options)


def next_quote(df: DataFrame, **more: Any) -> DataFrame:
    """Each trade with the first quote at its time or after it, if there is one within three seconds: an as-of join that looks forward."""
    trade, ts = F.col("left"), F.col("ts")
    bag = Bag(
        add=["v", "ts"],
        when=trade,
        time="ts",
        each=Each(
            between=(F.when(~trade, ts - seconds(3)), ts), remove=True, output=["k", F.col("bag.v").alias("l"), F.col("v").alias("r")]
        ),
        expire=Expire(after="3 seconds", output=["k", F.col("bag.v").alias("l"), F.lit(None).cast("double").alias("r")]),
    )
    options: dict[str, Any] = {"event_time": "ts", "delay": "10 seconds", **more}
    return scan(df, keys="k", bags={"trades": bag}, **options)


def nearest_quote(df: DataFrame, **more: Any) -> DataFrame:
    """Each trade with the quote that is nearest in time, at most three seconds earlier or later: an as-of join in both directions.

    Equally far: the earlier one. Of quotes with the same time: the last that came.
    """
    trade, ts, r, at = F.col("left"), F.col("ts"), F.col("bag.r"), F.col("bag.at")
    known, when = F.col("state.quote"), F.col("state.at")

    def away(time: Column) -> Column:
        return F.abs(F.unix_micros(time) - F.unix_micros("bag.ts"))

    recent = when >= ts - seconds(3)
    nearer = at.isNull() | (at == ts) | (away(ts) < away(at))
    bag = Bag(
        add=["v", "ts", F.when(recent, known).alias("r"), F.when(recent, when).alias("at")],
        when=trade,
        time="ts",
        each=Each(
            between=(F.when(~trade, ts - seconds(3)), ts),
            change={"r": F.when(nearer, F.col("v")).otherwise(r), "at": F.when(nearer, ts).otherwise(at)},
        ),
        expire=Expire(after="3 seconds", output=["k", F.col("bag.v").alias("l"), r.alias("r")]),
    )
    options: dict[str, Any] = {"event_time": "ts", "delay": "10 seconds", **more}
    last = {"quote": F.when(trade, known).otherwise(F.col("v")), "at": F.when(trade, when).otherwise(ts)}
    return scan(df, keys="k", state={"quote": "double", "at": "timestamp"}, update=last, bags={"trades": bag}, **options)


def rises(df: DataFrame) -> DataFrame:
    """All triples 1, 2, 3 of a key within ten seconds, whatever lies between: a pattern whose partial matches go on and stay."""
    stage, ts, v = F.col("bag.stage"), F.col("ts"), F.col("v").cast("int")
    kind, none = "array<struct<ts: timestamp, stage: int, path: array<timestamp>>>", F.lit([])
    longer = F.struct(F.col("bag.ts").alias("ts"), (stage + 1).alias("stage"), F.array_append("bag.path", ts).alias("path"))
    fits = v == stage + 1
    forks = F.col("state.forks")
    bag = Bag(
        add=F.concat(
            F.when(v == 1, F.array(F.struct(ts.alias("ts"), F.lit(1).alias("stage"), F.array(ts).alias("path")))).otherwise(
                none.cast(kind)
            ),
            forks,
        ),
        time="ts",
        each=Each(
            update={"forks": F.when(fits & (stage < 2), F.array_append(forks, longer)).otherwise(forks)},
            output=["k", F.array_join(F.transform(longer.getField("path"), lambda t: F.date_format(t, "ss")), " ").alias("path")],
            when=fits & (stage == 2),
        ),
        expire=Expire(after=f"{WITHIN} seconds"),
    )
    return scan(
        df, keys="k", state={"forks": none.cast(kind)}, update={"forks": none.cast(kind)}, bags={"partial": bag},
        event_time="ts", delay="10 seconds",
    )  # fmt: skip


def assert_same(got: Result, want: DataFrame, tolerance: float = 0.0) -> None:
    mismatch = difference(Result.of(want), got, tolerance=tolerance)
    assert not mismatch, mismatch


def main(df: DataFrame) -> DataFrame:
    return port(df, "main").where("k <> 'z'")
