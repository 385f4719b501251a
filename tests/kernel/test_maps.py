"""Maps that a key of a scan in Python has: each read gives what a dict would, however the records are cut into batches."""

from __future__ import annotations

import random
from typing import Any

import pytest

import headrace as hr
from headrace.errors import DefinitionError
from headrace.kernel.python.scanning import scan_python

pytestmark = pytest.mark.usefixtures("spark")

OUT = "k string, n int, found string"
Op = tuple[str, int, str, bytes | None, bytes | None]

# Keys that differ in their first bytes, only behind the sixteenth, by their length, and not by the sign of a byte.
KEYS = [b"", b"\x00", b"a", b"a\x00", b"a" * 16, b"a" * 17, b"a" * 16 + b"b", b"a" * 24, b"\x7f", b"\x80", b"\xff" * 20]


def ops(count: int) -> list[Op]:
    chance = random.Random(7)
    kinds = ["put", "put", "put", "get", "delete", "between", "clear" if count > 100 else "get"]

    def one(number: int) -> Op:
        kind = chance.choice(kinds) if number % 40 else "between"
        first, second = chance.choice([*KEYS, None]), chance.choice([*KEYS, None])
        return chance.choice("xy"), number, kind, first if kind == "between" else first or b"", second

    return [one(number) for number in range(count)]


def apply(state: Any, record: Any) -> Any:
    entries, kind, first, second = state["m"], record["kind"], record["first"], record["second"]
    found: Any = None
    if kind == "put":
        entries.put(first, str(record["n"]).encode())
        found = entries.get(first)  # its own writes are seen
    elif kind == "get":
        found = entries.get(first)
    elif kind == "delete":
        entries.delete(first)
    elif kind == "between":
        entries.put(b"own", b"1")
        entries.delete(b"a\x00")
        found = entries.between(first, second)
    row = {"k": record["k"], "n": record["n"], "found": repr(found)}
    return (None if kind == "clear" else {"calls": (state["calls"] or 0) + 1}), [row]


class Model(dict[bytes, bytes]):
    """What a map is to be."""

    def put(self, key: bytes, value: bytes) -> None:
        self[key] = value

    def delete(self, key: bytes) -> None:
        self.pop(key, None)

    def between(self, start: bytes | None, end: bytes | None) -> list[tuple[bytes, bytes]]:
        return sorted((key, value) for key, value in self.items() if (start is None or start <= key) and (end is None or key < end))


def expected(records: list[Op]) -> set[tuple[str, int, str]]:
    models, rows = {"x": Model(), "y": Model()}, set()
    for k, n, kind, first, second in records:
        record = {"k": k, "n": n, "kind": kind, "first": first, "second": second}
        after, out = apply({"m": models[k], "calls": 0}, record)
        rows |= {tuple(row.values()) for row in out}
        if after is None:
            models[k].clear()
    return rows


@pytest.mark.parametrize("batches", [0, 3], ids=["batch", "micro-batches"])
def test_a_map_is_read_as_a_dict_would_be(batches: int) -> None:
    records = ops(400)
    parts = [records[number::batches] for number in range(batches)] if batches else [records]
    in_order = [record for part in parts for record in part]
    stream = hr.read.memory("k string, n int, kind string, first binary, second binary", *parts)
    out = stream.key_by("k").scan_python(state="calls int", maps=["m"], function=apply, output=OUT).to.memory()
    hr.Job("maps", out).run("micro-batch" if batches else "batch", trigger=hr.once if batches else None)
    assert {tuple(row) for row in out.sink.rows} == expected(in_order)  # type: ignore[attr-defined]


def test_a_map_may_begin_with_entries_and_a_refused_record_leaves_it_as_it_was() -> None:
    def count(state: Any, record: Any) -> Any:
        n = int(state["counts"].get(record["word"].encode()) or b"0") + 1
        state["counts"].put(record["word"].encode(), str(n).encode())
        if record["word"] == "bad":
            raise ValueError("no")
        return {"x": None}, [{"word": record["word"], "n": n, "all": len(state["counts"].between())}]

    spark = hr.session()
    words = spark.createDataFrame([(1, word) for word in ("a", "bad", "b", "a")], "k int, word string")
    first = spark.sql("SELECT 1 AS k, array(struct(encode('a', 'utf-8') AS key, encode('7', 'utf-8') AS value)) AS counts")
    rows = scan_python(
        words, keys="k", state="x int", maps=["counts"], function=count, output="word string, n int, all int", initial=first,
        errors="dead_letters",
    )  # fmt: skip
    assert [tuple(row) for row in hr.port(rows, "main").collect()] == [("a", 8, 1), ("b", 1, 2), ("a", 9, 2)]


def test_a_map_that_is_called_like_a_field_is_refused() -> None:
    with pytest.raises(DefinitionError, match="'n' is there twice"):
        scan_python(hr.session().range(1), keys="id", state="n int", maps=["n"], function=apply, output=OUT)
