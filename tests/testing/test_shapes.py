"""One operator in every execution shape."""

import re

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.errors import ModeError
from headrace.testing import Result, assert_table, shapes, table
from headrace.testing.results import difference

EVENTS = """
    customer | amount
    ann      | 1.5
    bob      | 2.0
    -        | 4.0
    ann      | -
    ann      | 1.5
"""


def total(df: DataFrame) -> DataFrame:
    return df.groupBy("customer").agg(F.sum("amount").alias("total"))


def test_the_shape_fixture_runs_a_test_in_every_shape(shape: shapes.Shape) -> None:
    assert_table(shape.run(total, EVENTS, latest_by=("customer",)), "customer | total\n ann | 3.0\n bob | 2.0\n - | 4.0")


def test_run_gives_the_result_of_each_shape(spark: SparkSession) -> None:
    results = shapes.run(lambda df: df.where("amount > 1.5"), EVENTS, shapes=(shapes.BATCH, shapes.ONE_BATCH), spark=spark)
    assert [str(shape) for shape in results] == ["batch", "one-batch"]
    for result in results.values():
        assert_table(result, "customer | amount\n bob | 2.0\n - | 4.0")


@pytest.mark.parametrize("seed", range(20))
def test_random_cuts_cover_the_input_and_repeat_with_their_seed(seed: int) -> None:
    sizes = shapes._random_sizes(seed)
    assert sum(sizes(17)) == 17
    assert list(sizes(17)) == list(sizes(17))


def test_cuts_differ_from_seed_to_seed() -> None:
    assert len({tuple(shapes._random_sizes(seed)(17)) for seed in range(20)}) > 10


@pytest.mark.parametrize("records", range(3, 12))
def test_the_cuts_of_every_test_are_neither_the_whole_nor_single_records(records: int) -> None:
    (seed,) = [int(found[1]) for shape in shapes.MICRO_BATCH if (found := re.fullmatch(r"random-cuts\((\d+)\)", shape.name))]
    assert 1 < len(list(shapes._random_sizes(seed)(records))) < records


def per_minute(df: DataFrame) -> DataFrame:
    return df.withWatermark("ts", "0 seconds").groupBy(F.window("ts", "1 minute")).count().select("window.start", "count")


@pytest.mark.parametrize("shape", [shapes.BATCH, *shapes.MICRO_BATCH], ids=str)
def test_closing_rows_are_for_streams_only(shape: shapes.Shape, spark: SparkSession) -> None:
    given, end = "ts\n 10:00:10\n 10:00:20\n 10:01:00", "ts\n 12:00:00"
    result = shape.run(per_minute, given, "ts timestamp", closing=end, output_mode="append", spark=spark)
    assert_table(result, "start | count\n 10:00:00 | 2\n 10:01:00 | 1")


def test_real_time_refuses_the_output_modes_that_spark_does_not_have_there(spark: SparkSession) -> None:
    with pytest.raises(ModeError) as error:
        shapes.REAL_TIME.run(per_minute, "ts\n 10:00:10", output_mode="append", spark=spark)
    assert error.value.what == "real-time mode has no output mode append"


def test_types_are_kept_on_the_way_through_kafka(spark: SparkSession) -> None:
    given = """
        f:float | d:double | at:timestamp    | b:binary | m:decimal(9,2) | s:smallint | a name:string | l:array<timestamp_ntz>
        0.1     | nan      | 10:00:00.123456 | 0x00ff   | 1.50           | 7          | é             | ["10:00:00", null]
        -       | -        | -               | -        | -              | -          | -             | -
    """
    through = shapes.REAL_TIME.run(lambda df: df, given, spark=spark)
    assert difference(Result.of(table(spark, given)), through, ordered=True) == ""
    assert through.schema.simpleString() == table(spark, given).schema.simpleString()
