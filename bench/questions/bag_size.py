"""Does a record cost more when its key keeps a thousand times as many rows in a bag, of which it visits one?

The work: 1,000 keys, micro-batches of the same size. A record visits one row of its key's bag, somewhere among them, counts the visit in
the row itself and puts out that count. A key keeps 10 rows in one run and 10,000 in the other.

Held equal: the records and batches before the measurement, which put the rows there (so also the JVM's warmth); the settings. Spark must
report the wanted number of rows in the state.

To read: the ratio of the medians of a batch's time. 1 means that the cost follows the rows that are visited, not those that are kept.
"""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from bench.measuring import processes, throughput
from bench.reporting.answers import Answer, at_most, memory, say
from headrace.kernel.bags import Bag, Each
from headrace.kernel.scan import scan

KEYS = 1_000


@dataclass(frozen=True)
class Size:
    few: int
    many: int
    batch: int
    filling: int
    batches: int


FULL = Size(few=10, many=10_000, batch=50_000, filling=10, batches=30)
QUICK = Size(few=10, many=100, batch=10_000, filling=2, batches=5)


def ask(*, quick: bool) -> list[Answer]:
    size = QUICK if quick else FULL
    seconds, peaks = {}, {}
    for depth in (size.few, size.many):
        done = processes.run(measure, depth, size)
        seconds[depth], peaks[depth] = done.value, done.peak_mb
        say(f"{depth:,} rows of a key: median {statistics.median(done.value):.3f} s a batch, peak {done.peak_mb:,} MB")
    medians = {depth: statistics.median(each) for depth, each in seconds.items()}
    details = {"median_batch_seconds": medians, "batch_seconds": seconds, "micro_batch": size.batch, "keys": KEYS}
    return [
        Answer("record_cost_1e4_vs_10_rows_of_a_key", round(medians[size.many] / medians[size.few], 2), "x", at_most(3), details),
        memory("bag_10_rows", peaks[size.few]),
        memory("bag_1e4_rows", peaks[size.many]),
    ]


def visits(df: DataFrame, depth: int, size: Size) -> DataFrame:
    """The first batches only add rows, as many by each record as it takes; the others visit one of them."""
    records = size.filling * size.batch
    n, by_each = F.col("n"), max(1, KEYS * depth // records)
    filling, first = n < records, F.floor(n / KEYS) * by_each

    def at(number: Column) -> Column:
        return F.timestamp_seconds(number)

    added = F.transform(F.sequence(first, first + by_each - 1), lambda i: F.struct(at(i).alias("at"), F.lit(0).alias("visits")))
    one, more = at(F.xxhash64(n) % depth + F.when(F.xxhash64(n) % depth < 0, depth).otherwise(0)), F.col("bag.visits") + 1
    bag = Bag(
        add=added,
        when=filling & (first < depth),
        time="at",
        each=Each(between=(F.when(~filling, one), one), change={"visits": more}, output=["k", more.alias("visits")]),
    )
    return scan(df.select((n % KEYS).alias("k"), n), keys="k", bags={"rows": bag})


def measure(depth: int, size: Size) -> list[float]:
    spark, batches = throughput.spark(), size.filling + size.batches
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", size.batch).option("numPartitions", 2).load()
    with tempfile.TemporaryDirectory(prefix="headrace-bench-", ignore_cleanup_errors=True) as checkpoint:
        result = visits(source.select(F.col("value").alias("n")), depth, size)
        query = result.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
        while len(reports := [report for report in query.recentProgress if report["numInputRows"] > 0]) < batches:
            query.awaitTermination(1)
        query.stop()
    throughput.spark().stop()
    rows = reports[-1]["stateOperators"][0]["numRowsTotal"] - 2 * KEYS  # a key has a state and a clock, too
    if rows != KEYS * depth:
        raise SystemExit(f"the bags hold {rows:,} rows, not {KEYS * depth:,}: no time counts")
    return [report["durationMs"]["triggerExecution"] / 1000 for report in reports[size.filling : batches]]
