"""Streams as operators, so that shapes and laws can be run on a program as it is written.

transactions = hr.read.kafka("transactions", schema=Transaction)
decisions = transactions.key_by("customer").with_features(...)

laws.check(between(transactions, decisions), rows, schema)          # no topic is read
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from headrace.errors import DefinitionError, user_line
from headrace.fronts.stream import Stream
from headrace.planning.recipe import Frames, Step


def between(start: Stream, end: Stream) -> Between:
    """What a program does from one of its streams to another, as a function of a DataFrame with the columns of `start`.

    Every source of `end` must lie before `start`: a second one has no place in a function of one DataFrame.
    """
    return Between(start.step, end.step, user_line())


@dataclass(frozen=True)
class Between:
    """The function: an `Operator`."""

    start: Step
    end: Step
    where: str | None

    def __call__(self, df: DataFrame) -> DataFrame:
        return Frames(self._refuse, known={self.start: df})[self.end]

    def opening(self, open: Callable[[], DataFrame], step: Step | None = None) -> DataFrame:
        """The same with a DataFrame of its own for each branch that begins at `start`: real-time mode wants that, and jobs do it."""
        step = self.end if step is None else step
        if step is self.start:
            return open()
        if step.source is not None:
            self._refuse(step.source)
        assert step.apply is not None
        return step.apply(*(self.opening(open, parent) for parent in step.parents))

    def _refuse(self, source: Any) -> DataFrame:
        raise DefinitionError(
            f"the stream also reads from another source ({source.kind}), which is not after the start",
            fix="start where the streams have met, or test the operator itself",
            where=self.where,
        )
