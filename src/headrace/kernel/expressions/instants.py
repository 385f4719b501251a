"""Times as numbers of microseconds, with zone or without: exact, and without asking a calendar."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from headrace.kernel import jvm


@dataclass(frozen=True)
class Instants:
    """Times of one `kind`: `timestamp` or `timestamp_ntz`."""

    spark: SparkSession
    kind: DataType

    def micros(self, time: Column) -> Column:
        """A time as a number."""
        return jvm.python_column(jvm.package(self.spark).Instants.micros(jvm.java_column(time), self.kind.simpleString()))

    def time(self, micros: Column) -> Column:
        """A number as a time."""
        return jvm.python_column(jvm.package(self.spark).Instants.time(jvm.java_column(micros), self.kind.simpleString()))

    def moved(self, time: Column, micros: int) -> Column:
        """A time so many microseconds later."""
        return time if micros == 0 else self.time(self.micros(time) + F.lit(micros))
