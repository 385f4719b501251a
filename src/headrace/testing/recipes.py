"""Streams as operators, so that shapes and laws can be run on a program as it is written.

transactions = hr.read.kafka("transactions", schema=Transaction)
decisions = transactions.key_by("customer").with_features(...)

laws.check(between(transactions, decisions), rows, schema)          # no topic is read
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from headrace.errors import DefinitionError, user_line
from headrace.fronts.stream import Stream
from headrace.planning.recipe import Frames
from headrace.testing.microbatches import Operator


def between(start: Stream, end: Stream) -> Operator:
    """What a program does from one of its streams to another, as a function of a DataFrame with the columns of `start`.

    Every source of `end` must lie before `start`: a second one has no place in a function of one DataFrame.
    """
    where = user_line()

    def refuse(source: Any) -> DataFrame:
        raise DefinitionError(
            f"the stream also reads from another source ({source.kind}), which is not after the start",
            fix="start where the streams have met, or test the operator itself",
            where=where,
        )

    return lambda df: Frames(refuse, known={start.step: df})[end.step]
