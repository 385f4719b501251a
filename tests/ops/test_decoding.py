"""Decoding as tables: what came in, and the record or the reason that comes out."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pydantic
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from headrace.errors import DefinitionError
from headrace.ops import decoding
from headrace.testing import table

Decode = Callable[..., list[Any]]

TRANSACTION = "tx_id STRING NOT NULL, customer STRING NOT NULL, card STRING, amount DOUBLE NOT NULL, ts TIMESTAMP_NTZ NOT NULL"
GOOD = b'{"tx_id":"t1","customer":"c1","card":"4111","amount":12.34,"ts":"2026-02-02T02:40:00.005Z"}'


@pytest.fixture
def outcomes(spark: SparkSession) -> Decode:
    """What each input becomes: the record as a tuple, or its reason."""

    def run(schema: Any, *inputs: bytes | None, **options: Any) -> list[Any]:
        df = table(spark, list(enumerate(inputs)), "offset long, value binary")
        rows = decoding.decode(df, schema=schema, **options).collect()
        assert all(row.record is not None or row.reason is not None for row in rows)
        assert [(row.offset, row.raw) for row in rows] == list(enumerate(inputs))
        return [row.reason or plain(row.record) for row in rows]

    return run


def plain(value: Any) -> Any:
    if isinstance(value, Row):
        return tuple(plain(each) for each in value)
    return bytes(value) if isinstance(value, bytearray) else value


def without(name: str, replacement: bytes = b"") -> bytes:
    """The good record with another value for one field, or without it."""
    kept = [part for part in GOOD.strip(b"{}").split(b',"') if not part.strip(b'"').startswith(name.encode() + b'"')]
    parts = [part if part.startswith(b'"') else b'"' + part for part in kept]
    return b"{" + b",".join([*parts, *([b'"%s":%s' % (name.encode(), replacement)] if replacement else [])]) + b"}"


def test_a_valid_record_has_no_reason(outcomes: Decode) -> None:
    assert outcomes(TRANSACTION, GOOD) == [("t1", "c1", "4111", 12.34, datetime(2026, 2, 2, 2, 40, 0, 5000))]


NOT_JSON = [
    None, b"", b" \n", b"{", b"}", b'{"tx_id"', b'{"tx_id":', b'{"tx_id":"t1"', b'{"tx_id":"t1",}', b"{,}", b'{"tx_id" "t1"}', b"{tx_id:1}",
    b"null", b"1", b'"text"', b"[]", b"[" + GOOD + b"]", GOOD + b"x", GOOD + GOOD, GOOD + b" {}", b"\xef\xbb\xbf" + GOOD, b"NaN",
    GOOD[:-1], GOOD[:-2], GOOD.replace(b"12.34", b"012.34"), GOOD.replace(b"12.34", b"+1"), GOOD.replace(b"12.34", b"1."),
    GOOD.replace(b"12.34", b".5"), GOOD.replace(b"12.34", b"1e"), GOOD.replace(b"12.34", b"-"), GOOD.replace(b"12.34", b"-NaN"),
    GOOD.replace(b"12.34", b"nul"), GOOD.replace(b"12.34", b"nullx"), GOOD.replace(b"12.34", b"True"), GOOD.replace(b"12.34", b"Infinit"),
    GOOD.replace(b"c1", b"\xff"), GOOD.replace(b"c1", b"\xc3"), GOOD.replace(b"c1", b"\xc0\x80"), GOOD.replace(b"c1", b"\xed\xa0\x80"),
    GOOD.replace(b"c1", b"\xf4\x90\x80\x80"), GOOD.replace(b"c1", b"\xe0\x80\x80"), GOOD.replace(b"c1", b"\xf0\x80\x80\x80"),
    GOOD.replace(b"c1", b"\n"), GOOD.replace(b"c1", b"\x00"), GOOD.replace(b"c1", b"\\x"), GOOD.replace(b"c1", b"\\u12g4"),
    GOOD.replace(b"c1", b"\\"), GOOD.replace(b"c1", b"\\u00"), b"{'tx_id':'t1'}", GOOD.replace(b":12", b":\x0b12"),
    b'{"extra":"\xff",' + GOOD[1:], b'{"extra":[1,],' + GOOD[1:], b'{"\xff":1,' + GOOD[1:], b'{"extra":' + b"[" * 2000 + b"]" * 2000 + b"}",
]  # fmt: skip


def test_what_is_no_json_object_is_not_json(outcomes: Decode) -> None:
    reasons = outcomes(TRANSACTION, *NOT_JSON)
    assert [(raw, reason) for raw, reason in zip(NOT_JSON, reasons, strict=True) if reason != "not_json"] == []


REASONS = [
    (b"{}", "missing:tx_id"),
    (without("tx_id"), "missing:tx_id"),
    (without("customer", b"null"), "missing:customer"),
    (without("customer", b'""'), "missing:customer"),
    (without("amount", b'""'), "missing:amount"),
    (without("ts", b'""'), "missing:ts"),
    (without("ts", b"null"), "missing:ts"),
    (without("amount", b'"12.34"'), "bad_type:amount"),
    (without("amount", b"true"), "bad_type:amount"),
    (without("amount", b"NaN"), "bad_type:amount"),
    (without("amount", b"Infinity"), "bad_type:amount"),
    (without("amount", b"-Infinity"), "bad_type:amount"),
    (without("amount", b"1e999"), "bad_type:amount"),
    (without("amount", b"[1]"), "bad_type:amount"),
    (without("amount", b'{"a":1}'), "bad_type:amount"),
    (without("customer", b"1"), "bad_type:customer"),
    (without("customer", b"false"), "bad_type:customer"),
    (without("customer", b"NaN"), "bad_type:customer"),
    (without("customer", b'"\\ud800"'), "bad_type:customer"),
    (without("customer", b'"\\udc00\\ud800"'), "bad_type:customer"),
    (without("card", b"4111"), "bad_type:card"),
    (without("ts", b"1770000000"), "bad_type:ts"),
    (without("ts", b'"yesterday"'), "bad_type:ts"),
]


def test_the_reason_names_the_field(outcomes: Decode) -> None:
    inputs = [raw for raw, _ in REASONS]
    assert list(zip(inputs, outcomes(TRANSACTION, *inputs), strict=True)) == REASONS


def test_all_that_is_missing_goes_before_all_that_is_of_the_wrong_type(outcomes: Decode) -> None:
    assert outcomes(
        TRANSACTION,
        b'{"ts":1,"amount":"x","customer":1}',
        b'{"ts":1,"amount":"x","customer":1,"tx_id":1}',
        b'{"ts":"","amount":"x","customer":1,"tx_id":1}',
        b'{"ts":1,"amount":"x","customer":"c","tx_id":"t"}',
    ) == ["missing:tx_id", "bad_type:tx_id", "missing:ts", "bad_type:amount"]


def test_optional_fields_may_be_absent_null_or_an_empty_string(outcomes: Decode) -> None:
    schema = "a STRING, b DOUBLE"
    assert outcomes(schema, b"{}", b'{"a":null,"b":null}', b'{"a":""}', b'{"b":""}') == [
        (None, None),
        (None, None),
        ("", None),
        "bad_type:b",
    ]


def test_unknown_fields_are_ignored_whatever_they_hold(outcomes: Decode) -> None:
    extra = b'{"x":{"a":[1,{"b":null}],"tx_id":5},"y":NaN,"z":"\\ud800","":[],"\\ud800":1,' + GOOD[1:]
    assert outcomes(TRANSACTION, extra) == outcomes(TRANSACTION, GOOD)


def test_of_a_name_that_occurs_twice_the_last_counts(outcomes: Decode) -> None:
    assert outcomes(
        "a BIGINT NOT NULL, m MAP<STRING, BIGINT>",
        b'{"a":1,"a":2}', b'{"a":"x","a":2}', b'{"a":2,"a":"x"}', b'{"a":2,"a":null}',
        b'{"a":1,"m":{"k":"x","k":1}}', b'{"a":1,"m":{"k":1},"m":null}',
    ) == [(2, None), (2, None), "bad_type:a", "missing:a", (1, {"k": 1}), (1, None)]  # fmt: skip


def test_order_white_space_and_escapes_do_not_matter(outcomes: Decode) -> None:
    assert outcomes(
        "a STRING, b STRING", b' {\t"b" :"x"\r\n,\n "\\u0061": "\\u00e5\\ud83d\\ude00\\n\\/\\"" } \n', '{"a":"å😀\\n/\\"","b":"x"}'.encode()
    ) == [
        ('å😀\n/"', "x"),
        ('å😀\n/"', "x"),
    ]


def test_names_that_need_escapes_are_found(outcomes: Decode) -> None:
    assert outcomes('`a"b` BIGINT, `å` BIGINT', b'{"a\\"b":1,"\xc3\xa5":2}', b'{"a"b":1}') == [(1, 2), "not_json"]


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
    micros = decoding.valid(decoding.decode(df, schema="t TIMESTAMP NOT NULL")).select(F.unix_micros("t")).collect()[0][0]
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


def test_nested_records_answer_by_path(outcomes: Decode) -> None:
    schema = "id STRING NOT NULL, home STRUCT<city: STRING NOT NULL, zip: BIGINT>, items ARRAY<STRUCT<sku: STRING NOT NULL>>"
    assert outcomes(
        schema,
        b'{"id":"1","home":{"city":"x","zip":1},"items":[{"sku":"a"},{"sku":"b"}]}',
        b'{"id":"1"}',
        b'{"id":"1","home":{}}',
        b'{"home":{}}',
        b'{"home":{"zip":"x"}}',
        b'{"id":"1","home":{"city":"x","zip":"x"}}',
        b'{"id":"1","home":{},"home":{"city":"y"}}',
        b'{"id":"1","home":"x"}',
        b'{"id":"1","items":[{}]}',
        b'{"id":"1","items":[{"sku":"a"},null]}',
    ) == [
        ("1", ("x", 1), [("a",), ("b",)]),
        ("1", None, None),
        "missing:home.city",
        "missing:id",
        "missing:id",
        "bad_type:home.zip",
        ("1", ("y", None), None),
        "bad_type:home",
        "bad_type:items",
        ("1", None, [("a",), None]),
    ]


def test_a_tag_says_which_fields_a_record_answers_for(outcomes: Decode) -> None:
    kinds = {"payment": "id STRING NOT NULL, amount DOUBLE NOT NULL", "login": "id STRING NOT NULL, host STRING"}
    assert outcomes(
        kinds,
        b'{"type":"payment","id":"1","amount":5}',
        b'{"type":"login","id":"1","amount":"ignored"}',
        b'{"id":"1","host":"h","type":"login"}',
        b'{"type":"payment","id":"1"}',
        b'{"type":"refund"}',
        b'{"id":"1"}',
        b'{"type":""}',
        b'{"type":5,"id":""}',
        b'{"type":"login","id":5}',
        b'{"type":"refund"',
        tag="type",
    ) == [
        ("payment", "1", 5.0, None),
        ("login", "1", None, None),
        ("login", "1", None, "h"),
        "missing:amount",
        "unknown_type",
        "unknown_type",
        "unknown_type",
        "unknown_type",
        "bad_type:id",
        "not_json",
    ]


LINES: list[tuple[bytes | None, Any]] = [
    (b"a,1,2026-02-02 02:40:00", ("a", 1.0, datetime(2026, 2, 2, 2, 40))),
    (b'"a,""b""",1.5,', ('a,"b"', 1.5, None)),
    (b'"a",,\r\n', ("a", None, None)),
    (b"a,,\n", ("a", None, None)),
    (b" a ,1,", (" a ", 1.0, None)),
    (b'"a\nb",1,', ("a\nb", 1.0, None)),
    ("å,1,".encode(), ("å", 1.0, None)),
    (b",1,", "missing:id"),
    (b'"",1,', "missing:id"),
    (b'a,"",', "bad_type:n"),
    (b"a,x,", "bad_type:n"),
    (b"a, 1,", "bad_type:n"),
    (b"a,NaN,", "bad_type:n"),
    (b"a,1,2026-02-30T00:00:00", "bad_type:t"),
    (b"a,1", "not_csv"),
    (b"a,1,,", "not_csv"),
    (b"", "not_csv"),
    (b"\n", "not_csv"),
    (None, "not_csv"),
    (b'"a,1,', "not_csv"),
    (b'"a"b,1,', "not_csv"),
    (b'a"b,1,', "not_csv"),
    (b"a,1,\nb,2,", "not_csv"),
    (b"\xff,1,", "not_csv"),
]


