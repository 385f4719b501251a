"""Features that cannot be, refused on the line where they stand."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.ops.events import EVENTS

from headrace.errors import DefinitionError
from headrace.ops.features import last_n, latest, previous, recent, running, seen_before, since, with_features, within
from headrace.testing.tables import table

CIRCLE = "the features go round in a circle: 'one' mentions 'two', 'two' mentions 'one'"

REFUSED: list[tuple[Callable[[Any], object], str]] = [
    (lambda df: with_features(df, keys="k", features={"n": within("1 second", F.count("*"))}), "which column holds the time"),
    (lambda df: with_features(df, keys="k", features={"v": running(F.max("v"))}), "a column 'v' already"),
    (lambda df: with_features(df, keys="k", features={"n": running(F.collect_list("v"))}), "carried along record by record"),
    (lambda df: with_features(df, keys="k", features={"n": running(F.count_distinct("v"))}), "grow without bound"),
    (lambda df: with_features(df, keys="k", features={"n": running(F.max("amount"))}), "there is no column 'amount'"),
    (lambda df: with_features(df, keys="k", features={"n": latest(df.drop("k"), "v")}), "has no column 'k'"),
    (lambda df: with_features(df, keys="k", features={"n": latest(df.drop("ts"), "v")}, event_time="ts"), "has no column 'ts'"),
    (lambda df: with_features(df, keys="k", features={"n": F.max("v")}), "'n' is a Column (Column<'max(v)'>), and no feature"),
    (lambda df: with_features(df, keys="k", features={}, delay=since("ts")), "the option 'delay' is a feature"),
    (lambda df: with_features(df, keys="k", features={}, order=previous("v")), "the option 'order' is a feature"),
    (lambda df: with_features(df, keys="k", features={}, time=F.col("ts")), "the option 'time' is a Column"),
    (lambda df: latest(df, "v").only(F.col("v") > 1), "of which the condition of `only` knows nothing"),
    (lambda df: with_features(df, keys="k", features={"n": running(F.expr("max("))}), "Syntax error"),
    (lambda _: running("v"), "running: 'v' is no aggregate"),
    (lambda _: last_n(3, "v"), "last_n: 'v' is no aggregate"),
    (lambda _: within("1 second", 7), "within: 7 is no aggregate"),
    (lambda _: within(timedelta(seconds=1), F.count("*")), "within: datetime.timedelta(seconds=1) is not a duration"),
    (lambda _: seen_before("v", within=60), "seen_before: 60 is not a duration"),
    (lambda _: previous(7), "previous: 7 is neither a column nor the name of one"),
    (lambda _: previous("v", "2"), "previous: n is '2'"),
    (lambda _: last_n(2.5, F.count("*")), "last_n: n is 2.5"),
    (lambda _: running(F.count("*")).only(7), "only: 7 is no condition"),
    (lambda df: latest(df, F.col("v")), "latest: Column<'v'> is a column, and not the name of one"),
    (lambda df: with_features(df, keys="k", features={"n": latest(["v"], "v")}), "latest: the other stream is a list"),
    (lambda _: within("1 soon", F.count("*")), "'1 soon' is not a duration"),
    (lambda _: within("10 seconds", F.count("*"), keep="5 seconds"), "shorter than the window"),
    (lambda _: previous("v", 0), "n is 0"),
    (lambda _: within("1 second", F.count("*"), ahead=True), "within: ahead: True is not a duration"),
    (
        lambda df: with_features(df, keys="k", features={"n": within("1 day", F.count("*"), ahead="1 day")}, event_time="ts"),
        "ahead has",
    ),
    (lambda _: recent("1 second"), "recent: no column is named"),
    (lambda df: with_features(df, keys="k", features={"one": running(F.max("two")), "two": running(F.max("one"))}), CIRCLE),
    (
        lambda df: with_features(df, keys="k", features={"one": running(F.count("*")).only("TWO > 1"), "two": previous("one")}),
        "'one' mentions 'two', 'two' mentions 'one'",
    ),
    (lambda df: with_features(df, keys="k", features={"n": running(F.max("n"))}), "'n' mentions itself"),
    (lambda df: with_features(df, keys="k", features={"n": running(F.count("*"), inclusive=True).only("n < 2")}), "'n' mentions itself"),
    (lambda df: with_features(df, keys="k", features={"n": running(F.count("*")).only("n")}), "is of type bigint"),
    (lambda df: with_features(df, keys="k", features={"n": running(F.count("*")).only("v > ) 1")}), "Syntax error"),
]


@pytest.mark.parametrize(("define", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
def test_a_feature_that_cannot_be_is_refused_where_it_stands(
    spark: SparkSession, define: Callable[[DataFrame], object], reason: str
) -> None:
    with pytest.raises(DefinitionError) as caught:
        define(table(spark, EVENTS))
    assert reason in caught.value.what
    assert str(caught.value.where).startswith(__file__)
