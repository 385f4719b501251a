"""The acker on Spark: the rule of acking.py as a scan keyed by root, native, with the message time-out as its alarm."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from headrace.fronts.storm.wire import FAILS, NOBODY, RESETS
from headrace.kernel.scan import ScanOptions, Timer


def acker(topic: str, timeout: float) -> ScanOptions:
    """A scan over rows (wire.py) that gives (topic, key, value). To `topic` goes of each root the verdict `root,verdict`, once, with the
    spout's task as key. Rows that have a topic of their own pass as they are.

    A root that has no verdict `timeout` seconds after its first note, or its last reset, fails. State: one row of four fields for each root
    under way, and for each whose late notes came after its verdict, until their time-out.
    """
    note, flags = F.col("root") != NOBODY, F.col("flags")
    value = F.col("state.value").bitwiseXOR(F.col("value"))
    spout = F.when(F.col("state.spout") == NOBODY, F.col("spout")).otherwise(F.col("state.spout"))
    failed = F.col("state.failed") | (flags.bitwiseAND(FAILS) != 0)
    resets = flags.bitwiseAND(RESETS) != 0
    now = F.timestamp_millis(F.col("at"))
    known = note & (spout != NOBODY)
    done = known & ((value == 0) | failed)
    verdict = F.when(done & (value == 0), F.lit("ack")).when(done, F.lit("fail")).when(known & resets, F.lit("reset"))
    own = F.struct("topic", "key", F.col("payload").alias("value"))
    told = F.struct(F.when(verdict.isNotNull(), F.lit(topic)).alias("topic"), _bytes(spout).alias("key"), _verdict(verdict).alias("value"))
    late = F.struct(F.lit(topic).alias("topic"), _bytes(F.col("state.spout")).alias("key"), _verdict(F.lit("fail")).alias("value"))
    return {
        "state": {"value": F.lit(0).cast("bigint"), "spout": F.lit(NOBODY), "failed": F.lit(False), "since": "timestamp"},
        "update": {
            "value": value,
            "spout": spout,
            "failed": failed,
            "since": F.when(note & (resets | F.col("state.since").isNull()), now).otherwise(F.col("state.since")),
        },
        "output": F.filter(F.array(own, told), lambda row: row["topic"].isNotNull()),
        "forget": ~note | done,
        "timer": Timer(
            at=F.col("state.since") + F.make_dt_interval(secs=F.lit(float(timeout))),
            output=F.array(late),
            when=F.col("state.spout") != NOBODY,
            forget=F.lit(True),
        ),
    }


def _verdict(verdict: Column) -> Column:
    return F.concat_ws(",", F.col("root").cast("string"), verdict).cast("binary")


def _bytes(number: Column) -> Column:
    return number.cast("string").cast("binary")
