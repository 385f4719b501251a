"""Spark's aggregate functions, taken apart: what they start with, one step for a record, two parts put together, and the value so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.errors import IllegalArgumentException
from pyspark.sql import Column, DataFrame

from headrace.definitions import refusals
from headrace.kernel import jvm


class Fold:
    """An aggregate such as `F.max("amount")` over the columns of `df`, as expressions over buffers.

    The buffers are whatever the caller keeps them in: fields of a scan's state, or of the accumulator of `F.aggregate`. If they may be
    `growing`, all of Spark's aggregates will do, also those that keep what they have seen, and expressions of several.
    """

    def __init__(self, df: DataFrame, aggregate: Column, *, growing: bool = False, at: str = "feature") -> None:
        try:
            self._java: Any = jvm.package(df.sparkSession).Folds.apply(df._jdf, jvm.java_column(aggregate), growing)
        except IllegalArgumentException as failure:
            raise jvm.definition_error(at, failure, refusals.types([df])) from None
        self.inputs = _columns(self._java.inputs())
        self.initial = _columns(self._java.initial())

    def update(self, buffers: Sequence[Column], inputs: Sequence[Column]) -> list[Column]:
        return _columns(self._java.update(jvm.java_columns(buffers), jvm.java_columns(inputs)))

    def merge(self, left: Sequence[Column], right: Sequence[Column]) -> list[Column]:
        """The buffers of all that two have seen: the records of `left`, and after them those of `right`."""
        return _columns(self._java.merge(jvm.java_columns(left), jvm.java_columns(right)))

    def result(self, buffers: Sequence[Column]) -> Column:
        return jvm.python_column(self._java.result(jvm.java_columns(buffers)))


def _columns(java: Any) -> list[Column]:
    return [jvm.python_column(java.get(i)) for i in range(java.size())]
