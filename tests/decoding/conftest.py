"""What decoding is tested with."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.decoding.decoded import Decode, plain

from headrace.decoding import records
from headrace.testing import table


@pytest.fixture
def outcomes(spark: SparkSession) -> Decode:
    """What each input becomes: the record as a tuple, or its reason."""

    def run(schema: Any, *inputs: bytes | None, **options: Any) -> list[Any]:
        df = table(spark, list(enumerate(inputs)), "offset long, value binary")
        rows = records.decode(df, schema=schema, **options).collect()
        assert all(row.record is not None or row.reason is not None for row in rows)
        assert [(row.offset, row.raw) for row in rows] == list(enumerate(inputs))
        return [row.reason or plain(row.record) for row in rows]

    return run
