"""Interval joins against a plain-Python oracle, on disordered and late records, and in every mode."""

from __future__ import annotations

from datetime import timedelta
from functools import reduce
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.ops.joins.two_streams import SCHEMA, Record, as_text, at, generated, late_rows, one_stream, pair, read, streams

from headrace.errors import DefinitionError
from headrace.ops.joins.intervals import Between, join, matched
from headrace.testing.microbatches import MicroBatches
from headrace.testing.results import Result
from headrace.testing.states import kept_rows
from headrace.testing.tables import table

pytestmark = pytest.mark.usefixtures("spark")

DELAY = 4
JOINS = [("full", -2_000_000, 1_000_000), ("full", 500_000, 3_000_000), ("semi", -2_000_000, 1_000_000), ("anti", 0, 0)]


def expected(records: list[Record], how: str, lower: int, upper: int) -> list[tuple[Any, ...]]:
    """What the definition says: of all pairs of records of the same key, those within the bound; and who has none."""
    own, others = ([record for record in records if record[0] == side] for side in ("own", "other"))

    def near(one: Record, two: Record) -> bool:
        assert one[3] is not None
        assert two[3] is not None
        apart = (two[3] - one[3]) // timedelta(microseconds=1)
        return one[1] is not None and one[1] == two[1] and lower <= apart <= upper

    pairs = [(one, two) for one in own for two in others if near(one, two)]
    alone = [one for one in own if not any(near(one, two) for two in others)]
    others_alone = [two for two in others if not any(near(one, two) for one in own)]
    match how:
        case "semi":
            rows = [pair(one, None) for one in own if one not in alone]
        case "anti":
            rows = [pair(one, None) for one in alone]
        case _:
            rows = [pair(*both) for both in pairs]
            rows += [pair(one, None) for one in alone if how in ("left", "full")]
            rows += [pair(None, two) for two in others_alone if how in ("right", "full")]
    return sorted(rows, key=repr)


def all_joins(df: DataFrame) -> DataFrame:
    """Every join as one table."""
    own, other = streams(df, f"{DELAY} seconds")
    joined = [as_text(join(own, other, ["k"], how, Between("ts", "seen", *bound)), f"{how} {bound}") for how, *bound in JOINS]
    return reduce(DataFrame.unionAll, joined)


def test_every_join_gives_what_its_definition_says_of_the_records_that_are_not_late(spark: SparkSession) -> None:
    input = generated(1, keys=4, batches=5, delay=DELAY)
    taken, late = input.on_time()
    assert {record[0] for record in late if record[3] is not None} == {"own", "other"}
    stream, batch = input.run(all_joins), Result.of(all_joins(table(spark, input.records, SCHEMA)))
    for how, *bound in JOINS:
        name = f"{how} {bound}"
        assert read(stream, name) == {
            "main": expected(taken, how, *bound),
            **late_rows(late),
        }, name
        assert read(batch, name)["main"] == expected([record for record in input.records if record[3] is not None], how, *bound), name


def test_an_end_that_is_not_included_is_a_microsecond_away(spark: SparkSession) -> None:
    """joins.md, section 1: from 1 to 3, 3 left out, both at 1 2 3 4."""
    own = table(spark, [("a", n, at(n)) for n in (1, 2, 3, 4)], "k string, v int, ts timestamp")
    joined = join(own, own.toDF("k", "o", "seen"), ["k"], "inner", Between("ts", "seen", 1_000_000, 2_999_999)).select("main.v", "main.o")
    assert sorted(tuple(row) for row in joined.collect()) == [(1, 2), (1, 3), (2, 3), (2, 4), (3, 4)]


# joins.md, section 4: the time-line of Kafka Streams, a window of 15 s to either side. Null values are no records.
KAFKA = {"A": 3, "a": 4, "B": 5, "b": 6, "C": 9, "c": 10, "d": 14, "D": 15, "E": 40, "F": 60, "f": 80, "G": 100}
KAFKA_PAIRS = ["Aa", "Ba", "Ab", "Bb", "Ca", "Cb", "Ac", "Bc", "Cc", "Ad", "Bd", "Cd", "Da", "Db", "Dc", "Dd"]


