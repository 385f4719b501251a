"""Tables that change: the time-lines of Kafka Streams, versioned tables, foreign keys, and a plain-Python oracle on disordered records."""

from __future__ import annotations

from collections import defaultdict
from functools import reduce
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.ops.joins.two_streams import SCHEMA, Record, as_text, at, generated, late_rows, read, seconds, streams

import headrace as hr
from headrace.errors import DefinitionError
from headrace.ops.joins import foreign, tables
from headrace.ops.joins.as_of import as_of
from headrace.ops.joins.sides import Side, Sides, together
from headrace.testing.microbatches import MicroBatches
from headrace.testing.results import Result
from headrace.testing.shapes import BATCH, RECORD_PER_BATCH, Shape
from headrace.testing.states import kept_rows
from headrace.testing.tables import table

pytestmark = pytest.mark.usefixtures("spark")

# joins.md, section 4: one record a second, one key; null is a tombstone.
LINE = [("own", None), ("other", None), ("own", "A"), ("other", "a"), ("own", "B"), ("other", "b"), ("own", None), ("other", None),
        ("own", "C"), ("other", "c"), ("other", None), ("own", None), ("other", None), ("other", "d"), ("own", "D")]  # fmt: skip
TIME_LINE = [(side, "k", value, at(second)) for second, (side, value) in enumerate(LINE, start=1)]
LETTERS = "side string, k string, v string, ts timestamp"

STREAM_TABLE = {"inner": {5: "Ba", 15: "Dd"}, "left": {3: "A-", 5: "Ba", 9: "C-", 15: "Dd"}}
TABLE_TABLE = {
    "inner": {4: "Aa", 5: "Ba", 6: "Bb", 7: "x", 10: "Cc", 11: "x", 15: "Dd"},
    "left": {3: "A-", 4: "Aa", 5: "Ba", 6: "Bb", 7: "x", 9: "C-", 10: "Cc", 11: "C-", 12: "x", 15: "Dd"},
    "full": {3: "A-", 4: "Aa", 5: "Ba", 6: "Bb", 7: "-b", 8: "x", 9: "C-", 10: "Cc", 11: "C-", 12: "x", 14: "-d", 15: "Dd"},
}


def by_arrival(df: DataFrame, *, stream: bool = False) -> Sides:
    """Both sides as one stream, in the order in which they come."""
    own, other = (F.col("side") == side for side in ("own", "other"))
    rows = df.where(~(own & F.col("v").isNull())) if stream else df  # a stream has no tombstones
    records = rows.select(
        F.col("k").alias("key_0"),
        F.col("v").isNull().alias("gone"),
        F.when(own, F.struct("v")).alias("own"),
        F.when(other, F.struct(F.col("v").alias("o"))).alias("other"),
    )
    schemas = (df.select("k", F.col("v").alias(name)).schema for name in ("v", "o"))
    return Sides(records, *(Side(name, schema, ("k",), None) for name, schema in zip(("own", "other"), schemas, strict=True)))


def letters(deleted: Column | None = None) -> Column:
    """`Aa`, `A-` or `x`."""
    both = F.concat(F.coalesce("v", F.lit("-")), F.coalesce("o", F.lit("-")))
    return both if deleted is None else F.when(deleted, "x").otherwise(both)


def all_by_arrival(df: DataFrame) -> DataFrame:
    looked = [
        tables.looked_up(by_arrival(df, stream=True), how).select(F.lit(f"stream-table {how}").alias("name"), letters().alias("row"))
        for how in STREAM_TABLE
    ]
    changed = [
        tables.changes(by_arrival(df), how).select(F.lit(f"table-table {how}").alias("name"), letters(F.col("deleted")).alias("row"))
        for how in TABLE_TABLE
    ]
    return reduce(DataFrame.unionAll, [*looked, *changed])


@pytest.mark.parametrize("shape", [BATCH, RECORD_PER_BATCH], ids=str)
def test_by_arrival_rows_are_those_of_the_time_line_of_kafka_streams(shape: Shape) -> None:
    """joins.md, section 4."""
    rows = defaultdict(list)
    for row in shape.run(all_by_arrival, TIME_LINE, LETTERS).rows:
        rows[row.name].append(row.row)
    expected = {f"stream-table {how}": list(line.values()) for how, line in STREAM_TABLE.items()}
    assert rows == expected | {f"table-table {how}": list(line.values()) for how, line in TABLE_TABLE.items()}


def by_time(df: DataFrame, delay: str = "20 seconds") -> Sides:
    own, other = streams(df, delay)
    return together("join", own, other, ["k"], ("ts", "seen"), deleted=(F.col("v").isNull(), F.col("o").isNull()))


