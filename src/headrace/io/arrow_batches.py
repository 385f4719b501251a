"""The rows of a DataFrame on the driver, as Arrow batches one after the other, however many there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark import RDD, StorageLevel
from pyspark.serializers import NoOpSerializer
from pyspark.sql import DataFrame


@contextmanager
def stored(frame: DataFrame) -> Iterator[Callable[[], Iterator[Any]]]:
    """What gives the rows, in their order, as often as it is called. They are computed once, by all tasks at once, and kept by Spark, in
    memory as long as there is some and on disk; the driver has those of one partition at a time."""
    from pyarrow import ipc, py_buffer
    from pyspark.sql.pandas.types import to_arrow_schema

    context = frame.sparkSession.sparkContext
    java: Any = frame._jdf.toArrowBatchRdd().toJavaRDD()  # what PySpark collects, without collecting it
    kept = java.persist(context._getJavaStorageLevel(StorageLevel.MEMORY_AND_DISK))
    schema = to_arrow_schema(frame.schema, timezone="UTC")

    def batches() -> Iterator[Any]:
        messages: RDD[bytes] = RDD(kept, context, NoOpSerializer())
        for message in messages.toLocalIterator():
            yield ipc.read_record_batch(py_buffer(message), schema)

    try:
        kept.count()
        yield batches
    finally:
        kept.unpersist()
