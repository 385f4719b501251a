"""The time that a definition takes grows with its steps, not with the ways through them."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import headrace as hr
from headrace.fronts.stream import Stream
from headrace.io.connectors import Source
from headrace.planning import modes, recipe
from headrace.planning.table import MODES
from headrace.run import realtime

pytestmark = pytest.mark.usefixtures("spark")

SECONDS = 60  # on a busy machine; a run of the optimiser for each step, or a step for each way, takes many minutes


def chain(steps: int) -> Stream:
    """One step after the other, the last of them with state."""
    stream = hr.read.kafka("t").select(F.col("key").cast("string").alias("k"), F.col("offset").alias("v"))
    for i in range(steps):
        stream = stream.with_columns(v=F.col("v") + i) if i % 2 else stream.where(F.col("v") >= i)
    return stream.key_by("k").with_features(total=hr.running(F.sum("v")))


def diamonds(depth: int) -> Stream:
    """Each step has the one before it as two parents: there are 2 ** depth ways from the source to the end."""
    stream = hr.read.kafka("t").select(F.col("key").cast("string").alias("k"))
    for _ in range(depth):
        stream = stream.select("k").then(lambda one, other: one.where(F.lit(len(other.columns) == 1)), stream)
    return stream


@pytest.mark.parametrize(("shape", "size"), [(chain, 100), (diamonds, 20)], ids=["a chain of 100 steps", "diamonds of depth 20"])
def test_a_large_recipe_is_defined_checked_and_built_in_seconds(
    shape: Callable[[int], Stream], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Source] = []

    def without_records(source: Source) -> DataFrame:
        opened.append(source)
        return recipe.begin(hr.session(), source).preview

    monkeypatch.setattr(realtime, "_open", without_records)
    start = time.monotonic()
    stream = shape(size)
    output = stream.to.kafka("o")
    for mode in MODES:
        modes.check([output], mode)
    realtime._frame(stream.step)
    assert time.monotonic() - start < SECONDS
    assert len(stream.step.ancestry()) > size
    assert len(opened) == 1