@pytest.mark.parametrize(("how", "alone"), [("inner", []), ("left", ["E-", "F-", "G-"]), ("full", ["E-", "F-", "-f", "G-"])])
def test_pairs_are_those_of_the_time_line_of_kafka_streams(spark: SparkSession, how: str, alone: list[str]) -> None:
    """G waits there for a record behind it; here the end of the input is one."""
    records = table(spark, [("k", letter, at(second)) for letter, second in KAFKA.items()], "k string, v string, ts timestamp")
    own, other = records.where("v = upper(v)"), records.where("v = lower(v)").toDF("k", "o", "seen")
    joined = join(own, other, ["k"], how, Between("ts", "seen", -15_000_000, 15_000_000)).select("main.*")
    assert sorted(f"{row.v or '-'}{row.o or '-'}" for row in joined.collect()) == sorted(KAFKA_PAIRS + alone)


def test_a_key_is_forgotten_when_no_partner_can_come_any_more() -> None:
    def operator(df: DataFrame) -> DataFrame:
        return matched(one_stream(df, "1 second"), "left", -1_000_000, 1_000_000)

    with MicroBatches(operator, SCHEMA) as stream:
        sizes = []
        for batch in range(6):
            stream.feed([("own", f"key {batch} {n}", n, at(10 * batch)) for n in range(20)])
            sizes.append(kept_rows(stream))
        assert max(sizes) <= 2 * 20 * 3  # of this batch and the one before: a row, its key's state and clock
        assert sizes[-1] <= sizes[1]


def test_what_follows_goes_by_the_time_of_the_first_stream_and_waits_for_its_bound() -> None:
    """Spark's own windows, too: a record that was alone comes three seconds after its time, and is not late."""

    def operator(df: DataFrame) -> DataFrame:
        rows = matched(one_stream(df, "0 seconds"), "left", 0, 3_000_000).where("main IS NOT NULL").select("main.*")
        return rows.groupBy("k", "ts").count()  # a window of one instant

    with MicroBatches(operator, SCHEMA, output_mode="append") as stream:
        first = stream.feed([("own", "a", 1, at(1)), ("own", "b", 1, at(3)), ("other", "b", 2, at(4))])
        second = stream.feed([("own", "z", 9, at(10))]) + stream.tick()
        third = stream.feed([("own", "z", 9, at(20))]) + stream.tick()
    assert first.rows == ()
    assert sorted((row.k, row["count"]) for row in (*second.rows, *third.rows)) == [("a", 1), ("b", 1), ("z", 1)]


@pytest.mark.parametrize(
    ("own", "other", "what"),
    [
        ("k int, t timestamp", "k string, u timestamp", "the key 'k' is of type INT here and of type STRING there"),
        ("k int, t timestamp", "k int, u timestamp_ntz", "the time is of type TIMESTAMP here and of type TIMESTAMP_NTZ there"),
        ("k int, t string", "k int, u timestamp", "the time 't' is of type STRING here, but a timestamp is needed"),
        ("k int, t timestamp", "k int, t timestamp, u timestamp", "both have a column 't'"),
    ],
)
def test_what_cannot_be_joined_is_refused(spark: SparkSession, own: str, other: str, what: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        join(table(spark, [], own), table(spark, [], other), ["k"], "inner", Between("t", "u", 0, 0))
    assert what in refused.value.what
    assert str(refused.value.where).startswith(__file__)


def test_keys_of_two_widths_are_the_same_number(spark: SparkSession) -> None:
    own, other = table(spark, [(1, at(0))], "k int, t timestamp"), table(spark, [(1, at(0)), (2**40, at(0))], "k bigint, u timestamp")
    kinds = {}
    for how in ("inner", "right", "full"):
        joined = join(own, other, ["k"], how, Between("t", "u", 0, 0)).select("main.*")
        kinds[how] = joined.schema["k"].dataType.simpleString()
        assert len(joined.collect()) == (1 if how == "inner" else 2)
    assert kinds == {"inner": "int", "right": "bigint", "full": "bigint"}
