"""A stream that is fed everything that should not be there goes on, and each bad record is in the dead letters once."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import functions as F

import headrace as hr
from headrace.planning.table import Mode

SCHEMA = "who string not null, amount double not null, at timestamp not null, note string"


def _record(**changed: object) -> bytes:
    good = {"who": "ann", "amount": 1.5, "at": "2026-11-18T10:00:00Z", "note": None}
    return json.dumps(good | changed).encode()


def _raw(amount: str) -> bytes:
    """With an amount that Python would not write."""
    return _record(amount=0).replace(b'"amount": 0', b'"amount": ' + amount.encode())


GOOD = {
    "plain": _record(),
    "the epoch": _record(at="1970-01-01T00:00:00Z"),
    "year 9999": _record(at="9999-12-31T23:59:59Z"),
    "5 MB of text": _record(note="x" * 5_000_000),
    "HTML": _record(note="<script>alert(1)</script>"),
    "SQL": _record(who="'; DROP TABLE decisions; --"),
    "a formula": _record(note='=HYPERLINK("http://localhost", "me")'),
    "a path": _record(who="../../etc/passwd"),
    "control characters": _record(who="\u0000\u0007\u202e"),
    "the largest double": _raw("1.7976931348623157e308"),
    "a thousand levels beside it": _record().replace(b'"note": null', b'"x": ' + b"[" * 1000 + b"]" * 1000),
}

BAD = {
    "nothing": b"",
    "null": None,
    "the word null": b"null",
    "no JSON": b"who=ann",
    "half a record": _record()[:40],
    "two records": _record() + _record(),
    "not UTF-8": _record().replace(b"ann", b"\xff\xfe"),
    "zeros": b"\0" * 100,
    "a field is missing": b'{"who": "ann"}',
    "a field is null": _record(amount=None),
    "text for a number": _record(amount="1.5"),
    "an object for a number": _record(amount={"value": 1.5}),
    "NaN": _raw("NaN"),
    "infinity": _raw("Infinity"),
    "minus infinity": _raw("-Infinity"),
    "too large for a double": _raw("1e999"),
    "year 10000": _record(at="10000-01-01T00:00:00Z"),
    "no time": _record(at="yesterday"),
    "5 MB of nothing": b"x" * 5_000_000,
    "a thousand levels": b"[" * 1000,
    "ten thousand levels in a field": _record(amount=0).replace(b'"amount": 0', b'"amount": ' + b"[" * 10_000 + b"]" * 10_000),
}


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("mode", ["batch", "micro-batch"])
def test_poison_is_in_the_dead_letters_once_and_the_rest_is_counted(mode: Mode, tmp_path: Path) -> None:
    rows = [(name, value) for corpus in (GOOD, BAD) for name, value in corpus.items()]
    source = hr.read.memory("name string, value binary", rows[::2], rows[1::2], [("after", _record())])
    decoded = source.decode("value", schema=SCHEMA, keep=["name"])
    counted = decoded.key_by("who").with_features(n=hr.running(F.count("*")), total=hr.running(F.sum("amount"))).to.memory("good")
    dead = decoded.dead_letters.to.memory("dead")
    hr.Job(f"poison-{mode}", counted, dead, checkpoint=tmp_path).run(mode, trigger=hr.once)
    assert Counter(row.name for row in counted.sink.rows) == Counter([*GOOD, "after"])  # type: ignore[attr-defined]
    letters = dead.sink.rows  # type: ignore[attr-defined]
    assert Counter(None if row.raw is None else bytes(row.raw) for row in letters) == Counter(BAD.values())
    assert all(row.reason for row in letters)
