"""The acker on Spark: the rule of acking.py as a scan keyed by root, native.

As in Storm, it is the spout that knows when a tuple has been under way for too long; the acker only forgets what nobody asks for any more.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from headrace.fronts.storm.spark.wire import FAILS, NOBODY, RESETS
from headrace.kernel.scan import ScanOptions


def acker(topic: str, timeout: float) -> ScanOptions:
    """A scan over rows (wire.py) that gives (topic, key, value). To `topic` goes of each root the verdict `root,verdict`, once, with the
    spout's task as key. Rows that have a topic of their own pass as they are.

    State: one row of three fields for each root under way, and for each whose late notes came after its verdict. One that had no note for
    twice the time-out, by when its spout has given it up, is forgotten. (Spark's own expiry: an alarm for each root would cost more than
    all else that is done for it.)
    """
    note, flags = F.col("root") != NOBODY, F.col("flags")
    value = F.col("state.value").bitwiseXOR(F.col("value"))
    spout = F.when(F.col("state.spout") == NOBODY, F.col("spout")).otherwise(F.col("state.spout"))
    failed = F.col("state.failed") | (flags.bitwiseAND(FAILS) != 0)
    known = note & (spout != NOBODY)
    done = known & ((value == 0) | failed)
    resets = known & (flags.bitwiseAND(RESETS) != 0)
    verdict = F.when(done & (value == 0), F.lit("ack")).when(done, F.lit("fail")).when(resets, F.lit("reset"))
    own = F.struct("topic", "key", F.col("payload").alias("value"))
    report = F.struct(
        F.when(verdict.isNotNull(), F.lit(topic)).alias("topic"),
        _bytes(spout).alias("key"),
        _bytes(F.concat_ws(",", F.col("root").cast("string"), verdict)).alias("value"),
    )
    return {
        "state": {"value": F.lit(0).cast("bigint"), "spout": F.lit(NOBODY), "failed": F.lit(False)},
        "update": {"value": value, "spout": spout, "failed": failed},
        "output": F.filter(F.array(own, report), lambda row: row["topic"].isNotNull()),
        "forget": ~note | done,
        "idle": f"{max(1, round(2 * timeout))} seconds",
    }


def _bytes(column: Column) -> Column:
    return column.cast("string").cast("binary")
