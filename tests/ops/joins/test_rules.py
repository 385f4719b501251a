"""A small table that every record sees: as of its own time, as it arrives, and when the rules change."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.ops.joins.two_streams import SCHEMA, Record, as_text, at, generated, late_rows, read, seconds, streams

import headrace as hr
from headrace.errors import DefinitionError
from headrace.ops.joins.rules import with_rules
from headrace.testing.microbatches import MicroBatches
from headrace.testing.results import Result
from headrace.testing.states import kept_rows
from headrace.testing.tables import table

pytestmark = pytest.mark.usefixtures("spark")


def seen(df: DataFrame) -> DataFrame:
    """Each record with the numbers of the rules that it sees; of four copies, so that keys lie in several places."""
    own, rules = streams(df, "4 seconds")
    found = with_rules(
        own, rules, keys=["k"], by=["k"], into="rules", times=("ts", "seen"), deleted=F.col("o") % 4 == 0, copies=4
    )  # fmt: skip
    numbers = F.transform("main.rules", lambda rule: rule["o"]).alias("rules")
    main = F.when(F.col("main").isNotNull(), F.struct("main.k", "main.v", "main.ts", numbers)).alias("main")
    return as_text(found.select(main, "late", "late_other"), "rules")


def expected(records: list[Record]) -> list[tuple[Any, ...]]:
    """A dict of rules, and what is in it at each record, in the order of time; of the same time rules come first."""
    rules: dict[str, int] = {}
    rows = []
    for side, key, number, time in sorted(records, key=lambda record: (record[3] or at(0), record[0] == "own")):
        if side == "own":
            cells = [
                ("k", key),
                ("v", number),
                ("ts", seconds((side, key, number, time))),
                ("rules", [rules[name] for name in sorted(rules)]),
            ]
            rows.append(tuple(cell for cell in cells if cell[1] is not None))
        elif key is not None:
            rules.pop(key, None)
            rules |= {} if number % 4 == 0 else {key: number}
    return sorted(rows, key=repr)


def test_a_record_sees_the_rules_of_its_own_time(spark: SparkSession) -> None:
    """joins.md, section 5: versions by event time; a record at t sees those with time <= t, once the watermark of both has passed t."""
    input = generated(4, keys=4, batches=5, delay=4)
    taken, late = input.on_time()
    assert {record[0] for record in late if record[3] is not None} == {"own", "other"}
    assert read(input.run(seen), "rules") == {"main": expected(taken), **late_rows(late)}
    batch = Result.of(seen(table(spark, input.records, SCHEMA)))
    assert read(batch, "rules")["main"] == expected([record for record in input.records if record[3] is not None])


def test_by_arrival_every_key_sees_a_rule_from_when_it_comes_until_it_is_deleted() -> None:
    def operator(df: DataFrame) -> DataFrame:
        own, rules = df.where("side = 'own'").drop("side"), df.where("side = 'other'").select("k", F.col("v").alias("most"))
        found = with_rules(own, rules, keys=["k"], by=["k"], into="limits", deleted=F.col("most").isNull())
        return found.select("k", F.concat_ws(" ", F.transform("limits", lambda rule: F.concat(rule["k"], rule["most"]))).alias("limits"))

    everybody: list[Any] = [("own", f"key {n}", 0, at(0)) for n in range(20)]
    with MicroBatches(operator, SCHEMA) as stream:

        def seen(*rules: tuple[str | None, int | None]) -> set[str]:
            rows = stream.feed([*(("other", name, most, at(0)) for name, most in rules), *everybody]).rows
            assert len({row.k for row in rows}) == len(rows) == 20
            return {row.limits for row in rows}

        assert seen() == {""}
        assert seen(("eur", 100), (None, 5)) == {"eur100"}
        assert seen(("eur", 200), ("usd", 50)) == {"eur200 usd50"}
        stream.restart()
        assert seen(("eur", None)) == {"usd50"}
        assert kept_rows(stream) == 16  # the table, once a copy


ITEMS = [
    ("red", "circle", 1),
    ("red", "circle", 2),
    ("blue", "square", 3),
    ("red", "square", 4),
    ("red", "square", 5),
    ("blue", "circle", 6),
]
PAIRS = [("corners", "circle", "square", 0), ("back", "square", "circle", 4)]  # the second rule holds from the fourth second on


@pytest.mark.parametrize("mode", ["batch", "micro-batch"])
def test_rules_say_which_records_make_a_pair(mode: Any) -> None:
    """joins.md, section 5: what matches the first of a rule waits, and what matches its second makes a pair with each."""
    items = hr.read.memory("colour string, shape string, at timestamp", [(colour, shape, at(second)) for colour, shape, second in ITEMS])
    pairs = hr.read.memory("name string, one string, two string, since timestamp", [(*rule, at(since)) for *rule, since in PAIRS])
    table = pairs.event_time("since", "1 minute").key_by("name").table()
    seen = items.event_time("at", "1 minute").key_by("colour").with_rules(table)
    each = seen.select("colour", "shape", "at", F.explode("rules").alias("rule")).select(
        "colour", "shape", "at", "rule.name", "rule.one", "rule.two"
    )
    pattern = hr.step("first", "shape = one").followed_by("second", "shape = two").within("1 hour")
    found = each.key_by("colour", "name").match(pattern, event_time="at", output=["first.at AS began", "second.at AS ended"]).to.memory()
    hr.Job("pairs", found, trigger=hr.finish).run(mode)
    rows = sorted((row.colour, row.name, row.began.second, row.ended.second) for row in found.sink.rows)  # type: ignore[attr-defined]
    assert rows == [("red", "corners", 1, 4), ("red", "corners", 2, 4)]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({}, "with_rules: it is not known which column of this stream is the time"),
        ({"by": "arrival", "into": "v"}, "with_rules: the records have a column 'v' already"),
        ({"by": "arrival", "copies": 0}, "with_rules: copies is 0"),
    ],
)
def test_what_cannot_be_seen_is_refused(options: dict[str, Any], what: str) -> None:
    records, rules = hr.read.memory("k string, v int").key_by("k"), hr.read.memory("name string, most int").key_by("name").table()
    with pytest.raises(DefinitionError) as refused:
        records.with_rules(rules, **options)
    assert refused.value.what == what
    assert str(refused.value.where).startswith(__file__)
