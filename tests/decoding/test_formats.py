"""Decoding as tables: CSV, Avro, raw bytes, and that it is the same however Spark runs it."""

from __future__ import annotations

import struct
from datetime import datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.decoding.decoded import Decode

from headrace.decoding import records
from headrace.testing import table

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
            found.append(records.decode(df, schema=schema, format=format).orderBy("record.id", "reason", "raw").collect())  # type: ignore[arg-type]
        finally:
            for key, value in before.items():
                spark.conf.set(key, str(value))
    assert found[0] == found[1]
    assert sum(row.reason is None for row in found[0]) == 1


def test_tasks_that_decode_at_the_same_time_do_not_disturb_each_other(spark: SparkSession) -> None:
    n = F.col("id")
    text = F.format_string('{"name":"\\u00e5%d","n":%d,"xs":[%d,1],"at":"2026-01-01T00:00:00.%06dZ"}', n, n, n, n)
    decoded = records.decode(
        spark.range(0, 80_000, 1, 8).select("id", text.alias("value")),
        schema="name STRING NOT NULL, n BIGINT NOT NULL, xs ARRAY<BIGINT> NOT NULL, at TIMESTAMP NOT NULL",
        keep=["id"],
    )
    right = (F.col("record.name") == F.concat(F.lit("å"), n)) & (F.col("record.n") == n) & (F.col("record.xs")[0] == n)
    right &= F.unix_micros("record.at") % 1_000_000 == n
    assert decoded.where(right).count() == 80_000


def test_raw_bytes_stay_as_they_are(outcomes: Decode) -> None:
    assert outcomes(None, b"\xff\x00", None, format="raw") == [(b"\xff\x00",), (None,)]