def test_a_line_of_csv(outcomes: Decode) -> None:
    lines = [line for line, _ in LINES]
    assert list(zip(lines, outcomes("id STRING NOT NULL, n DOUBLE, t TIMESTAMP_NTZ", *lines, format="csv"), strict=True)) == LINES


def test_csv_has_another_separator_if_told(outcomes: Decode) -> None:
    assert outcomes("a STRING, b BOOLEAN", b"x,y;true", b"x;yes", format="csv", separator=";") == [("x,y", True), "bad_type:b"]


AVRO = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "string"}, {"name": "n", "type": ["null", "long"]}]}


def avro_long(n: int) -> bytes:
    """Avro's zigzag varint."""
    n = (n << 1) ^ (n >> 63)
    head = b""
    while n > 127:
        head, n = head + bytes([n & 127 | 128]), n >> 7
    return head + bytes([n])


def test_avro_is_read_with_its_schema(outcomes: Decode) -> None:
    good, null = b"\x02a\x02\x0e", b"\x02a\x00"
    bad = [b"", None, b"\x02", b"\x02a\x09", b"\xff" * 12, b"\x02\xff\x00", good + b"x", good[:-1], b"\x01a\x00"]
    assert outcomes(AVRO, good, null, *bad, format="avro") == [("a", 7), ("a", None), *["not_avro"] * len(bad)]


