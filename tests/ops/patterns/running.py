"""Patterns over records that are written as text: `"a1 c b1@9"` are three records at seconds 1, 2 and 9; conditions ask for letters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.ops.patterns.oracle import Meaning, Record

from headrace.ops.patterns.matching import match, ports_of_match
from headrace.ops.patterns.pattern import Pattern

SCHEMA = "k string, v string, n int, at timestamp"
TAKEN = ["array_join(collect_list(match.v), ' ') AS taken"]


def records(text: str) -> list[Record]:
    """A record is at its `@second`, or a second after the one before it, from one on."""
    result: list[Record] = []
    for word in text.split():
        v, _, at = word.partition("@")
        result.append(Record(v, int(at) if at else (result[-1].t + 1 if result else 1)))
    return result


def number(v: str) -> int:
    return int(re.sub(r"\D", "", v) or 0)


def rows(key: str, of: Sequence[Record]) -> list[tuple[str, str, int, int]]:
    return [(key, record.v, number(record.v), record.t) for record in of]


def is_(*letters: str) -> str:
    """The condition that a record has one of these letters."""
    return f"left(v, 1) in ({', '.join(repr(letter) for letter in letters)})"


def letter(*letters: str) -> dict[str, Meaning]:
    return {is_(*letters): lambda record, _: record.v[0] in letters}


@dataclass(frozen=True)
class Example:
    """A pattern, the records of some keys, and the options of `match`."""

    pattern: Pattern
    inputs: Sequence[str | Sequence[Record]]
    options: dict[str, Any] = field(default_factory=dict)

    def over(self, df: DataFrame) -> DataFrame:
        """The rows of all ports, as (key, port, start, end, taken), in the order in which they come."""
        options = {"output": TAKEN, "most": 10_000, "event_time": "at"} | self.options
        found = match(df, self.pattern, keys="k", **options)
        ports = [port for port in ports_of_match(self.pattern, options) if port != "late"]  # type: ignore[arg-type]
        return found.select(
            *(
                F.coalesce(*(F.col(f"{port}.{name}") for port in ports)).alias(name)
                for name in ("k", "start", "end", "taken")
            ),
            F.coalesce(*(F.when(F.col(port).isNotNull(), port) for port in ports)).alias("port"),
        ).where("port IS NOT NULL")  # fmt: skip


Result = dict[str, list[tuple[str, int]]]


def run(spark: SparkSession, examples: Sequence[Example]) -> list[list[Result]]:
    """For each example and each of its inputs: by port, what was taken, and when it was known (in seconds); all in one batch."""
    frames = [
        example.over(_frame(spark, example)).select(F.lit(i).alias("example"), F.monotonically_increasing_id().alias("place"), "*")
        for i, example in enumerate(examples)
    ]
    found = reduce(DataFrame.unionByName, frames).select("example", "place", "k", "port", "taken", F.unix_seconds("end").alias("end"))
    results: list[list[Result]] = [[{} for _ in example.inputs] for example in examples]
    for row in sorted(found.collect(), key=lambda row: row.place):
        results[row.example][int(row.k)].setdefault(row.port, []).append((row.taken, row.end))
    return results


def _frame(spark: SparkSession, example: Example) -> DataFrame:
    of = [records(each) if isinstance(each, str) else each for each in example.inputs]
    data = [row for key, each in enumerate(of) for row in rows(str(key), each)]
    made = spark.createDataFrame(data, "k string, v string, n int, at long").coalesce(1)
    return made.withColumn("at", F.timestamp_seconds("at"))
