"""Decoding as tables: JSON that came in, and the record or the reason that comes out."""

from __future__ import annotations

from datetime import datetime

from tests.decoding.decoded import GOOD, TRANSACTION, Decode


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
