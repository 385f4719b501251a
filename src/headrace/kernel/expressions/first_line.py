"""Where a line stands in its file."""

from __future__ import annotations

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from headrace.kernel import jvm


def first(spark: SparkSession) -> Column:
    """Whether a line is the first of its file. Only directly over what reads the files: after a shuffle or a sort nobody knows."""
    path, start = F.col("_metadata.file_path"), F.col("_metadata.file_block_start")
    return jvm.python_column(jvm.package(spark).FirstLine.column(jvm.java_column(path), jvm.java_column(start)))
