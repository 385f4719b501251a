"""A stream whose records the test puts in by hand."""

from __future__ import annotations

import itertools
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headrace.kernel.jvm import java_class
from headrace.testing.tables import Rows, Schema, structure_of, table

STREAMING = "org.apache.spark.sql.execution.streaming"

_identities = itertools.count(1_000_000)  # Spark takes two memory streams with one id for the same stream; its own count starts at 0


class FedSource:
    """Records in memory as a streaming DataFrame: `memory.df`.

    What is added between two micro-batches is read by the next one, in the order added. Records are kept until the batch after theirs has
    begun, so a query that restarts from its checkpoint in the same process finds them again; in another process it does not. Micro-batch
    only. `partitions` deals the records of a batch out in turn; without it every `add` is a partition of its own.

        memory = FedSource(spark, "customer string, amount double")
        memory.add([("ann", 10.0), ("bob", None)])
        memory.df.groupBy("customer").count()
    """

    def __init__(self, spark: SparkSession, schema: Schema, *, partitions: int | None = None) -> None:
        self._spark, self.schema = spark, structure_of(schema)
        rows = java_class(spark, "org.apache.spark.sql.Encoders").row(spark._jsparkSession.parseDataType(self.schema.json()))
        dealt = java_class(spark, "scala.Option").apply(partitions)
        self._stream = java_class(spark, f"{STREAMING}.runtime.MemoryStream")(next(_identities), spark._jsparkSession, dealt, rows)
        self.df = DataFrame(self._stream.toDF(), spark)

    def add(self, rows: Rows) -> None:
        """Append records: tuples, dicts or Rows, a text table, or a batch DataFrame. To add none makes an empty micro-batch."""
        self.add_java(self.java(rows))

    def java(self, rows: Rows) -> Any:
        """The rows as a `java.util.List` of Spark's, made by one Spark job, whose `subList`s can be added without any."""
        return table(self._spark, rows, self.schema)._jdf.collectAsList()

    def add_java(self, rows: Any) -> None:
        """Append what `java` gave, or a part of it."""
        self._stream.addData(java_class(self._spark, "org.apache.spark.api.python.PythonUtils").toSeq(rows))
