"""Ranking, changes, limits and deviations are what plain Python says they are, as a batch and in micro-batches."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from tests.ops import ranking_oracle as oracle
from tests.ops.ranking_oracle import Record, Rule

import headrace as hr
from headrace.errors import DefinitionError
from headrace.ops.changes import changes, rate_limit, sample
from headrace.ops.features import Feature, with_features
from headrace.ops.features.deviations import median_deviation, zscore
from headrace.ops.ranking import Top, top
from headrace.testing.clocks import START
from headrace.testing.microbatches import Operator
from headrace.testing.shapes import BATCH, FINISH, in_parts

pytestmark = pytest.mark.usefixtures("spark")

SCHEMA = "i int, k string, v double, thing string, ts timestamp"


def made(seed: int, number: int = 90) -> list[Record]:
    """Few keys, values and things, with nulls; times that mostly go on, with steps back and ties."""
    chance, now, records = random.Random(seed), START.replace(tzinfo=None), []
    for i in range(number):
        now += timedelta(seconds=chance.choice([0, 0.5, 1, 1, 2, -1, -3]))
        value = chance.choice([None, *(n / 2 for n in range(-2, 8))])
        key, thing, at = chance.choice(["a", "b", None]), chance.choice(["x", "y", "z", None]), chance.choice([now, now, None])
        records.append(Record(i, key, value, thing, at))
    return records


def rising(records: list[Record]) -> list[Record]:
    """The same, where the value of a thing only grows: only then is what fell out never needed again."""
    return [r if r.v is None else r._replace(v=r.v + r.i // 4) for r in records]


def by_key(rows: Iterable[Row | tuple[Any, ...]], place: int) -> dict[Any, list[tuple[Any, ...]]]:
    """The rows of each key, in their order; keys have no order between them."""
    found: dict[Any, list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        found[row[place]].append(tuple(row))
    return found


def ranked(**ranking: Any) -> Operator:
    return lambda df: top(df, keys=["k"], ranking=Top(by="v", **ranking))


RANKINGS = {
    "changes": (ranked(n=3), oracle.changes_of_top(3), 2),
    "changes, with ties, the least first": (
        ranked(n=3, ties=True, ascending=True), oracle.changes_of_top(3, ties=True, ascending=True), 2,
    ),
    "changes of things": (ranked(n=2, of="thing"), oracle.changes_of_top(2, things=True), 2),
    "ranks": (ranked(n=4, rank=True), oracle.ranks_of_top(4), 1),
    "ranks of things": (ranked(n=3, rank=True, of=["thing"]), oracle.ranks_of_top(3, things=True), 1),
}  # fmt: skip


@pytest.mark.parametrize("name", RANKINGS)
def test_a_running_top_gives_what_changes_with_each_record(name: str) -> None:
    operator, rule, place = RANKINGS[name]
    records = rising(made(7)) if "things" in name else made(7)
    expected = {k: rule([r for r in records if r.k == k]) for k in {r.k for r in records}}
    assert sum(map(len, expected.values())) > 20
    assert by_key(in_parts(3).run(operator, records, SCHEMA).rows, place) == expected  # other shapes agree: that is a law


def windowed(df: DataFrame, **ranked: Any) -> DataFrame:
    end = F.when(F.col("ts").isNotNull(), F.window("ts", "10 seconds").getField("end"))
    ranking = Top(by="v", at="end", rank=True, **ranked)
    found = top(df.withColumn("end", end), keys=["k", "end"], ranking=ranking, event_time="ts", delay="30 seconds")
    return hr.port(found, "main")


@pytest.mark.parametrize("ties", [False, True])
def test_a_top_with_an_end_comes_once_when_time_has_passed_it(ties: bool) -> None:
    records = [r for r in made(11) if r.ts is not None]

    def end(record: Record) -> datetime:
        assert record.ts is not None
        return datetime.fromtimestamp((record.ts.timestamp() // 10 + 1) * 10)

    groups = defaultdict(list)
    for record in records:
        groups[record.k, end(record)].append(record)
    expected = {key: [(*row[:5], key[1], row[5]) for row in oracle.final_top(2, ties=ties)(group)] for key, group in groups.items()}
    for shape in (BATCH, FINISH):
        rows = shape.run(lambda df: windowed(df, n=2, ties=ties), records, SCHEMA).rows
        found = defaultdict(list)
        for row in rows:
            found[row.k, row.end].append(tuple(row))
        assert found == {key: rows for key, rows in expected.items() if rows}, shape


def feature(define: Callable[[], Feature], *value: str) -> Operator:
    """The number of a record, and what its feature `f` is."""
    return lambda df: with_features(df, keys="k", features={"f": define()}).select("k", "i", *(F.round(part, 9) for part in value or ["f"]))


def marked(df: DataFrame) -> DataFrame:
    found = rate_limit(df, keys=["k"], n=2, per="4 seconds", time="ts")
    columns = [F.coalesce(f"main.{name}", f"over.{name}").alias(name) for name in df.columns]
    return found.select(F.col("main").isNotNull().alias("passes"), *columns)


SEQUENCES: dict[str, tuple[Operator, Rule, int]] = {
    "changes": (lambda df: changes(df, keys=["k"], columns=["v"]), oracle.changed(lambda r: r.v), 1),
    "changes of any column": (lambda df: changes(df, keys=["k"], columns=["v", "thing"]), oracle.changed(lambda r: (r.v, r.thing)), 1),
    "rate_limit": (marked, oracle.passed(2, timedelta(seconds=4)), 2),
    "zscore": (feature(lambda: zscore("v")), oracle.zscore(None), 0),
    "zscore of the last": (feature(lambda: zscore("v", last=4)), oracle.zscore(4), 0),
    "median_deviation": (feature(lambda: median_deviation("v", last=5), "f.median", "f.deviation"), oracle.median_deviation(5), 0),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_a_record_is_held_against_those_of_its_key_before(name: str) -> None:
    operator, rule, place = SEQUENCES[name]
    records = made(5)
    expected = {k: rule([r for r in records if r.k == k]) for k in {r.k for r in records}}
    found = by_key(in_parts(3).run(operator, records, SCHEMA).rows, place)
    assert {k: [row if place else row[1:] for row in rows] for k, rows in found.items()} == expected


def test_a_sample_has_all_records_of_some_keys_and_a_smaller_one_is_part_of_it() -> None:
    spark = hr.session()
    df = spark.range(20_000).select((F.col("id") % 2_000).cast("double").alias("k"))
    tenth, fifth, others = (
        {row.k: row["count"] for row in sample(df, keys=["k"], fraction=part, seed=seed).groupBy("k").count().collect()}
        for part, seed in ((0.1, 0), (0.2, 0), (0.1, 1))
    )
    assert set(tenth.values()) == {10}
    assert 150 < len(tenth) < 250
    assert tenth.keys() < fifth.keys()
    assert tenth.keys() & others.keys() != tenth.keys()
    zeros = spark.createDataFrame([(0.0,), (-0.0,)], "k double")
    assert {sample(zeros, keys=["k"], fraction=0.5, seed=seed).count() for seed in range(8)} == {0, 2}


STREAM = "auction int, price int, rank int, at timestamp"


@pytest.mark.parametrize(
    ("define", "what"),
    [
        (lambda s: s.top(0, by="price"), "top: n is 0"),
        (lambda s: s.top(3, by="price", rank=True, ties=True), "top: with ties a rank has several rows"),
        (lambda s: s.top(3, by="price", rank=True), "top: the records have a column 'rank' already"),
        (lambda s: s.top(3, by="price", at="at"), "top: it is not known which column is the time"),
        (lambda s: s.top(3, by="price", per="1 hour"), "top: the option: 'per' is not known"),
        (lambda s: s.sample(10), "sample: 10 is no part of a whole"),
        (lambda s: s.rate_limit(3, "1 hour"), "rate_limit: it is not known which column is the time"),
        (lambda s: s.rate_limit(3, "1 hour", time="price"), "rate_limit: the time 'price' is of type int, but a timestamp is needed"),
        (lambda s: s.with_features(z=hr.zscore("price", last=1)), "zscore: last is 1"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_at_its_line(define: Any, what: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        define(hr.read.memory(STREAM).key_by("auction"))
    assert refused.value.what == what
    assert refused.value.fix
    assert __file__ in str(refused.value.where)
