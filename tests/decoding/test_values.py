"""Decoding as tables: which text is a value of a type, and which values a class takes."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pydantic
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.decoding.decoded import Decode

from headrace.decoding import records

TIMES = [
    ("2026-02-02T02:40:00.005Z", datetime(2026, 2, 2, 2, 40, 0, 5000)),
    ("2026-02-02 02:40:00", datetime(2026, 2, 2, 2, 40)),
    ("2026-02-02T02:40:00", datetime(2026, 2, 2, 2, 40)),
    ("2026-02-02T02:40:00.1", datetime(2026, 2, 2, 2, 40, 0, 100000)),
    ("2026-02-02T02:40:00.123456", datetime(2026, 2, 2, 2, 40, 0, 123456)),
    ("2026-02-02T02:40:00.000001Z", datetime(2026, 2, 2, 2, 40, 0, 1)),
    ("2026-02-02T02:40:00+01:30", datetime(2026, 2, 2, 1, 10)),
    ("2026-02-02 02:40:00.5-05:00", datetime(2026, 2, 2, 7, 40, 0, 500000)),
    ("2026-01-01T00:00:00+00:01", datetime(2025, 12, 31, 23, 59)),
    ("2026-01-01T00:00:00-00:00", datetime(2026, 1, 1)),
    ("2026-01-01T00:00:00+23:59", datetime(2025, 12, 31, 0, 1)),
    ("2024-02-29T00:00:00Z", datetime(2024, 2, 29)),
    ("2000-02-29T00:00:00Z", datetime(2000, 2, 29)),
    ("1969-12-31T23:59:59.999999Z", datetime(1969, 12, 31, 23, 59, 59, 999999)),
    ("0001-01-01T00:00:00Z", datetime(1, 1, 1)),
    ("9999-12-31T23:59:59.999999Z", datetime(9999, 12, 31, 23, 59, 59, 999999)),
]


def test_timestamps_are_read_in_these_forms(outcomes: Decode) -> None:
    texts = [text for text, _ in TIMES]
    found = outcomes("t TIMESTAMP_NTZ NOT NULL", *(b'{"t":"%s"}' % text.encode() for text in texts))
    assert list(zip(texts, found, strict=True)) == [(text, (utc,)) for text, utc in TIMES]


def test_a_timestamp_is_the_instant_and_not_the_wall_clock(spark: SparkSession) -> None:
    df = spark.createDataFrame([(b'{"t":"2026-02-02T02:40:00.005+01:00"}',)], "value binary")
    micros = records.valid(records.decode(df, schema="t TIMESTAMP NOT NULL")).select(F.unix_micros("t")).collect()[0][0]
    assert micros == datetime(2026, 2, 2, 1, 40, 0, 5000, tzinfo=UTC).timestamp() * 1_000_000


NO_TIMES = [
    "2026-02-30T00:00:00Z", "2025-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-32T00:00:00Z", "0000-01-01T00:00:00Z", "2026-01-01T24:00:00Z",
    "2026-01-01T23:60:00Z", "2026-01-01T23:59:60Z", "2026-01-01", "2026-01-01T00:00", "2026-01-01T00:00Z", "2026-01-01t00:00:00Z",
    "2026-01-01T00:00:00z", "2026-01-01  00:00:00", "2026-01-01T00:00:00.", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00.1234567",
    "2026-01-01T00:00:00.1234567Z", "2026-01-01T00:00:00 Z", "2026-01-01T00:00:00+01", "2026-01-01T00:00:00+0100",
    "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+01:60", "2026-01-01T00:00:00+1:00", "2026-01-01T00:00:00+01:00Z",
    "2026-01-01T00:00:00UTC", " 2026-01-01T00:00:00", "2026-01-01T00:00:00 ", "+2026-01-01T00:00:00", "26-01-01T00:00:00",
    "12026-01-01T00:00:00", "2026/01/01T00:00:00", "2026-01-01T00.00.00", "2026-1-1T00:00:00Z", "20260101T000000Z", "2026-01-01T0a:00:00",
    "２０２６-01-01T00:00:00", "2026-01-01T00:00:00−01:00", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "T", "-",
]  # fmt: skip


def test_no_other_timestamp_is_one(outcomes: Decode) -> None:
    found = outcomes("t TIMESTAMP NOT NULL", *(b'{"t":"%s"}' % text.encode() for text in NO_TIMES))
    assert [(text, outcome) for text, outcome in zip(NO_TIMES, found, strict=True) if outcome != "bad_type:t"] == []


VALUES = [
    ("TINYINT", b"127", 127), ("TINYINT", b"128", None), ("TINYINT", b"-128", -128), ("SMALLINT", b"32768", None),
    ("INT", b"2147483647", 2147483647),
    ("INT", b"-2147483649", None), ("BIGINT", b"9223372036854775807", 2**63 - 1), ("BIGINT", b"-9223372036854775808", -(2**63)),
    ("BIGINT", b"9223372036854775808", None), ("BIGINT", b"123456789012345678901234567890", None), ("BIGINT", b"1.0", None),
    ("BIGINT", b"1e2", None), ("BIGINT", b"-0", 0), ("BIGINT", b'"1"', None), ("BIGINT", b"true", None), ("BIGINT", b"NaN", None),
    ("DOUBLE", b"1", 1.0), ("DOUBLE", b"-0.0", -0.0), ("DOUBLE", b"0.1", 0.1), ("DOUBLE", b"1e22", 1e22), ("DOUBLE", b"1e23", 1e23),
    ("DOUBLE", b"59.329323456789012", 59.329323456789012), ("DOUBLE", b"9007199254740993", 9007199254740992.0),
    ("DOUBLE", b"5e-324", 5e-324), ("DOUBLE", b"1e-400", 0.0), ("DOUBLE", b"1.7976931348623157e308", 1.7976931348623157e308),
    ("DOUBLE", b"1e309", None), ("DOUBLE", b"-1E+2", -100.0), ("DOUBLE", b"0e999999999999", 0.0), ("DOUBLE", b"1" * 400, None),
    ("FLOAT", b"0.1", 0.10000000149011612), ("FLOAT", b"16777217", 16777216.0), ("FLOAT", b"1e39", None), ("FLOAT", b"3.5", 3.5),
    ("DECIMAL(5,2)", b"123.45", Decimal("123.45")), ("DECIMAL(5,2)", b"-123.4500", Decimal("-123.45")), ("DECIMAL(5,2)", b"123.456", None),
    ("DECIMAL(5,2)", b"1234.5", None), ("DECIMAL(5,2)", b"1e2", Decimal("100.00")), ("DECIMAL(5,2)", b"1e999999999", None),
    ("DECIMAL(5,2)", b"0e999999999", Decimal("0.00")), ("DECIMAL(5,2)", b"0.00", Decimal("0.00")), ("DECIMAL(5,2)", b"1e-999999999", None),
    ("DECIMAL(38,18)", b"12345678901234567890.123456789012345678", Decimal("12345678901234567890.123456789012345678")),
    ("DECIMAL(38,18)", b"0.0000000000000000001", None), ("DECIMAL(38,0)", b"9" * 38, Decimal("9" * 38)), ("DECIMAL(38,0)", b"9" * 39, None),
    ("DECIMAL(38,0)", b"1" + b"0" * 37 + b".000", Decimal(10) ** 37), ("DECIMAL(18,2)", b'"1.00"', None),
    ("DECIMAL(18,2)", b"Infinity", None),
    ("BOOLEAN", b"true", True), ("BOOLEAN", b"false", False), ("BOOLEAN", b"1", None), ("BOOLEAN", b'"true"', None),
    ("DATE", b'"2026-02-28"', date(2026, 2, 28)), ("DATE", b'"2026-02-29"', None), ("DATE", b'"2026-2-9"', None),
    ("DATE", b"20260228", None),
    ("BINARY", b'"aGVq"', b"hej"), ("BINARY", b'"a"', None), ("BINARY", b'"???="', None), ("BINARY", b"1", None),
    ("ARRAY<BIGINT>", b"[]", []), ("ARRAY<BIGINT>", b"[1, null, 3]", [1, None, 3]), ("ARRAY<BIGINT>", b'[1, "2"]', None),
    ("ARRAY<STRING>", b'["", "a"]', ["", "a"]), ("ARRAY<BIGINT>", b"1", None),
    ("ARRAY<ARRAY<DOUBLE>>", b"[[1],[],[2.5]]", [[1.0], [], [2.5]]),
    ("MAP<STRING, DOUBLE>", b'{"a": 1, "b": null}', {"a": 1.0, "b": None}), ("MAP<STRING, DOUBLE>", b"{}", {}),
    ("MAP<STRING, DOUBLE>", b'{"a": "1"}', None), ("MAP<STRING, DOUBLE>", b"[]", None), ("MAP<STRING, DOUBLE>", b'{"\\ud800": 1}', None),
]  # fmt: skip


@pytest.mark.parametrize("of", dict.fromkeys(of for of, _, _ in VALUES))
def test_a_value_of_the_type_is_read_and_no_other(outcomes: Decode, of: str) -> None:
    cases = [(written, "bad_type:v" if expected is None else (expected,)) for each, written, expected in VALUES if each == of]
    inputs = [written for written, _ in cases]
    assert list(zip(inputs, outcomes(f"v {of} NOT NULL", *(b'{"v":%s}' % written for written in inputs)), strict=True)) == cases


class Point(pydantic.BaseModel):
    lat: float = pydantic.Field(ge=-90, le=90)
    height: Decimal | None = pydantic.Field(None, gt=Decimal(0), max_digits=6, decimal_places=2)


class Step(pydantic.BaseModel):
    count: int = pydantic.Field(gt=0)
    to: Point


def test_what_is_outside_the_bounds_of_its_class_is_out_of_range(outcomes: Decode) -> None:
    assert outcomes(
        Step,
        b'{"count":1,"to":{"lat":90}}',
        b'{"count":1,"to":{"lat":-90.001}}',
        b'{"count":0,"to":{"lat":91}}',
        b'{"count":0,"to":{}}',
        b'{"count":1,"to":{"lat":1,"height":0}}',
        b'{"count":1,"to":{"lat":1,"height":0.01}}',
    ) == [
        (1, (90.0, None)),
        "out_of_range:to.lat",
        "out_of_range:count",
        "missing:to.lat",
        "out_of_range:to.height",
        (1, (1.0, Decimal("0.01"))),
    ]


def test_bounds_hold_for_the_kind_that_declares_them(outcomes: Decode) -> None:
    kinds = {"step": Step, "rest": "count BIGINT"}
    assert outcomes(kinds, b'{"kind":"rest","count":0}', b'{"kind":"step","count":0,"to":{"lat":1}}', tag="kind") == [
        ("rest", 0, None),
        "out_of_range:count",
    ]