def test_avro_that_claims_more_than_it_has_is_refused_before_it_is_made(outcomes: Decode) -> None:
    items = {"name": "items", "type": {"type": "array", "items": "null"}}
    kinds: list[Any] = [
        "bytes",
        {"type": "map", "values": "long"},
        {"type": "enum", "name": "E", "symbols": ["A"]},
        "int",
        "boolean",
        "double",
    ]
    fields = [{"name": f"f{i}", "type": ["null", kind]} for i, kind in enumerate(kinds)]
    schema = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "string"}, items, *fields]}
    nulls = b"\x00" * len(kinds)
    sound = avro_long(1) + b"a" + avro_long(-2) + avro_long(0) + avro_long(1) + avro_long(0)
    claims = [avro_long(2**31 - 20) + b"a", avro_long(2**40), avro_long(-5)]
    lies = [
        *claims,
        *(avro_long(1) + b"a" + claim + nulls for claim in claims),
        *(sound + b"\x00" * i + b"\x02" + claim for i in range(3) for claim in claims),
        sound + b"\x00" * 3 + b"\x02" + avro_long(2**31) + b"\x00" * 2,
        sound + b"\x00" * 4 + b"\x02\x02\x00",
        sound + b"\x00" * 5 + b"\x02" + b"\x00" * 7,
    ]
    values = (
        b"\x02"
        + avro_long(2)
        + b"hi"
        + b"\x02"
        + avro_long(1)
        + avro_long(1)
        + b"k"
        + avro_long(9)
        + avro_long(0)
        + b"\x02\x00\x02\x0d\x02\x01"
    )
    assert outcomes(schema, sound + nulls, sound + values + b"\x02" + struct.pack("<d", 1.5), *lies, format="avro") == [
        ("a", [None] * 3, *[None] * 6),
        ("a", [None] * 3, b"hi", {"k": 9}, "A", -7, True, 1.5),
        *["not_avro"] * len(lies),
    ]


