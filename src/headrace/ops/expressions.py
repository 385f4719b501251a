"""Words that Spark's columns lack."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F


def let(value: Column, body: Callable[[Column], Column]) -> Column:
    """What a function makes of a value that is computed once, however often it is used there."""
    return F.get(F.transform(F.array(value), body), 0)
