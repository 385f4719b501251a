"""Streams as operators."""

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import headrace as hr
from headrace.errors import DefinitionError
from headrace.testing import assert_table, between, shapes, table

SCHEMA = "customer string, amount double"


@pytest.mark.parametrize("shape", [shapes.BATCH, shapes.ONE_BATCH], ids=str)
def test_what_lies_between_two_streams_of_a_program_is_an_operator(shape: shapes.Shape, spark: SparkSession) -> None:
    payments = hr.read.memory(SCHEMA).where("amount IS NOT NULL")
    totals = payments.where("amount > 0").key_by("customer").agg(F.sum("amount").alias("total"))
    given = "customer | amount\n ann | 1\n ann | 2\n bob | -5"
    assert_table(shape.run(between(payments, totals), given, SCHEMA, latest_by=("customer",), spark=spark), "customer | total\n ann | 3.0")


def test_a_second_source_is_refused(spark: SparkSession) -> None:
    one, two = hr.read.memory(SCHEMA), hr.read.memory(SCHEMA)
    with pytest.raises(DefinitionError) as error:
        between(one, one.union(two))(table(spark, [], SCHEMA))
    assert error.value.what == "the stream also reads from another source (memory), which is not after the start"
    assert "test_recipes.py" in (error.value.where or "")