@pytest.mark.parametrize("format", ["json", "csv", "avro"])
def test_spark_decodes_the_same_without_its_code_generator(spark: SparkSession, format: str) -> None:
    schema = AVRO if format == "avro" else "id STRING NOT NULL, n BIGINT, d DATE, f FLOAT, b BOOLEAN"
    raws = [b'{"id":"a","n":7,"d":"2026-01-01","f":1.5,"b":true}', b"a,7,2026-01-01,1.5,true", b"\x02a\x02\x0e", b"{", b"{}", b",,,,", None]
    found = []
    for mode in ("CODEGEN_ONLY", "NO_CODEGEN"):
        settings = {"spark.sql.codegen.factoryMode": mode, "spark.sql.codegen.wholeStage": str(mode == "CODEGEN_ONLY").lower()}
        before = {key: spark.conf.get(key) for key in settings}
        try:
            for key, value in settings.items():
                spark.conf.set(key, value)
            df = table(spark, [(raw,) for raw in raws], "value binary")
            found.append(decoding.decode(df, schema=schema, format=format).orderBy("record.id", "reason", "raw").collect())  # type: ignore[arg-type]
        finally:
            for key, value in before.items():
                spark.conf.set(key, str(value))
    assert found[0] == found[1]
    assert sum(row.reason is None for row in found[0]) == 1


def test_tasks_that_decode_at_the_same_time_do_not_disturb_each_other(spark: SparkSession) -> None:
    n = F.col("id")
    text = F.format_string('{"name":"\\u00e5%d","n":%d,"xs":[%d,1],"at":"2026-01-01T00:00:00.%06dZ"}', n, n, n, n)
    decoded = decoding.decode(
        spark.range(0, 80_000, 1, 8).select("id", text.alias("value")),
        schema="name STRING NOT NULL, n BIGINT NOT NULL, xs ARRAY<BIGINT> NOT NULL, at TIMESTAMP NOT NULL",
        keep=["id"],
    )
    right = (F.col("record.name") == F.concat(F.lit("å"), n)) & (F.col("record.n") == n) & (F.col("record.xs")[0] == n)
    right &= F.unix_micros("record.at") % 1_000_000 == n
    assert decoded.where(right).count() == 80_000


