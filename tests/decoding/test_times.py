"""Times as a schema declares them: since 1970, or by a pattern. What is written so is read, and nothing else."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.decoding.decoded import Decode

import headrace as hr
from headrace.decoding import records
from headrace.errors import DefinitionError

AT = datetime(2026, 2, 2, 2, 40)
FIRST, LAST = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)

# form, JSON that came in, the time that it is; none if it is none
EPOCHS: list[tuple[str, bytes, datetime | None]] = [
    ("epoch_seconds", b"1770000000", AT),
    ("epoch_seconds", b"1770000000.5", AT.replace(microsecond=500000)),
    ("epoch_seconds", b"1770000000.123456", AT.replace(microsecond=123456)),
    ("epoch_seconds", b"1770000000.1234569", AT.replace(microsecond=123456)),  # of a double
    ("epoch_seconds", b"1770000000.123456789", AT.replace(microsecond=123456)),  # of nanoseconds
    ("epoch_seconds", b"1770000000.9999999999999999999999999999", AT.replace(microsecond=999999)),
    ("epoch_seconds", b"1.77E9", AT),
    ("epoch_seconds", b"1.77000000012e+9", AT.replace(microsecond=120000)),
    ("epoch_seconds", b"177000000000e-2", AT),
    ("epoch_seconds", b"0", datetime(1970, 1, 1)),
    ("epoch_seconds", b"-0.0", datetime(1970, 1, 1)),
    ("epoch_seconds", b"0e999999999", datetime(1970, 1, 1)),
    ("epoch_seconds", b"1e-999999999", datetime(1970, 1, 1)),
    ("epoch_seconds", b"-1", datetime(1969, 12, 31, 23, 59, 59)),
    ("epoch_seconds", b"-0.0000001", datetime(1969, 12, 31, 23, 59, 59, 999999)),
    ("epoch_seconds", b"-62135596800", FIRST),
    ("epoch_seconds", b"-62135596800.0000001", None),
    ("epoch_seconds", b"253402300799.9999999", LAST),
    ("epoch_seconds", b"253402300800", None),
    ("epoch_seconds", b"1770000000000", None),  # milliseconds
    ("epoch_seconds", b"1e999999999", None),
    ("epoch_seconds", b"9" * 400, None),
    ("epoch_seconds", b"NaN", None),
    ("epoch_seconds", b"-Infinity", None),
    ("epoch_seconds", b"true", None),
    ("epoch_seconds", b"[1770000000]", None),
    ("epoch_seconds", b'"1770000000"', None),
    ("epoch_seconds", b'"2026-02-02T02:40:00Z"', None),
    ("epoch_millis", b"1770000000000", AT),
    ("epoch_millis", b"1770000000123.4567", AT.replace(microsecond=123456)),
    ("epoch_millis", b"-0.0001", datetime(1969, 12, 31, 23, 59, 59, 999999)),
    ("epoch_millis", b"253402300800000", None),
    ("epoch_micros", b"1770000000000001", AT.replace(microsecond=1)),
    ("epoch_micros", b"1770000000000001.9", AT.replace(microsecond=1)),
    ("epoch_micros", b"-62135596800000000", FIRST),
    ("epoch_micros", b"-62135596800000001", None),
    ("epoch_micros", b"9223372036854775808", None),
]

# pattern, text, the time that it is
PATTERNS: list[tuple[str, str, datetime | None]] = [
    ("dd/MM/yyyy HH:mm", "02/02/2026 02:40", AT),
    ("dd/MM/yyyy HH:mm", "2/2/2026 02:40", None),
    ("dd/MM/yyyy HH:mm", "02/02/2026 02:40:00", None),
    ("dd/MM/yyyy HH:mm", " 02/02/2026 02:40", None),
    ("dd/MM/yyyy HH:mm", "30/02/2026 02:40", None),
    ("dd/MM/yyyy HH:mm", "02/02/2026 24:00", None),
    ("dd/MM/yyyy HH:mm", "2026-02-02T02:40:00Z", None),
    ("dd/MM/yyyy HH:mm", "01/01/0000 00:00", None),
    ("dd/MM/yyyy hh:mm a", "02/02/2026 02:40 PM", AT.replace(hour=14)),
    ("dd/MM/yyyy hh:mm a", "02/02/2026 12:40 am", AT.replace(hour=0)),
    ("yyyyMMddHHmmss", "20260202024000", AT),
    ("yyyy-MM-dd HH:mm:ss.SSSSSS", "2026-02-02 02:40:00.5", AT.replace(microsecond=500000)),
    ("yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSSXXX", "2026-02-02T03:40:00.123456789+01:00", AT.replace(microsecond=123456)),
    ("yyyy-MM-dd'T'HH:mm:ss[.SSS]X", "2026-02-02T02:40:00Z", AT),
    ("yyyy-MM-dd HH:mm VV", "2026-02-02 03:40 Europe/Stockholm", AT),
    ("d MMM yyyy", "2 Feb 2026", datetime(2026, 2, 2)),
    ("d MMM yyyy", "2 Fév 2026", None),
]


def outcome(time: datetime | None) -> Any:
    return "bad_type:t" if time is None else (time,)


@pytest.mark.parametrize("form", dict.fromkeys(form for form, *_ in EPOCHS))
def test_a_number_is_the_time_since_1970_that_it_says(outcomes: Decode, form: str) -> None:
    cases = [(written, outcome(time)) for each, written, time in EPOCHS if each == form]
    read = outcomes("t TIMESTAMP_NTZ NOT NULL", *(b'{"t":%s}' % written for written, _ in cases), times=form)
    assert list(zip((written for written, _ in cases), read, strict=True)) == cases


@pytest.mark.parametrize("pattern", dict.fromkeys(pattern for pattern, *_ in PATTERNS))
def test_a_text_is_the_time_that_the_pattern_says(outcomes: Decode, pattern: str) -> None:
    cases = [(text, outcome(time)) for each, text, time in PATTERNS if each == pattern]
    read = outcomes("t TIMESTAMP_NTZ NOT NULL", *(b'{"t":"%s"}' % text.encode() for text, _ in cases), b'{"t":20260202}', times=pattern)
    assert list(zip((text for text, _ in cases), read, strict=False)) == cases
    assert read[-1] == "bad_type:t"  # a number is no text


def test_a_cell_of_csv_is_text_in_all_forms(outcomes: Decode) -> None:
    schema = "a TIMESTAMP_NTZ, b TIMESTAMP_NTZ, c DATE, d TIMESTAMP_NTZ NOT NULL"
    forms = {"a": "epoch_millis", "b": "epoch_seconds", "c": "dd.MM.yyyy"}
    lines = {
        b'1770000000000,"1770000000.5",02.02.2026,2026-02-02 02:40:00': (AT, AT.replace(microsecond=500000), date(2026, 2, 2), AT),
        b",,,2026-02-02 02:40:00": (None, None, None, AT),
        b" 1,,,2026-02-02 02:40:00": "bad_type:a",
        b",x,,2026-02-02 02:40:00": "bad_type:b",
        b",,2026-02-02,2026-02-02 02:40:00": "bad_type:c",
        b",,,1770000000": "bad_type:d",
        b"x,,,": "missing:d",
    }
    assert dict(zip(lines, outcomes(schema, *lines, format="csv", times=forms), strict=True)) == lines


def test_nested_times_are_declared_by_their_path_and_others_stay_iso(outcomes: Decode) -> None:
    schema = (
        "id INT, order STRUCT<placed: TIMESTAMP_NTZ NOT NULL, paid: TIMESTAMP_NTZ>, "
        "seen ARRAY<TIMESTAMP_NTZ>, steps MAP<STRING, STRUCT<at: TIMESTAMP_NTZ>>"
    )
    forms = {"order.placed": "epoch_seconds", "order.paid": "iso", "seen": "epoch_millis", "steps.at": "dd/MM/yyyy HH:mm"}
    assert outcomes(
        schema,
        b'{"order":{"placed":1770000000,"paid":"2026-02-02T02:40:00Z"},"seen":[1770000000000,null],'
        b'"steps":{"a":{"at":"02/02/2026 02:40"}}}',
        b'{"order":{"placed":"2026-02-02T02:40:00Z"}}',
        b'{"order":{"placed":1770000000,"paid":1770000000}}',
        b'{"order":{"placed":""}}',
        b'{"seen":["1770000000000"]}',
        times=forms,
    ) == [
        (None, (AT, AT), [AT, None], {"a": (AT,)}),
        "bad_type:order.placed",
        "bad_type:order.paid",
        "missing:order.placed",
        "bad_type:seen",
    ]


def test_one_form_is_for_all_timestamps_and_for_no_date(outcomes: Decode) -> None:
    schema = "a TIMESTAMP_NTZ, day DATE, b STRUCT<at: TIMESTAMP_NTZ>"
    assert outcomes(schema, b'{"a":0,"day":"2026-02-02","b":{"at":0}}', times="epoch_millis") == [
        (datetime(1970, 1, 1), date(2026, 2, 2), (datetime(1970, 1, 1),))
    ]


def test_records_of_several_kinds_share_the_forms(outcomes: Decode) -> None:
    kinds = {"a": "at TIMESTAMP_NTZ NOT NULL", "b": "at TIMESTAMP_NTZ, n INT"}
    assert outcomes(
        kinds, b'{"kind":"a","at":0}', b'{"kind":"b","at":"1970-01-01T00:00:00"}', tag="kind", times={"at": "epoch_millis"}
    ) == [
        ("a", datetime(1970, 1, 1), None),
        "bad_type:at",
    ]


def test_a_time_with_a_zone_is_the_instant(spark: SparkSession) -> None:
    df = spark.createDataFrame([('{"a":1770000000,"b":"2026-02-02 03:40 +01:00"}',)], "value string")
    decoded = records.decode(df, schema="a TIMESTAMP, b TIMESTAMP", times={"a": "epoch_seconds", "b": "yyyy-MM-dd HH:mm XXX"})
    assert [tuple(row) for row in records.valid(decoded).selectExpr("unix_seconds(a)", "unix_seconds(b)").collect()] == [(1770000000,) * 2]


SCHEMA = "at TIMESTAMP, day DATE, n INT, order STRUCT<placed: TIMESTAMP>"
MISTAKES: list[tuple[Any, dict[str, Any], str, str]] = [
    ({"att": "iso"}, {}, "times: there is no field 'att'", "did you mean 'at'? The times of the schema are at, day, order.placed"),
    ({"placed": "iso"}, {}, "times: there is no field 'placed'", "did you mean 'order.placed'?"),
    ({"n": "epoch_millis"}, {}, "times: n is int and no time", "The times of the schema are at, day, order.placed"),
    (
        {"at": "epoch_milis"},
        {},
        "times: 'epoch_milis' is no form for at: no time is read by the letter 'e'",
        "did you mean 'epoch_millis'? Use 'iso', 'epoch_seconds'",
    ),
    ("epoch_minutes", {}, "times: 'epoch_minutes' is no form for at: ", "or a pattern of Spark's, such as 'dd/MM/yyyy HH:mm'"),
    (
        {"at": "dd/MM/yyyy {HH}"},
        {},
        "times: 'dd/MM/yyyy {HH}' is no form for at: Pattern includes reserved character",
        "a pattern of Spark's",
    ),
    ({"at": "YYYY-MM-dd"}, {}, "times: 'YYYY-MM-dd' is no form for at: no time is read by the letter 'Y'", "a pattern of Spark's"),
    ({"at": "HH:mm"}, {}, "times: 'HH:mm' is no form for at: it does not tell year, month and day", "a pattern of Spark's"),
    ({"at": "dd/MM/yyyy hh:mm"}, {}, "times: 'dd/MM/yyyy hh:mm' is no form for at: it does not tell which half of the day", "a pattern"),
    ({"at": 1000}, {}, "times: 1000 is no form for at: it is no text", "Use 'iso'"),
    ({"day": "epoch_seconds"}, {}, "times: day is a date, and 'epoch_seconds' is for timestamps", "the type timestamp, or a pattern"),
    ("epoch_millis", {"schema": "n INT"}, "times: the schema has no timestamp", "leave it out"),
    (["at"], {}, "times: ['at'] is no form", "{'at': 'epoch_millis'}"),
    ("epoch_millis", {"format": "raw", "schema": None}, "times='epoch_millis' cannot be told of raw", "json and csv"),
]


@pytest.mark.parametrize(("times", "options", "what", "fix"), MISTAKES)
def test_a_field_or_form_that_there_is_not_is_refused_at_the_users_line(
    spark: SparkSession, times: Any, options: dict[str, Any], what: str, fix: str  # noqa: ARG001
) -> None:  # fmt: skip
    lines = hr.read.memory("value string")
    with pytest.raises(DefinitionError) as refused:
        lines.decode(**{"schema": SCHEMA, "times": times, **options})
    assert refused.value.what.startswith(what)
    assert fix in refused.value.fix
    assert (refused.value.where or "").startswith(f"{__file__}:")


def test_files_declare_their_times(tmp_path: Path, spark: SparkSession) -> None:  # noqa: ARG001
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("at;n\n02/02/2026 02:40;1\n2026-02-02;2\n")
    rows = hr.read.files(
        tmp_path / "in", format="csv", separator=";", schema="at timestamp_ntz not null, n int", times={"at": "dd/MM/yyyy HH:mm"}
    )
    good, bad = rows.to.memory(), rows.dead_letters.select("reason").to.memory("bad")
    hr.Job("times", good, bad).run("batch")
    assert [tuple(row) for row in good.sink.rows] == [(AT, 1)]
    assert [tuple(row) for row in bad.sink.rows] == [("bad_type:at",)]
