"""What is asked of a key, for the laws: features, the best, what changed, what comes again."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from tests.laws.records import DELAY

from headrace.ops.changes import changes, rate_limit, sample
from headrace.ops.distinct import distinct
from headrace.ops.features import Feature, last_n, previous, recent, running, seen_before, since, with_features, within
from headrace.ops.features.deviations import median_deviation, zscore
from headrace.ops.ranking import Top, top
from headrace.testing.microbatches import Operator


def last_of_spans(df: DataFrame) -> DataFrame:
    return distinct(df, keys=["customer"], keep="last", within="3 seconds", event_time="ts", delay=DELAY, order="amount")


def featured(features: Callable[[], dict[str, Feature]]) -> Operator:
    return lambda df: with_features(df, keys="customer", time="ts", features=features())


def everything() -> dict[str, Feature]:
    """All features at once, in one scan."""
    return {
        "count": running(F.count("*")),
        "total": running(F.sum("amount"), inclusive=True),
        "low": running(F.min("amount")),
        "high": running(F.max("amount")),
        "mean": running(F.avg("amount")),
        "first": running(F.first("amount")),
        "last": running(F.last("amount")),
        "spread": running(F.stddev("amount")),
        "kinds": running(F.approx_count_distinct("amount")),
        "frequent": running(F.expr("approx_top_k(amount, 2, 4)")),
        "middle": running(F.percentile_approx("amount", 0.5, 10)),
        "some": running(F.count("*")).only(F.col("amount") > 0),
        "before": previous("amount"),
        "third": previous("amount", 3),
        "recent": within("3 seconds", F.count("*")),
        "top": within("3 seconds", F.max("amount"), inclusive=True),
        "low_top": within("3 seconds", F.max("amount"), inclusive=True).only(F.col("amount") < 2),
        "few": last_n(3, F.max("amount")),
        "lag": since("ts"),
        "grown": since("amount"),
        "again": seen_before("amount", "4 seconds"),
        "around": within("2 seconds", F.count("*"), ahead="2 seconds"),
        "new": running(F.count("*")).only(~F.col("again")),
        "amounts": recent("3 seconds", "amount").only("size(amounts) < 3"),
        "odd": zscore("amount"),
        "odd_of_three": zscore("amount", last=3),
        "usual": median_deviation("amount", last=3),
    }


def best_of_windows(df: DataFrame) -> DataFrame:
    """The two highest amounts of each five seconds, with those that are as high, when time has passed their end."""
    cut = F.window("ts", "5 seconds").getField("end")
    ranking = Top(n=2, by="amount", rank=True, ties=True, at="end")
    return top(df.withColumn("end", cut), keys=["end"], ranking=ranking, event_time="ts", delay=DELAY)


def limited(df: DataFrame) -> DataFrame:
    return rate_limit(df, keys=["customer"], n=2, per="3 seconds", time="ts")


def sampled_changes(df: DataFrame) -> DataFrame:
    """Of two thirds of the customers, ann and null among them, the records whose amount has another sign."""
    some = sample(df.withColumn("sign", F.signum("amount")), keys=["customer"], fraction=0.67)
    return changes(some, keys=["customer"], columns=["sign"])
