"""Scans that go on with what was kept when they had other fields."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from headrace.kernel import jvm

Place = tuple[str, str, Sequence[int]]
"""A place in the store, its fields as Spark's JSON, and where those of today are among them (-1: nowhere)."""


def go_on(frame: DataFrame, places: Sequence[str], former: Sequence[Sequence[Place]]) -> DataFrame:
    """The frame, each of whose scans keeps its fields in one of these places, and finds what is older in others, the newest first. The last
    scan comes first."""
    rows = jvm.package(frame.sparkSession).StateRows
    formers = [[rows.former(place, fields, list(at)) for place, fields, at in each] for each in former]
    return jvm.data_frame(rows.goOn(frame._jdf, list(places), formers), frame.sparkSession)
