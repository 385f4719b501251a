"""How much a query keeps: read from its checkpoint after each micro-batch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.testing.microbatches import MicroBatches


def kept_rows(stream: MicroBatches) -> int:
    """The rows in all state stores of the query after its last batch, as Spark counts them."""
    operators: list[dict[str, Any]] = stream.progress[-1]["stateOperators"] if stream.progress else []
    return sum(operator["numRowsTotal"] for operator in operators)


def kept_characters(spark: SparkSession, checkpoint: Path) -> int:
    """The size of the largest state of one key: the length of its values as JSON, over all stores and variables together."""
    sizes = [
        store.groupBy(F.to_json(F.struct("key")).alias("key")).agg(F.sum(F.length(F.to_json(_values(store)))).alias("n"))
        for store in _stores(spark, checkpoint)
    ]
    if not sizes:
        return 0
    together = sizes[0]
    for size in sizes[1:]:
        together = together.unionByName(size)
    return together.groupBy("key").agg(F.sum("n").alias("n")).agg(F.coalesce(F.max("n"), F.lit(0))).collect()[0][0]  # type: ignore[no-any-return]


def _values(store: DataFrame) -> Any:
    return F.struct(*(name for name in store.columns if name not in ("key", "partition_id")))


def _stores(spark: SparkSession, checkpoint: Path) -> Iterator[DataFrame]:
    operators = spark.read.format("state-metadata").load(str(checkpoint)).select("operatorId", "operatorProperties")
    for number, text in dict.fromkeys(tuple(row) for row in operators.collect()):  # a row for each of its stores: too few for a shuffle
        reader = spark.read.format("statestore").option("operatorId", number)
        properties = json.loads(text or "{}")
        variables = [variable["stateName"] for variable in _listed(properties.get("stateVariables"))]
        for variable in variables:
            yield reader.option("stateVarName", variable).load(str(checkpoint))
        if not variables:
            yield reader.load(str(checkpoint))


def _listed(variables: Any) -> list[dict[str, Any]]:
    all_variables: list[dict[str, Any]] = json.loads(variables) if isinstance(variables, str) else variables or []
    return [variable for variable in all_variables if not variable["stateName"].startswith("$")]  # those are Spark's own: timers, expiry
