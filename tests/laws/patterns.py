"""Patterns for the laws."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from tests.laws.records import DELAY

from headrace.ops.patterns.matching import match
from headrace.ops.patterns.pattern import step
from headrace.ops.patterns.preferred import Repeated, Rows, Sequel, Variable, recognize


def fallen(df: DataFrame) -> DataFrame:
    """An amount, and the first of the customer within six seconds that is lower than all since; and what was not followed by one."""
    pattern = step("high", "amount > -2").one_or_more().followed_by("low", "amount < min(high.amount)").within("6 seconds")
    told = ["count(high.*) AS n", "sum(match.amount) AS total", "collect_list(high.ts) AS at"]
    return match(df, pattern, keys="customer", event_time="ts", delay=DELAY, order="amount", output=told)


def preferred(df: DataFrame) -> DataFrame:
    """An amount and those that follow it and are not lower than the lowest so far: as many as there are within six seconds."""
    rows = Rows(
        pattern=Sequel((Variable("A"), Repeated(Variable("B"), 1, None))), define={"B": F.expr("amount >= min(A.amount)")},
        measures=[F.expr("count(B.*) AS n"), F.expr("sum(match.amount) AS total")], within="6 seconds",
    )  # fmt: skip
    return recognize(df, rows, keys=["customer"], event_time="ts", delay=DELAY, order=["amount"])


def unsurpassed(df: DataFrame) -> DataFrame:
    """Amounts that none follows within four seconds that is higher; of those that began within one, the first."""
    pattern = step("amounts").not_followed_by("higher", "amount > amounts.amount").within("4 seconds")
    return match(df, pattern, keys="customer", event_time="ts", delay=DELAY, skip="to next")


def arrived(df: DataFrame) -> DataFrame:
    """As long as they come one after the other within five seconds, and rise, as records arrive."""
    pattern = step("first").next("more", "amount >= match.amount").one_or_more().consecutive().within("5 seconds", after="previous")
    return match(df, pattern, keys="customer", time="ts", skip="to last more", most=50)
