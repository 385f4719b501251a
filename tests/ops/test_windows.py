"""Windows: what is in one, at its edges."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.ops import windows
from headrace.testing.shapes import BATCH, ONE_BATCH, RECORD_PER_BATCH, Shape
from headrace.testing.tables import assert_table

pytestmark = pytest.mark.usefixtures("spark")


@pytest.mark.parametrize("shape", [BATCH, ONE_BATCH, RECORD_PER_BATCH], ids=str)
def test_a_pause_equal_to_the_gap_joins(shape: Shape) -> None:
    def counted(df: DataFrame) -> DataFrame:
        timed = df.withWatermark("ts", "1 minute")
        return windows.aggregate(timed, windows.sessions("5 seconds"), "ts", ["k"], [F.count("*").alias("n")])

    result = shape.run(
        counted,
        """
        k     | ts:timestamp
        equal | 2026-01-01 10:00:00
        equal | 2026-01-01 10:00:05
        more  | 2026-01-01 10:00:00
        more  | 2026-01-01 10:00:05.001
    """,
        closing="""
        k | ts:timestamp
        z | 2026-01-01 11:00:00
    """,
        output_mode="append",
    )
    assert_table(
        result,
        """
        start                   | end                     | k     | n
        2026-01-01 10:00:00     | 2026-01-01 10:00:10     | equal | 2
        2026-01-01 10:00:00     | 2026-01-01 10:00:05     | more  | 1
        2026-01-01 10:00:05.001 | 2026-01-01 10:00:10.001 | more  | 1
    """,
    )
