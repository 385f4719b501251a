"""What a feature is, before `with_features` puts it into a scan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pyspark.sql import Column

from headrace.definitions import arguments
from headrace.definitions.arguments import Condition
from headrace.errors import DefinitionError, user_line
from headrace.ops import merging
from headrace.ops.features.remembering import Context, Parts


@dataclass(frozen=True)
class Feature:
    """A specification; nothing happens until `with_features` puts it into a scan. `reads` is what it computes with, and `inclusive` is
    whether its value is one after the record and not before."""

    define: Callable[[Context], Parts]
    reads: tuple[Column, ...] = ()
    inclusive: bool = False
    condition: Column | None = None
    other: merging.Other | None = None

    def only(self, condition: Condition) -> Feature:
        """The same, counting only the records for which `condition` (a column, or text) is true; asked twice, both must be.

        The condition may mention other features of the same `with_features`, and, unless the feature is inclusive, the feature itself:
        `n=running(F.count("*")).only("n < 3")` counts to three.
        """
        if self.other is not None:
            raise DefinitionError(
                "latest: its records are those of another stream, of which the condition of `only` knows nothing",
                fix="filter that stream: latest(places.where(condition), ...)", where=user_line(),
            )  # fmt: skip
        more = arguments.condition("only", condition)
        return replace(self, condition=more if self.condition is None or more is None else self.condition & more)
