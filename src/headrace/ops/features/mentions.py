"""Features that mention other features of the same call: which of them come first, and which go round in a circle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any

from pyspark.sql import Column, DataFrame

from headrace.errors import DefinitionError, user_line
from headrace.kernel import jvm


@dataclass(frozen=True)
class Mentions:
    """All features, each after those that it mentions; and which of them mention some, and which are mentioned."""

    order: list[str]
    mentioning: set[str]
    mentioned: set[str]


def among(df: DataFrame, features: Mapping[str, Any]) -> Mentions:
    """What features mention of each other, in what they read and in their conditions; DefinitionError if they go round in a circle.

    The condition of a feature that is not inclusive may mention the feature itself: its value is known before the record counts.
    """
    spelled = {name.lower(): name for name in features}  # as for Spark, case makes no difference

    def named(columns: Iterable[Column]) -> set[str]:
        words = {word.lower() for column in columns for word in jvm.mentions(df.sparkSession, column)}
        return {spelled[word] for word in words & spelled.keys()}

    reads = {name: named(feature.reads) for name, feature in features.items()}
    asks = {name: named([] if feature.condition is None else [feature.condition]) for name, feature in features.items()}
    before = {name: reads[name] | (asks[name] if features[name].inclusive else asks[name] - {name}) for name in features}
    try:
        order = list(TopologicalSorter(before).static_order())
    except CycleError as error:
        raise _circle(error.args[1][::-1]) from None  # from one that mentions to one that is mentioned, and back to the first
    return Mentions(order, {name for name in features if reads[name]}, set().union(*reads.values(), *asks.values()))


def _circle(names: list[str]) -> DefinitionError:
    if len(names) == 2:
        return DefinitionError(
            f"with_features: '{names[0]}' mentions itself",
            fix="name another column; only the condition, .only(…), of a feature that is not inclusive may mention the feature",
            where=user_line(),
        )
    steps = ", ".join(f"'{one}' mentions '{other}'" for one, other in pairwise(names))
    return DefinitionError(
        f"with_features: the features go round in a circle: {steps}",
        fix="leave out one of these; or put one of the features into a with_features of its own before or after this one",
        where=user_line(),
    )
