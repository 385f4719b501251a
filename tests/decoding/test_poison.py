"""A stream that is fed everything that should not be there goes on, and each bad record is in the dead letters once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import functions as F
from tests.waiting import eventually

import headrace as hr
from headrace.errors import JobError
from headrace.planning.table import MODES, Mode

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


LARGEST = 8_000_000  # bytes of a record; Kafka's default is less than 5 MB

Found = tuple[Counter[str], Counter[bytes | None], bool]
"""The names of the records that were counted, the raw ones in the dead letters, and whether each of these has a reason."""


def _outputs(read: hr.Stream) -> tuple[hr.Stream, hr.Stream]:
    decoded = read.decode("value", schema=SCHEMA, keep=["key"])
    counted = decoded.key_by("who").with_features(n=hr.running(F.count("*")), total=hr.running(F.sum("amount")))
    return counted, decoded.dead_letters


def _from_memory(mode: Mode, rows: list[tuple[str, bytes | None]], place: Path) -> Found:
    good, dead = _outputs(hr.read.memory("key string, value binary", rows[:20], rows[20:-1], rows[-1:]))
    counted, letters = good.to.memory("good"), dead.to.memory("dead")
    hr.Job(f"poison-{mode}", counted, letters, checkpoint=place).run(mode, trigger=hr.once)
    raws = [None if row.raw is None else bytes(row.raw) for row in letters.sink.rows]  # type: ignore[attr-defined]
    names = Counter(row.key for row in counted.sink.rows)  # type: ignore[attr-defined]
    return names, Counter(raws), all(row.reason for row in letters.sink.rows)  # type: ignore[attr-defined]


def _from_kafka(rows: list[tuple[str, bytes | None]], kafka: str, place: Path) -> Found:
    topics = {name: f"poison-{name}" for name in ("in", "good", "dead")}
    hr.topics.create(*topics.values(), partitions=1, config={"max.message.bytes": LARGEST}, servers=kafka)
    large = {"kafka.max.request.size": str(LARGEST)}
    good, dead = _outputs(hr.read.kafka(topics["in"], servers=kafka))
    counted = good.to.kafka(topics["good"], value="key", servers=kafka)
    letters = dead.to.kafka(topics["dead"], value="raw", headers={"reason": "reason"}, options=large, servers=kafka, name="dead")
    producer = Producer({"bootstrap.servers": kafka, "message.max.bytes": LARGEST, "log_level": 0})

    def written(name: str) -> int:
        return sum(partition.end for partition in hr.topics.describe(topics[name], servers=kafka).partitions)

    with hr.Job("poison-real-time", counted, letters, checkpoint=place).start("real-time"):
        for name, value in rows:
            producer.produce(topics["in"], value, name)
        producer.flush()
        assert eventually(lambda: written("good") + written("dead") >= len(rows), within=120)
    records = {name: list(hr.topics.read(topics[name], servers=kafka)) for name in ("good", "dead")}
    names = Counter((record.value or b"").decode() for record in records["good"])
    return names, Counter(record.value for record in records["dead"]), all(dict(each.headers)["reason"] for each in records["dead"])


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("mode", MODES)
def test_poison_is_in_the_dead_letters_once_and_the_rest_is_counted(mode: Mode, kafka: str, tmp_path: Path) -> None:
    rows = [(name, value) for corpus in (GOOD, BAD) for name, value in corpus.items()]
    rows = [*rows[::2], *rows[1::2], ("after", _record())]
    names, raws, explained = _from_kafka(rows, kafka, tmp_path) if mode == "real-time" else _from_memory(mode, rows, tmp_path)
    assert names == Counter([*GOOD, "after"])
    assert raws == Counter(BAD.values())
    assert explained


def test_a_dead_letter_that_is_larger_than_kafka_takes_is_refused_with_the_way_out(kafka: str, topic: Callable[..., str]) -> None:
    source, dead = topic(), topic()
    producer = Producer({"bootstrap.servers": kafka, "log_level": 0})
    producer.produce(source, b"x" * 900_000)  # which Kafka takes; as text in JSON it is a third more
    producer.flush()
    letters = hr.read.kafka(source, schema=SCHEMA, servers=kafka).dead_letters
    with pytest.raises(JobError) as stopped:
        hr.Job("large", letters.to.kafka(dead, servers=kafka)).run("batch")
    assert 'value="raw"' in stopped.value.fix
    hr.Job("large", letters.to.kafka(dead, value="raw", headers={"reason": "reason"}, servers=kafka)).run("batch")
    assert [len(record.value or b"") for record in hr.topics.read(dead, servers=kafka)] == [900_000]
