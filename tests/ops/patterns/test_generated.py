"""What a plain oracle finds, over patterns and records by chance. More of them: HEADRACE_PATTERNS=500."""

from __future__ import annotations

import os

import pytest
from pyspark.sql import SparkSession
from tests.ops.patterns.generated import MEANINGS, Chance
from tests.ops.patterns.oracle import Oracle, Taken
from tests.ops.patterns.running import Example, Result, run

from headrace.ops.patterns.pattern import Pattern

PATTERNS = int(os.environ.get("HEADRACE_PATTERNS", "40"))
FIRST = int(os.environ.get("HEADRACE_FIRST_PATTERN", "0"))
INPUTS = 25
TOGETHER = 20


def written(pattern: Pattern) -> list[str]:
    return [f"{part.link} {part.name} {part.between} {part.condition} until {part.until} own {part.own}" for part in pattern.steps()]


def expected(chance: Chance) -> list[Result]:
    results: list[Result] = []
    for records in chance.records(INPUTS):
        oracle = Oracle(chance.pattern, records, MEANINGS)

        def words(taken: Taken, records: list = records) -> str:  # type: ignore[type-arg]
            return " ".join(records[number].v for number, _ in taken)

        found: Result = {"main": [(words(taken), end) for taken, end in oracle.kept(chance.skip)]}
        if chance.skip == "none":  # else some are dropped before their time is over
            found["timed_out"] = sorted((words(each.taken), each.at[2]) for each in oracle.timed_out)
        results.append({port: rows for port, rows in found.items() if rows})
    return results


@pytest.mark.parametrize("first", range(FIRST, FIRST + PATTERNS, TOGETHER))
def test_the_matches_are_those_of_the_oracle(first: int, spark: SparkSession) -> None:
    chances = [Chance(seed) for seed in range(first, first + TOGETHER)]
    found = run(spark, [Example(chance.pattern, chance.records(INPUTS), {"skip": chance.skip}) for chance in chances])
    for chance, results in zip(chances, found, strict=True):
        for i, (result, wanted) in enumerate(zip(results, expected(chance), strict=True)):
            got = {"main": result.get("main", [])}
            if chance.skip == "none":
                got["timed_out"] = sorted(result.get("timed_out", []))
            got = {port: rows for port, rows in got.items() if rows}
            assert got == wanted, f"{chance} {chance.pattern!r} {written(chance.pattern)} skip {chance.skip} on {chance.records(INPUTS)[i]}"
