"""What holds for any bytes: the decoder against Python's own JSON and the oracle.

An example is a batch of many records, since a Spark job is slow.
"""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from tests.decoding import oracle

from headrace.decoding import records as decoding
from headrace.testing import table

TRANSACTION = [
    ("tx_id", "string", True),
    ("customer", "string", True),
    ("card", "string", False),
    ("amount", "double", True),
    ("count", "bigint", False),
    ("paid", "boolean", False),
    ("ts", "timestamp", True),
]
DDL = ", ".join(f"{name} {of}_ntz" if of == "timestamp" else f"{name} {of}" for name, of, _ in TRANSACTION)
DDL = ", ".join(f"{part} NOT NULL" if required else part for part, (_, _, required) in zip(DDL.split(", "), TRANSACTION, strict=True))

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
few = settings(max_examples=5, deadline=None, suppress_health_check=SLOW)

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
times = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29))
zones = st.sampled_from(["", "Z", "+00:00", "-05:30", "+23:59", "-23:59"])
stamps = st.builds(lambda at, sep, zone: at.isoformat(sep) + zone, times, st.sampled_from(["T", " "]), zones)


def decode(spark: SparkSession, schema: Any, raws: list[bytes], **options: Any) -> list[Any]:
    rows = decoding.decode(table(spark, [(raw,) for raw in raws], "value binary"), schema=schema, **options).collect()
    assert len(rows) == len(raws)
    return rows


records = st.fixed_dictionaries(
    {"tx_id": words.filter(bool), "customer": words.filter(bool), "amount": st.floats(allow_nan=False, allow_infinity=False), "ts": stamps},
    optional={
        "card": st.none() | words,
        "count": st.none() | st.integers(-(2**63), 2**63 - 1),
        "paid": st.none() | st.booleans(),
        "extra": st.recursive(st.none() | st.floats() | words, lambda inner: st.lists(inner) | st.dictionaries(words, inner), max_leaves=5),
    },
)
written = st.builds(
    lambda record, order, ascii, indent, spaces: json.dumps(
        {name: record[name] for name in sorted(record, key=lambda name: order.index(name))},
        ensure_ascii=ascii,
        indent=indent,
        separators=(" , ", " :\t") if spaces else None,
    ).encode("utf-8", "surrogatepass"),
    records,
    st.permutations(["tx_id", "customer", "card", "amount", "count", "paid", "ts", "extra"]),
    st.booleans(),
    st.none() | st.integers(0, 2),
    st.booleans(),
)


@few
@given(raws=st.lists(written, min_size=25, max_size=40))
def test_a_record_that_python_wrote_is_read_back(spark: SparkSession, raws: list[bytes]) -> None:
    for row, raw in zip(decode(spark, DDL, raws), raws, strict=True):
        assert row.reason is None
        assert row.record.asDict() == expected(json.loads(raw))


def expected(record: dict[str, Any]) -> dict[str, Any]:
    at = oracle.instant(record["ts"])
    assert at is not None
    values = {name: record.get(name) for name, _, _ in TRANSACTION}
    return values | {"amount": float(record["amount"]), "ts": at.replace(tzinfo=None)}


@few
@given(raws=st.lists(st.binary() | st.text().map(str.encode) | written.map(lambda raw: raw[:-1]), min_size=25, max_size=100))
def test_any_bytes_give_a_record_or_a_reason(spark: SparkSession, raws: list[bytes]) -> None:
    for options in ({}, {"format": "csv"}):
        for row in decode(spark, DDL, raws, **options):
            assert (row.record is None) != (row.reason is None)


