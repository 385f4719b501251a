"""Does a micro-batch cost more when the state is a thousand times as large?

The work: the two rules of `work/rules.py`; micro-batches of the same size, each touching the same number of keys, 1,000; the state holds
1,000 keys in one run and 1,000,000 in the other, and the keys touched lie evenly among them.

Held equal: the number of records before the measurement (so also the JVM's warmth), the micro-batches, the settings. Spark must report the
wanted number of keys in the state.

To read: the ratio of the medians of a batch's time. 1 means that the cost follows the batch, not the state.
"""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import dataclass

from pyspark.sql import functions as F

from bench.measuring import processes, throughput, topics
from bench.reporting.answers import Answer, at_most, memory, say
from bench.work import rules
from headrace.embedded import kafka

TOUCHED = 1_000


@dataclass(frozen=True)
class Size:
    few: int
    many: int
    batch: int
    batches: int


FULL = Size(few=1_000, many=1_000_000, batch=50_000, batches=30)
QUICK = Size(few=1_000, many=50_000, batch=10_000, batches=5)


def ask(*, quick: bool) -> list[Answer]:
    size, bootstrap = QUICK if quick else FULL, kafka.ensure()
    seconds, peaks = {}, {}
    for keys in (size.few, size.many):
        with topics.topics(f"keys-{keys}") as (topic,):
            processes.run(fill, bootstrap, topic, keys, size)
            done = processes.run(measure, bootstrap, topic, keys, size)
        seconds[keys], peaks[keys] = done.value, done.peak_mb
        say(f"{keys:,} keys: median {statistics.median(done.value):.3f} s a batch, peak {done.peak_mb:,} MB")
    medians = {keys: statistics.median(each) for keys, each in seconds.items()}
    details = {"median_batch_seconds": medians, "batch_seconds": seconds, "micro_batch": size.batch, "keys_touched": TOUCHED}
    return [
        Answer("batch_cost_1e6_vs_1e3_keys", round(medians[size.many] / medians[size.few], 2), "x", at_most(2), details),
        memory("state_1e3_keys", peaks[size.few]),
        memory("state_1e6_keys", peaks[size.many]),
    ]


def fill(bootstrap: str, topic: str, keys: int, size: Size) -> None:
    """First every key (few keys: several times), then the same 1,000 again and again."""
    numbers, n = throughput.numbers(size.many + size.batch * size.batches), F.col("n")
    j = n % TOUCHED
    touched = j * (keys // TOUCHED) + (j % 2 if keys > TOUCHED else F.lit(0))
    customer = F.when(n < size.many, n % keys).otherwise(touched)
    throughput.write(numbers.select(*rules.transactions(n, customer)), bootstrap, topic)
    throughput.spark().stop()


def measure(bootstrap: str, topic: str, keys: int, size: Size) -> list[float]:
    with tempfile.TemporaryDirectory(prefix="headrace-bench-", ignore_cleanup_errors=True) as checkpoint:
        result = rules.with_scan(throughput.stream(bootstrap, topic, size.batch))
        query = result.writeStream.format("noop").option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()
        reports = [report for report in query.recentProgress if report["numInputRows"] == size.batch]
    throughput.spark().stop()
    rows = reports[-1]["stateOperators"][0]["numRowsTotal"]
    if rows != keys or len(reports) != size.many // size.batch + size.batches:
        raise SystemExit(f"the state holds {rows:,} keys after {len(reports)} batches: no time counts")
    return [report["durationMs"]["triggerExecution"] / 1000 for report in reports[size.many // size.batch :]]