def test_by_time_each_change_has_the_time_of_the_record_that_made_it() -> None:
    """joins.md, section 4, with the records in any order."""

    def operator(df: DataFrame) -> DataFrame:
        changed = [hr.port(tables.changes(by_time(df), how), "main").withColumn("how", F.lit(how)) for how in TABLE_TABLE]
        return reduce(DataFrame.unionAll, changed).select("how", "changed", letters(F.col("deleted")).alias("row"))

    lines: dict[str, dict[float | None, str]] = defaultdict(dict)
    for row in BATCH.run(operator, TIME_LINE[::-1], LETTERS).rows:
        lines[row.how][row.changed.second] = row.row
    assert lines == TABLE_TABLE


def test_a_versioned_table_has_the_rows_of_the_time_that_is_asked_for(spark: SparkSession) -> None:
    """joins.md, section 3: p1 11.11 from 00:01, 12.99 from 12:00, deleted at 18:00; p2 23.11 from 00:02, 19.99 from 12:00."""
    hour, minute = 3600, 60
    prices = table(
        spark,
        [("p1", 11.11, at(minute)), ("p2", 23.11, at(2 * minute)), ("p1", 12.99, at(12 * hour)), ("p2", 19.99, at(12 * hour)),
         ("p1", None, at(18 * hour))],
        "product string, price double, since timestamp",
    )  # fmt: skip
    asked = table(spark, [(product, at(t * hour)) for t in (10, 13, 19) for product in ("p1", "p2")], "product string, at timestamp")
    rows = as_of(asked, prices, ["product"], ("at", "since"), deleted=F.col("price").isNull()).select("main.*").collect()
    found = {(row.at.hour, row.product): row.price for row in rows}
    assert found == {(10, "p1"): 11.11, (10, "p2"): 23.11, (13, "p1"): 12.99, (13, "p2"): 19.99, (19, "p1"): None, (19, "p2"): 19.99}


def gone(record: Record) -> bool:
    return record[2] % 4 == 0


def changed(records: list[Record], how: str) -> list[tuple[Any, ...]]:
    """Two dicts, and after each record what the joined table has for its key."""
    own: dict[str, Record] = {}
    other: dict[str, Record] = {}
    rows = []
    has = {"inner": lambda k: k in own and k in other, "left": lambda k: k in own, "full": lambda k: k in own or k in other}[how]
    for record in sorted(records, key=lambda record: (record[3] or at(0), record[0] == "own")):
        side, key = own if record[0] == "own" else other, record[1]
        if key is None:
            continue
        before = has(key)
        if gone(record):
            side.pop(key, None)
        else:
            side[key] = record
        if not (before or has(key)):
            continue
        cells: list[tuple[str, Any]] = [("k", key)]
        if has(key):
            cells += [("v", own[key][2]), ("ts", seconds(own[key]))] if key in own else []
            cells += [("o", other[key][2]), ("seen", seconds(other[key]))] if key in other else []
        rows.append((*cells, ("deleted", not has(key)), ("changed", seconds(record))))
    return sorted(rows, key=repr)


def every_how(df: DataFrame) -> DataFrame:
    own, other = streams(df, "4 seconds")
    deleted = (F.col("v") % 4 == 0, F.col("o") % 4 == 0)
    joined = [as_text(tables.changes(together("join", own, other, ["k"], ("ts", "seen"), deleted=deleted), how), how) for how in tables.HOW]
    return reduce(DataFrame.unionAll, joined)


def test_tables_by_time_have_the_changes_of_two_dicts(spark: SparkSession) -> None:
    input = generated(12, keys=3, batches=5, delay=4)
    taken, late = input.on_time()
    assert {record[0] for record in late if record[3] is not None} == {"own", "other"}
    stream, batch = input.run(every_how), Result.of(every_how(table(spark, input.records, SCHEMA)))
    for how in tables.HOW:
        assert len(changed(taken, how)) > 5
        assert read(stream, how) == {"main": changed(taken, how), **late_rows(late)}, how
        assert read(batch, how)["main"] == changed([record for record in input.records if record[3] is not None], how), how


