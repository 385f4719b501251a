"""Features over generated records are what plain Python says they are, as a batch and in micro-batches."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from tests.ops import features_oracle as oracle
from tests.ops.features_oracle import Record

from headrace.ops.features import last_n, previous, recent, running, seen_before, since, with_features, within
from headrace.testing.clocks import START
from headrace.testing.shapes import BATCH, in_parts

pytestmark = pytest.mark.usefixtures("spark")

SCHEMA = "i int, k string, v double, ts timestamp, id string"

EXPECTED = {
    "n": oracle.running(oracle.count),
    "total": oracle.running(oracle.total, inclusive=True),
    "top": oracle.running(oracle.most, oracle.positive),
    "recent": oracle.within(3, oracle.count),
    "recent_total": oracle.within(3, oracle.total, oracle.positive, keep=6, inclusive=True),
    "around": oracle.within(3, oracle.count, ahead=2),
    "around_total": oracle.within(2, oracle.total, oracle.positive, ahead=3, keep=9, inclusive=True),
    "fresh": oracle.when_new(4, oracle.total),
    "fresh_times_two": oracle.when_new(4, lambda records: 2 * oracle.count(records)),
    "ids": oracle.recent(4),
    "few": oracle.last_n(2, oracle.total),
    "few_positive": oracle.last_n(2, oracle.total, oracle.positive, inclusive=True),
    "before": oracle.previous(2),
    "lag": oracle.since(lambda record: record.ts),
    "grown": oracle.since(lambda record: record.v),
    "again": oracle.seen_before(4),
}


def featured(df: DataFrame) -> DataFrame:
    positive = F.col("v") > 0
    features = {
        "n": running(F.count("*")),
        "total": running(F.sum("v"), inclusive=True),
        "top": running(F.max("v")).only(positive),
        "recent": within("3 seconds", F.count("*")),
        "recent_total": within("3 seconds", F.sum("v"), keep="6 seconds", inclusive=True).only(positive),
        "around": within("3 seconds", F.count("*"), ahead="2 seconds"),
        "around_total": within("2 seconds", F.sum("v"), ahead="3 seconds", keep="9 seconds", inclusive=True).only(positive),
        "fresh": running(F.sum("v")).only(~F.col("again")),
        "fresh_times_two": running(F.sum(F.when(F.col("again"), 0).otherwise(2))),
        "ids": recent("4 seconds", "id").only(~F.coalesce(F.exists("ids", lambda old: old["id"] == F.col("id")), F.lit(False))),
        "few": last_n(2, F.sum("v")),
        "few_positive": last_n(2, F.sum("v"), inclusive=True).only(positive),
        "before": previous("v", 2),
        "lag": since("ts"),
        "grown": since("v"),
        "again": seen_before("id", "4 seconds"),
    }
    known = with_features(df, keys="k", time="ts", features=features).select("i", *features)
    return known.withColumn("ids", F.col("ids.id")).withColumn("fresh_times_two", F.coalesce("fresh_times_two", F.lit(0)))


@st.composite
def records(draw: st.DrawFn) -> list[Record]:
    """Few keys and ids; times that mostly go on, with steps back, ties and gaps."""
    made, now = [], START.replace(tzinfo=None)
    for i in range(draw(st.integers(50, 70))):
        now += timedelta(seconds=draw(st.sampled_from([0, 0, 0.5, 1, 1, 2, 5, -1, -3, -7])))
        value = draw(st.none() | st.integers(-8, 8).map(lambda n: n / 4))  # quarters: a sum does not depend on the order of its terms
        ts = draw(st.sampled_from([now, now, now, now, None]))
        made.append(Record(i, draw(st.sampled_from(["a", "b", None])), value, ts, draw(st.sampled_from(["x", "y", None]))))
    return made


@settings(
    max_examples=2,
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),  # to shrink an example would take a Spark run for each step
    suppress_health_check=list(HealthCheck),
)
@given(given_records=records())
def test_features_are_what_their_rules_say(given_records: list[Record]) -> None:
    assume(len({record.k for record in given_records}) > 1)  # not the simplest, which hypothesis tries first: one record, again and again
    expected = oracle.answers(given_records, EXPECTED)
    for shape in (BATCH, in_parts(3)):
        rows = shape.run(featured, given_records, SCHEMA).rows
        values = {row.i: {name: value for name, value in row.asDict().items() if name != "i"} for row in rows}
        assert values == expected, shape
