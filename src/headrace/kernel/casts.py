"""Text that Spark would read as a number or a time unasked: an error where it is written, not at the first bad record."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import IllegalArgumentException
from pyspark.sql import DataFrame

from headrace.kernel import jvm


def check(operator: str, made: DataFrame, inputs: Sequence[DataFrame]) -> None:
    """Raise DefinitionError if what `made` has more than its inputs reads text so."""
    try:
        jvm.package(made.sparkSession).Casts.check(made._jdf, [frame._jdf for frame in inputs])
    except IllegalArgumentException as refusal:
        raise jvm.definition_error(operator, refusal) from None