scraps = st.sampled_from([
    b"", b" ", b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"null", b"NaN", b"-", b"0", b"1e5", b".", b"\x00", b"\xff", b"\xc3\xa5",
    b"\xed\xa0\x80",
    b'""', b'"x"', b"true", b"\\ud800", b"\\u00e5", b'"tx_id":1,', b'"ts":"2026-02-30T00:00:00Z",', b'"amount":Infinity,', b'"card":"",',
])  # fmt: skip
odd = st.none() | st.booleans() | st.integers() | st.floats() | words | stamps | st.just([]) | st.just({}) | st.integers().map(str)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A good record with some fields dropped or replaced, and perhaps some bytes."""
    record: dict[str, Any] = dict(draw(records))
    for name in draw(st.lists(st.sampled_from([name for name, _, _ in TRANSACTION]), max_size=2)):
        if draw(st.booleans()):
            record.pop(name, None)
        else:
            record[name] = draw(odd)
    raw = json.dumps(record, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(raw)))
        raw = raw[:at] + draw(scraps) + raw[at + draw(st.integers(0, 3)) :]
    return raw


@few
@given(raws=st.lists(mutated(), min_size=25, max_size=60))
def test_the_reason_is_the_one_that_the_oracle_gives(spark: SparkSession, raws: list[bytes]) -> None:
    rows = decode(spark, DDL, raws)
    assert [(raw, row.reason) for raw, row in zip(raws, rows, strict=True)] == [(raw, oracle.reason(raw, TRANSACTION)) for raw in raws]
    for raw, row in zip(raws, rows, strict=True):
        assert row.record is None or row.record.asDict() == expected(json.loads(raw))


clocks = st.from_regex(
    r"[0-9]{4}-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{0,7})?(Z|[+-][0-2][0-9]:[0-6][0-9])?", fullmatch=True
)


@few
@given(texts=st.lists(clocks | stamps | st.text(max_size=26), min_size=25, max_size=100))
def test_a_time_is_the_one_that_the_oracle_reads(spark: SparkSession, texts: list[str]) -> None:
    rows = decode(spark, "t TIMESTAMP_NTZ", [json.dumps({"t": text}).encode() for text in texts])
    for text, row in zip(texts, rows, strict=True):
        at = oracle.instant(text)
        assert (text, row.reason) == (text, "bad_type:t" if at is None else None)
        assert row.record is None or row.record.t.replace(tzinfo=UTC) == at


numbers = st.from_regex(r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)


@few
@given(texts=st.lists(numbers, min_size=25, max_size=100))
def test_a_number_is_the_one_that_python_reads(spark: SparkSession, texts: list[str]) -> None:
    raws = [f'{{"v":{text}}}'.encode() for text in texts]
    for text, row in zip(texts, decode(spark, "v DOUBLE", raws), strict=True):
        value = float(text)
        assert (row.record.v if row.reason is None else None) == (value if abs(value) < float("inf") else None), text
    for text, row in zip(texts, decode(spark, "v DECIMAL(20, 6)", raws), strict=True):
        exact = Decimal(text)
        fits = exact == 0 or (abs(exact) < 10**14 and abs(exact) > Decimal("1e-7") and exact == round(exact, 6))
        assert (row.record.v if row.reason is None else None) == (exact if fits else None), text


@few
@given(texts=st.lists(numbers, min_size=25, max_size=100), form=st.sampled_from(list(oracle.EPOCHS)))
def test_a_time_since_1970_is_the_one_that_the_oracle_counts(spark: SparkSession, texts: list[str], form: str) -> None:
    df = table(spark, [(f'{{"t":{text}}}'.encode(),) for text in texts], "value binary")
    for text, row in zip(texts, decoding.decode(df, schema="t TIMESTAMP_NTZ", times=form).collect(), strict=True):
        at = oracle.since_1970(text, form)
        assert (text, row.reason) == (text, "bad_type:t" if at is None else None)
        assert row.record is None or row.record.t.replace(tzinfo=UTC) == at, text


nested = st.fixed_dictionaries({
    "id": st.integers(-(2**31), 2**31 - 1),
    "tags": st.lists(st.none() | words),
    "weights": st.dictionaries(words, st.none() | st.floats(allow_nan=False, allow_infinity=False)),
    "home": st.none() | st.fixed_dictionaries({"city": words.filter(bool), "since": st.dates().map(str)}),
    "photo": st.binary(max_size=20).map(lambda b: base64.b64encode(b).decode()),
})  # fmt: skip
NESTED = "id INT NOT NULL, tags ARRAY<STRING>, weights MAP<STRING, DOUBLE>, home STRUCT<city: STRING NOT NULL, since: DATE>, photo BINARY"


@few
@given(values=st.lists(nested, min_size=25, max_size=30))
def test_nested_values_are_read_back(spark: SparkSession, values: list[dict[str, Any]]) -> None:
    for row, value in zip(decode(spark, NESTED, [json.dumps(value).encode() for value in values]), values, strict=True):
        assert row.reason is None
        found = row.record.asDict(recursive=True)
        found["photo"] = base64.b64encode(found["photo"]).decode()
        if found["home"]:
            found["home"]["since"] = str(found["home"]["since"])
        assert found == value
