"""What is done with decoded records: valid ones, dead letters, checks; and what is refused where it is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.decoding.decoded import GOOD, TRANSACTION, plain

from headrace.decoding import records
from headrace.errors import DefinitionError
from headrace.testing import table


def kafka_like(spark: SparkSession, *values: bytes) -> DataFrame:
    at = datetime(2026, 1, 1)
    rows = [(b"k", value, "t", 0, offset, at) for offset, value in enumerate(values)]
    return table(spark, rows, "key binary, value binary, topic string, partition int, offset long, timestamp timestamp")


def test_valid_rows_and_dead_letters_share_out_the_input(spark: SparkSession) -> None:
    decoded = records.decode(kafka_like(spark, b'{"a":1}', b"{", b'{"a":2}', b"{}"), schema="a BIGINT NOT NULL", keep=["key"])
    assert decoded.columns == ["record", "reason", "raw", "topic", "partition", "offset", "timestamp", "key"]
    assert [tuple(row) for row in records.valid(decoded, keep=["offset"]).collect()] == [(1, 0), (2, 2)]
    letters = records.dead_letters(decoded)
    assert letters.columns == ["reason", "raw", "topic", "partition", "offset"]
    assert [plain(row) for row in letters.collect()] == [("not_json", b"{", "t", 0, 1), ("missing:a", b"{}", "t", 0, 3)]


def test_dead_letters_without_a_log_have_no_place(spark: SparkSession) -> None:
    decoded = records.decode(spark.createDataFrame([("{",)], "line string"), "line", schema="a BIGINT")
    assert [plain(row) for row in records.dead_letters(decoded).collect()] == [("not_json", b"{", None, None, None)]


def test_checks_refuse_more_and_the_first_that_applies_counts(spark: SparkSession) -> None:
    inputs = (b'{"timestamp":1,"reason":"a"}', b'{"timestamp":-1,"reason":"b"}', b'{"timestamp":-1,"reason":"a"}', b"{", b'{"reason":"c"}')
    decoded = records.decode(kafka_like(spark, *inputs), schema="timestamp BIGINT, reason STRING")
    checked = records.check(decoded, {"negative": F.col("timestamp") < 0, "b_is_out": "reason = 'b'"})
    checked = records.check(checked, {"never": F.col("reason") == "a"})
    assert [row.reason for row in checked.collect()] == ["never", "negative", "negative", "not_json", None]
    assert checked.columns == decoded.columns
    assert [tuple(row) for row in records.valid(checked).collect()] == [(None, "c")]


def test_a_record_is_decoded_once_whatever_is_asked_of_it(spark: SparkSession) -> None:
    decoded = records.decode(kafka_like(spark, GOOD), schema=TRANSACTION)
    checked = records.check(decoded, {"out_of_range:amount": F.col("amount") <= 0})
    for result in (records.valid(checked).where("amount > 5 AND customer = 'c1'"), records.dead_letters(checked)):
        plan = result._jdf.queryExecution().executedPlan().toString()
        assert plan.count("decode(") == 1, plan


@dataclass
class Reading:
    sensor: str
    celsius: float


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"column": "nope", "schema": Reading}, "there is no column nope"),
        ({"column": "offset", "schema": Reading}, "offset is bigint; bytes or a string can be decoded"),
        ({"schema": None}, "format 'json' needs a schema"),
        ({"schema": Reading, "format": "xml"}, "'xml' is no format"),
        ({"schema": Reading, "format": "raw"}, "format 'raw' has no schema: the bytes stay as they are"),
        ({"schema": Reading, "format": "avro"}, "Avro is read with the schema of its writer, and this is none"),
        ({"schema": {"type": "record"}, "format": "avro"}, 'the Avro schema is not one: No name in schema: {"type":"record"}'),
        ({"schema": "a ARRAY<INT>", "format": "csv"}, "a is of the type array<int>, and CSV has no such cells"),
        ({"schema": Reading, "format": "csv", "separator": "å"}, "'å' cannot separate the cells of CSV"),
        ({"schema": Reading, "keep": ["nope"]}, "there is no column nope"),
        ({"schema": Reading, "tag": "type"}, "tag='type' needs a schema for each of its values"),
        ({"schema": {"a": Reading}}, "several schemas were given, and nothing that tells which is a record's"),
        ({"schema": {"a": "x INT", "b": "x STRING"}, "tag": "t"}, "x is string in 'b', and int elsewhere"),
        ({"schema": {"a": Reading}, "tag": "t", "format": "csv"}, "records of several kinds (tag='t') cannot be csv"),
    ],
)
def test_what_cannot_be_decoded_is_refused_at_the_users_line(spark: SparkSession, options: dict[str, Any], what: str) -> None:
    with pytest.raises(DefinitionError) as error:
        records.decode(kafka_like(spark, GOOD), **options)
    assert error.value.what == what
    assert error.value.where is not None
    assert error.value.where.startswith(__file__)


@pytest.mark.parametrize(
    ("condition", "what"),
    [
        (F.col, "check 'r': there is no column 'nope'"),
        (lambda _: F.lit(1), "check 'r' is int and no condition"),
        (lambda _: "1 +", "check 'r': "),
    ],
)
def test_a_check_must_be_a_condition_over_the_record(spark: SparkSession, condition: Callable[[str], Any], what: str) -> None:
    decoded = records.decode(kafka_like(spark, GOOD), schema=TRANSACTION)
    with pytest.raises(DefinitionError) as error:
        records.check(decoded, {"r": condition("nope")})
    assert error.value.what.startswith(what)


def test_what_was_not_decoded_cannot_be_parted(spark: SparkSession) -> None:
    for part in (records.valid, records.dead_letters, lambda df: records.check(df, {})):
        with pytest.raises(DefinitionError) as error:
            part(spark.range(1))
        assert error.value.what == "these are no decoded records"


def test_a_column_that_would_come_twice_is_refused(spark: SparkSession) -> None:
    decoded = records.decode(kafka_like(spark, GOOD), schema="offset BIGINT")
    with pytest.raises(DefinitionError) as error:
        records.valid(decoded, keep=["offset"])
    assert error.value.what == "two columns would be named offset"
