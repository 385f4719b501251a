"""A small job that uses what most jobs use, in a JVM that archives its classes when it ends:
`python -m headrace.spark.archive_job FILE`."""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headrace.decoding.records import decode, valid
from headrace.kernel.scan import scan
from headrace.spark.session import session


def run(spark: SparkSession, place: Path) -> None:
    """Records in files, decoded and counted by key, as a batch and as micro-batches with a checkpoint."""
    source, result = str(place / "source"), str(place / "result")
    spark.range(20).select(F.format_string('{"key": "k%d", "at": "2026-01-01 00:00:00"}', F.col("id") % 3).alias("value")).write.text(
        source
    )
    for text in (spark.read.text(source), spark.readStream.text(source)):
        records = valid(decode(text, schema="key STRING NOT NULL, at TIMESTAMP NOT NULL"))
        counted = scan(records, keys="key", state={"n": F.lit(0)}, update={"n": F.col("state.n") + 1}, output=["key", "at", "state.n"])
        if counted.isStreaming:
            query = counted.writeStream.option("checkpointLocation", f"{result}-checkpoint").trigger(availableNow=True)
            query.format("parquet").start(f"{result}-stream").awaitTermination()
        else:
            counted.write.parquet(result)
    spark.read.parquet(result).groupBy("key").count().collect()


if __name__ == "__main__":
    run(session(master="local[2]", conf={"spark.driver.extraJavaOptions": f'-XX:ArchiveClassesAtExit="{sys.argv[1]}"'}), Path.cwd())
    gateway = SparkContext._gateway
    assert gateway is not None
    gateway.shutdown()
    gateway.proc.stdin.close()  # the JVM's sign to end
    gateway.proc.wait()
