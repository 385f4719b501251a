"""Generated inputs hold what breaks operators."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from pyspark.sql import Row, SparkSession
from pyspark.sql import types as T

from headrace.errors import DefinitionError
from headrace.testing import Result, table
from headrace.testing.results import difference
from headrace.testing.strategies import rows, values

SCHEMA = T.StructType(
    [
        T.StructField("customer", T.StringType()),
        T.StructField("amount", T.DoubleType()),
        T.StructField("ts", T.TimestampType()),
    ]
)
SOON = settings(max_examples=2000, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(lambda made: any(row.customer is None for row in made), id="a null key"),
        pytest.param(lambda made: any(row.amount is None for row in made), id="a null value"),
        pytest.param(lambda made: any(row.amount != row.amount for row in made), id="not a number"),
        pytest.param(lambda made: any(row.amount == float("inf") for row in made), id="infinite"),
        pytest.param(lambda made: len({row.ts for row in made}) < len(made), id="a tie"),
        pytest.param(lambda made: any(a.ts and b.ts and a.ts > b.ts for a, b in pairwise(made)), id="disorder"),
        pytest.param(lambda made: len({row.customer for row in made}) > 1, id="two keys"),
    ],
)
def test_an_input_may_hold(wanted: Any) -> None:
    find(rows(SCHEMA, keys=("customer",)), wanted, settings=SOON)


@given(made=rows(SCHEMA, keys=("customer",), nulls=False, columns={"amount": st.just(1.0)}, max_size=6))
def test_sizes_nulls_and_columns_are_as_asked_for(made: list[Row]) -> None:
    assert 4 <= len(made) <= 6
    assert all(row.customer in ("ann", "bob", "") and row.amount == 1.0 and row.ts is not None for row in made)


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_every_type_goes_through_spark_unchanged(data: st.DataObject, spark: SparkSession) -> None:
    ddl = (
        "a boolean, b tinyint, c smallint, d int, e bigint, f float, g double, h decimal(9, 2), i string, j binary, k date, l timestamp,"
        "m timestamp_ntz, n interval day to second, o array<int>, p map<string, double>, q struct<x: int, y: string>"
    )
    made = data.draw(rows(ddl))
    got = Result.of(table(spark, made, ddl))
    assert difference(Result(got.schema, tuple(made)), got, ordered=True) == ""


def test_a_type_without_a_strategy_is_refused() -> None:
    with pytest.raises(DefinitionError) as error:
        values(T.NullType())
    assert error.value.what == "there is no strategy for void"