# joins.md, section 4: left k -> foreign key, right foreign key -> value, and what comes out, inner and left. The last batch has two rows.
FOREIGN: list[tuple[str, str | int, Any, list[str], list[str]]] = [
    ("own", "k", 1, [], ["k1-"]),
    ("other", 1, "foo", ["k1foo"], ["k1foo"]),
    ("own", "k", 2, ["kx"], ["k2-"]),
    ("own", "k", 3, [], ["k3-"]),
    ("other", 3, "bar", ["k3bar"], ["k3bar"]),
    ("own", "k", None, ["kx"], ["k--"]),
    ("own", "k", 1, ["k1foo"], ["k1foo"]),
    ("own", "q", 10, [], ["q10-"]),
    ("own", "r", 10, [], ["r10-"]),
    ("other", 10, "baz", ["q10baz", "r10baz"], ["q10baz", "r10baz"]),
    ("other", 1, None, ["kx"], ["k1-"]),  # and a deleted row on either side
    ("own", "q", -1, ["qx"], ["qx"]),
]
TWO_TABLES = "side string, k string, f int, value string"


def by_foreign_key(how: str, df: DataFrame) -> DataFrame:
    own, other = df.where("side = 'own'").select("k", "f"), df.where("side = 'other'").select("f", "value")
    deleted = (F.col("f") == -1, F.col("value").isNull())
    found = foreign.changes(own, other, keys=["k"], on=["f"], how=how, deleted=deleted)
    text = F.concat("k", F.coalesce(F.col("f").cast("string"), F.lit("-")), F.coalesce("value", F.lit("-")))
    return found.select("k", F.when(F.col("deleted"), F.concat("k", F.lit("x"))).otherwise(text).alias("row"))


def test_a_row_follows_the_row_that_it_names(spark: SparkSession) -> None:
    """joins.md, section 4, foreign key."""
    records = [
        ("own", key, value, None) if side == "own" else ("other", None, key, value) for side, key, value, *_ in FOREIGN
    ]  # fmt: skip
    for how, place in (("inner", 3), ("left", 4)):
        last: dict[str, str] = {}
        with MicroBatches(lambda df, how=how: by_foreign_key(how, df), TWO_TABLES) as stream:  # type: ignore[misc]
            for record, line in zip(records, FOREIGN, strict=True):
                rows = [row.row for row in stream.feed([record]).rows]
                assert sorted(rows) == line[place], (how, line)
                last |= {row[0]: row for row in rows}
        batch = by_foreign_key(how, table(spark, records, TWO_TABLES).coalesce(1)).collect()
        shown = {row.k: row.row for row in batch}
        assert {k: row for k, row in shown.items() if "x" not in row} == {k: row for k, row in last.items() if "x" not in row}, how


def test_a_deleted_key_is_forgotten() -> None:
    with MicroBatches(lambda df: tables.changes(by_arrival(df), "full"), LETTERS) as stream:
        for batch in range(4):
            stream.feed([("own", f"{batch} {n}", value, at(0)) for n in range(5) for value in ("A", None)])
        assert kept_rows(stream) == 0


@pytest.mark.parametrize(
    ("define", "what"),
    [
        (lambda a, b: a.join(b, on="k"), "join: it is not known which column of this stream is the time"),
        (lambda a, b: a.join(b, on="v"), "join: the other table is by k, and not by v"),
        (
            lambda _, b: hr.read.memory("id int, k int").key_by("id").table().join(b, on="k", by="arrival"),
            "join: the key 'k' is of type INT here and of type STRING there",
        ),
        (
            lambda _, b: hr.read.memory("id int, k string").key_by("id").table().join(b, on="k"),
            "join: by a foreign key tables are joined as their records arrive",
        ),
        (lambda a, b: a.join(b.stream, on="k"), "join: a MemoryStream is no table that changes"),
        (lambda a, b: a.join(b, on="k", how="anti", by="arrival"), "join: how='anti' is not known for two tables that change"),
        (lambda a, b: a.join(b, on="k", by="luck"), "join: by: 'luck' is not known"),
        (lambda a, b: a.stream.join(b, on="k", how="semi"), "join: how='semi' is not known for a stream and a table that changes"),
        (lambda a, b: a.stream.join(b, on="k", between=("0 seconds", "1 second")), "join: `between` is not for a table that changes"),
        (lambda a, b: a.stream.join(b.stream, on="k", by="time"), "join: `by` is for a table that changes"),
        (lambda a, _: a.stream.key_by("k").table(deleted="nothing"), "table: deleted: there is no column 'nothing'"),
    ],
)
def test_what_cannot_be_joined_is_refused(define: Any, what: str) -> None:
    one, two = hr.read.memory("k string, v int").key_by("k").table(), hr.read.memory("k string, o int").key_by("k").table()
    with pytest.raises(DefinitionError) as refused:
        define(one, two)
    assert refused.value.what.startswith(what), refused.value.what
    assert str(refused.value.where).startswith(__file__)
