"""The real-time shapes: from topic to topic on a real broker.

The rows travel as Avro, which keeps their types exact (JSON would not: 0.1 as a float, microseconds, bytes). A topic has one partition, so
that arrival order is defined; or several, and rows with the same first column are in the same one. The run ends when Spark reports a
finished batch that has read the whole input; a finished batch has flushed its output. In a run that restarts, the query is stopped after
such a batch in the middle of the input, and another one goes on from its checkpoint.
"""

from __future__ import annotations

import json
import shutil
import time
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.avro.functions import from_avro, to_avro
from pyspark.sql.streaming.query import StreamingQuery

from headrace.embedded import kafka
from headrace.errors import JobError, ModeError
from headrace.kernel.jvm import java_class
from headrace.kernel.python.mapping import one_by_one
from headrace.planning import plans
from headrace.testing.microbatches import Operator, configured, new_checkpoint
from headrace.testing.recipes import Between
from headrace.testing.results import Result

_BATCH = 250  # milliseconds; Spark's own least is 5 seconds, for the sake of throughput; a test wants its answer
_TRIGGER: Any = {"realTime": f"{_BATCH} milliseconds"}  # PySpark takes it, but its type hints do not know it
_PATIENCE = 240.0


def run(
    spark: SparkSession,
    operator: Operator,
    parts: Sequence[DataFrame],
    closing: DataFrame | None,
    *,
    output_mode: str,
    partitions: int,
    inputs: int = 1,
) -> Result:
    """What `operator` makes of all the parts in real-time mode, with a restart between two parts. `closing` rows follow once they have been
    read. The input topic has `inputs` partitions."""
    if output_mode != "update":
        raise ModeError(f"real-time mode has no output mode {output_mode}", fix="run this operator in the other shapes only")
    bootstrap = kafka.ensure()
    name = f"headrace-test-{uuid.uuid4().hex}"
    topics = [f"{name}-in", f"{name}-out"]
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for created in admin.create_topics([NewTopic(topics[0], inputs, 1), NewTopic(topics[1], 1, 1)]).values():
        created.result()
    settings = {"spark.sql.streaming.realTimeMode.minBatchDuration": str(_BATCH), "spark.sql.shuffle.partitions": str(partitions)}
    checkpoint = new_checkpoint()
    try:
        with configured(spark, settings), one_by_one():
            options = {"kafka.bootstrap.servers": bootstrap, "topic": topics[1], "checkpointLocation": str(checkpoint)}
            sent = 0
            for number, part in enumerate(parts, 1):
                df = _applied(operator, partial(_records, spark, bootstrap, topics[0], part.schema))
                writer = _encoded(df).writeStream.format("kafka").trigger(**_TRIGGER).outputMode("update")
                _send(part, bootstrap, topics[0], inputs)
                query = writer.options(**options).start()
                try:
                    _await(query, _read_to(topics[0], sent := sent + part.count()))
                    if closing is not None and number == len(parts):
                        _send(closing, bootstrap, topics[0], inputs)
                        _await(query, _read_to(topics[0], sent + closing.count()))
                        _await(query, _batches_after(query, 2))  # the watermark moves after the batch, and takes effect in the next
                finally:
                    query.stop()
            output = _kafka(spark.read, bootstrap, topics[1]).load().orderBy("offset")
            return Result(df.schema, tuple(_decoded(output, df.schema).collect()))
    finally:
        shutil.rmtree(checkpoint, ignore_errors=True)
        for deleted in admin.delete_topics(topics).values():
            deleted.result()


def _records(spark: SparkSession, bootstrap: str, topic: str, schema: T.StructType) -> DataFrame:
    return _decoded(_kafka(spark.readStream, bootstrap, topic).load(), schema)


def _applied(operator: Operator, records: Callable[[], DataFrame]) -> DataFrame:
    """A program that reads its records in several places has a source for each, as in a job."""
    df = operator(records())
    return operator.opening(records) if isinstance(operator, Between) and not plans.sources_are_distinct(df) else df


def _send(rows: DataFrame, bootstrap: str, topic: str, partitions: int) -> None:
    first = F.pmod(F.hash(F.col(f"`{rows.columns[0]}`")), F.lit(partitions)).alias("partition")
    _encoded(rows, first).write.format("kafka").options(**{"kafka.bootstrap.servers": bootstrap, "topic": topic}).save()


def _kafka(reader: Any, bootstrap: str, topic: str) -> Any:
    options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "startingOffsets": "earliest", "kafka.fetch.max.wait.ms": "10"}
    return reader.format("kafka").options(**options)


def _encoded(df: DataFrame, *more: Column) -> DataFrame:
    row = F.struct(*(F.col(f"`{name}`").alias(f"c{i}") for i, name in enumerate(df.columns)))
    return df.select(to_avro(row, _avro(df.sparkSession, df.schema)).alias("value"), *more)


def _decoded(df: DataFrame, schema: T.StructType) -> DataFrame:
    row = from_avro(F.col("value"), _avro(df.sparkSession, schema))
    return df.select(*(row[f"c{i}"].cast(field.dataType).alias(field.name) for i, field in enumerate(schema.fields)))


def _avro(spark: SparkSession, schema: T.StructType) -> str:
    """An Avro schema with numbered, nullable columns: Avro would refuse many a name."""
    numbered = T.StructType([T.StructField(f"c{i}", field.dataType) for i, field in enumerate(schema.fields)])
    structure = spark._jsparkSession.parseDataType(numbered.json())
    converters = java_class(spark, "org.apache.spark.sql.avro.SchemaConverters")
    return str(converters.toAvroType(structure, False, "row", "").toString())


def _read_to(topic: str, end: int) -> Callable[[dict[str, Any]], bool]:
    def reached(progress: dict[str, Any]) -> bool:
        ends: list[dict[str, dict[str, int]]] = [json.loads(source["endOffset"] or "{}") for source in progress["sources"]]
        return all(sum(offsets.get(topic, {}).values()) >= end for offsets in ends)

    return reached


def _batches_after(query: StreamingQuery, more: int) -> Callable[[dict[str, Any]], bool]:
    last = max(report["batchId"] for report in query.recentProgress)
    return lambda progress: progress["batchId"] >= last + more


def _await(query: StreamingQuery, condition: Callable[[dict[str, Any]], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not any(condition(report) for report in query.recentProgress):
        if time.monotonic() > deadline:
            raise JobError(f"the real-time query did not get there in {_PATIENCE:.0f} s: {query.lastProgress}", fix="look at Spark's log")
        query.awaitTermination(0.05)  # type: ignore[arg-type] # raises what the query failed of