def test_raw_bytes_stay_as_they_are(outcomes: Decode) -> None:
    assert outcomes(None, b"\xff\x00", None, format="raw") == [(b"\xff\x00",), (None,)]


def kafka_like(spark: SparkSession, *values: bytes) -> DataFrame:
    at = datetime(2026, 1, 1)
    rows = [(b"k", value, "t", 0, offset, at) for offset, value in enumerate(values)]
    return table(spark, rows, "key binary, value binary, topic string, partition int, offset long, timestamp timestamp")


def test_valid_rows_and_dead_letters_share_out_the_input(spark: SparkSession) -> None:
    decoded = decoding.decode(kafka_like(spark, b'{"a":1}', b"{", b'{"a":2}', b"{}"), schema="a BIGINT NOT NULL", keep=["key"])
    assert decoded.columns == ["record", "reason", "raw", "topic", "partition", "offset", "timestamp", "key"]
    assert [tuple(row) for row in decoding.valid(decoded, keep=["offset"]).collect()] == [(1, 0), (2, 2)]
    letters = decoding.dead_letters(decoded)
    assert letters.columns == ["reason", "raw", "topic", "partition", "offset"]
    assert [plain(row) for row in letters.collect()] == [("not_json", b"{", "t", 0, 1), ("missing:a", b"{}", "t", 0, 3)]


def test_dead_letters_without_a_log_have_no_place(spark: SparkSession) -> None:
    decoded = decoding.decode(spark.createDataFrame([("{",)], "line string"), "line", schema="a BIGINT")
    assert [plain(row) for row in decoding.dead_letters(decoded).collect()] == [("not_json", b"{", None, None, None)]


def test_checks_refuse_more_and_the_first_that_applies_counts(spark: SparkSession) -> None:
    inputs = (b'{"timestamp":1,"reason":"a"}', b'{"timestamp":-1,"reason":"b"}', b'{"timestamp":-1,"reason":"a"}', b"{", b'{"reason":"c"}')
    decoded = decoding.decode(kafka_like(spark, *inputs), schema="timestamp BIGINT, reason STRING")
    checked = decoding.check(decoded, {"negative": F.col("timestamp") < 0, "b_is_out": "reason = 'b'"})
    checked = decoding.check(checked, {"never": F.col("reason") == "a"})
    assert [row.reason for row in checked.collect()] == ["never", "negative", "negative", "not_json", None]
    assert checked.columns == decoded.columns
    assert [tuple(row) for row in decoding.valid(checked).collect()] == [(None, "c")]


def test_a_record_is_decoded_once_whatever_is_asked_of_it(spark: SparkSession) -> None:
    decoded = decoding.decode(kafka_like(spark, GOOD), schema=TRANSACTION)
    checked = decoding.check(decoded, {"out_of_range:amount": F.col("amount") <= 0})
    for result in (decoding.valid(checked).where("amount > 5 AND customer = 'c1'"), decoding.dead_letters(checked)):
        plan = result._jdf.queryExecution().executedPlan().toString()
        assert plan.count("decode(") == 1, plan


@dataclass
class Reading:
    sensor: str
    celsius: float


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
        decoding.decode(kafka_like(spark, GOOD), **options)
    assert error.value.what == what
    assert error.value.where is not None
    assert error.value.where.startswith(__file__)


@pytest.mark.parametrize(
    ("condition", "what"),
    [(F.col, "check 'r': [UNRESOLVED_COLUMN"), (lambda _: F.lit(1), "check 'r' is int and no condition"), (lambda _: "1 +", "check 'r': ")],
)
def test_a_check_must_be_a_condition_over_the_record(spark: SparkSession, condition: Callable[[str], Any], what: str) -> None:
    decoded = decoding.decode(kafka_like(spark, GOOD), schema=TRANSACTION)
    with pytest.raises(DefinitionError) as error:
        decoding.check(decoded, {"r": condition("nope")})
    assert error.value.what.startswith(what)


def test_what_was_not_decoded_cannot_be_parted(spark: SparkSession) -> None:
    for part in (decoding.valid, decoding.dead_letters, lambda df: decoding.check(df, {})):
        with pytest.raises(DefinitionError) as error:
            part(spark.range(1))
        assert error.value.what == "these are no decoded records"


def test_a_column_that_would_come_twice_is_refused(spark: SparkSession) -> None:
    decoded = decoding.decode(kafka_like(spark, GOOD), schema="offset BIGINT")
    with pytest.raises(DefinitionError) as error:
        decoding.valid(decoded, keep=["offset"])
    assert error.value.what == "two columns would be named offset"
