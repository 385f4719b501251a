"""Operators that are bags: joins by time, sessions in any order, patterns. For tests of what a bag does."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.kernel.bags import Bag, Each, Expire
from headrace.kernel.folds import Fold
from headrace.kernel.ports import port
from headrace.kernel.scan import scan

BEFORE, AFTER = 2, 3  # seconds: how much earlier and how much later than a left record a right one may be


def seconds(n: int) -> Column:
    return F.expr(f"INTERVAL {n} SECONDS")


def interval_join(df: DataFrame, how: str = "inner", **more: Any) -> DataFrame:
    """Left and right records (`side`) of a key, where the right one is at most so much before or after the left one."""
    left, ts, v = F.col("side") == "l", F.col("ts"), F.col("v")
    kind, none = {"inner": "both", "left": "both", "right": "both", "full": "both"}.get(how, how), F.lit(None).cast("int")
    pair: list[Column | str] = ["k", F.col("bag.v").alias("l"), v.alias("r")]
    alone = ["k", F.col("bag.v").alias("l"), none.alias("r")]
    lefts = Bag(
        add=["v", "ts", F.col("state.met").alias("met")],
        when=left & ~F.col("state.met") if kind == "semi" else left,
        time="ts",
        each=Each(
            between=(F.when(~left, ts - seconds(AFTER)), ts + seconds(BEFORE)),
            change={"met": F.lit(True)},
            remove=kind in ("semi", "anti"),
            output=alone if kind == "semi" else pair,
            when=kind != "anti",
        ),
        expire=Expire(after=f"{AFTER} seconds", output=alone, when=~F.col("bag.met") & F.lit(how in ("left", "full", "anti"))),
    )
    rights = Bag(
        add=["v", "ts", F.col("state.met").alias("met")],
        when=~left,
        time="ts",
        each=Each(
            between=(F.when(left, ts - seconds(BEFORE)), ts + seconds(AFTER)),
            update={"met": True},
            change={"met": F.lit(True)},
            output=["k", v.alias("l"), F.col("bag.v").alias("r")],
            when=kind == "both",
        ),
        expire=Expire(
            after=f"{BEFORE} seconds",
            output=["k", none.alias("l"), F.col("bag.v").alias("r")],
            when=~F.col("bag.met") & F.lit(how in ("right", "full")),
        ),
    )
    met_as_left = Each(between=(F.when(~left, ts - seconds(AFTER)), ts + seconds(BEFORE)))
    assert met_as_left
    options: dict[str, Any] = {"output": ["k", v.alias("l"), none.alias("r")], "when": left & F.col("state.met") & F.lit(kind == "semi")}
    result = scan(
        df, keys="k", state={"met": False}, update={"met": False}, bags={"lefts": lefts, "rights": rights}, event_time="ts",
        **{"delay": "10 seconds", **options, **more},
    )  # fmt: skip
    return port(result, "main").where("k <> 'z'")


__all__ = ["Fold", "interval_join"]
