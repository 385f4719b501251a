"""The rows of a DataFrame on the driver, as Arrow batches or as texts, one after the other, however many there are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark import StorageLevel
from pyspark.serializers import NoOpSerializer
from pyspark.sql import DataFrame
from pyspark.util import _load_from_socket

from headrace.kernel import jvm

_GLANCE = 0.005  # seconds


@contextmanager
def stored(frame: DataFrame, *, while_computed: bool = False, texts: bool = False) -> Iterator[Callable[[], Iterator[Any]]]:
    """What gives the rows, in their order, as often as it is called. They are computed once, by all tasks at once, and kept by Spark, in
    memory as long as there is some and on disk; the driver has those of one partition at a time. The first are given when all are computed,
    or sooner, `while_computed`. Rows that are one text each may be given as bytes, about a megabyte of whole `texts` at a time."""
    from pyarrow import ipc, py_buffer
    from pyspark.sql.pandas.types import to_arrow_schema

    context, kernel = frame.sparkSession.sparkContext, jvm.package(frame.sparkSession)
    python: Any = jvm.java_class(frame.sparkSession, "org.apache.spark.api.python.PythonRDD")
    # What PySpark collects, without collecting it.
    java: Any = kernel.StoredRows.texts(frame._jdf) if texts else frame._jdf.toArrowBatchRdd().toJavaRDD()
    persisted = java.persist(context._getJavaStorageLevel(StorageLevel.MEMORY_AND_DISK))
    schema = to_arrow_schema(frame.schema, timezone="UTC")
    computed = persisted.countAsync()

    def batches() -> Iterator[Any]:
        for partition in range(persisted.getNumPartitions()):
            while not computed.isDone() and not kernel.StoredRows.has(persisted.id(), partition):
                time.sleep(_GLANCE)
            if computed.isDone():
                computed.get()  # raises what it failed of
            with _load_from_socket(python.runJob(context._jsc.sc(), persisted, [partition]), NoOpSerializer()) as messages:
                for message in messages:
                    yield message if texts else ipc.read_record_batch(py_buffer(message), schema)
        computed.get()

    try:
        if not while_computed:
            computed.get()
        yield batches
    finally:
        computed.cancel(True)
        persisted.unpersist()
