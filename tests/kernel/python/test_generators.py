"""A function that yields its rows gives them all, in batches and one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql.types import IntegerType, StructField, StructType

from headrace.kernel.python import values
from headrace.kernel.python.worker.functions import MapCall

ROW = StructType([StructField("n", IntegerType())])


def counted(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for n in range(record["n"]):
        yield {"n": n}


def test_what_is_yielded_comes_out() -> None:
    call = MapCall(counted, "flat_map", "flat_map", values.reading(ROW), values.writing(ROW), lenient=False)
    assert list(call.rows({"n": 2})) == [{"n": 0}, {"n": 1}]
    assert call((2,)) == ([(0,), (1,)], None)
