"""Totals per minute, by merchant and over all, from the decisions; and the decisions that came too late to be counted.

A minute is one of event time. The watermark trails the newest decision by ten seconds: what comes behind it is late, and goes to the late
stream whole. All else is counted at once. A minute is closed when the watermark has passed its end; its last row says so, and equals what a
batch makes of the same decisions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

import headrace as hr
from headrace_fraud.deciding.rules import as_json

DELAY = "10 seconds"

SCHEMA = """tx_id STRING NOT NULL, customer STRING NOT NULL, ts TIMESTAMP NOT NULL, amount DOUBLE NOT NULL, merchant STRING NOT NULL,
    card STRING, rules ARRAY<STRING> NOT NULL, flagged BOOLEAN NOT NULL, gap_s DOUBLE, previous_max DOUBLE, distance_km DOUBLE"""

ROW = """minute TIMESTAMP NOT NULL, merchant STRING, transactions BIGINT NOT NULL, amount DOUBLE NOT NULL, flagged BIGINT NOT NULL,
    velocity BIGINT NOT NULL, amount_rule BIGINT NOT NULL, location BIGINT NOT NULL, customers BIGINT, closed BOOLEAN NOT NULL"""

_RULES = {"velocity": "velocity", "amount_rule": "amount", "location": "location"}


def decisions(*topics: str, servers: str | None = None) -> hr.Stream:
    """Decisions as they were written, each with its `id`, and each once: the decision job writes some again after a crash.

    A customer's decisions are in the order of the log that they were made from, so one that is not newer than the last is a repetition.
    State: a number for each customer.
    """
    id = F.get(F.filter("headers", lambda header: header["key"] == "id"), F.lit(0))["value"].cast("string")
    source = F.split("id", "/")
    decisions = hr.read.kafka(*topics, schema=SCHEMA, keep=["headers"], headers=True, servers=servers).with_columns(id=id).drop("headers")
    placed = decisions.with_columns(log=F.slice(source, 1, 2), number=F.get(source, F.lit(2)).cast("bigint"))
    known = placed.key_by("customer", "log").with_features(newest=hr.running(F.max("number")))
    return known.where("newest IS NULL OR number > newest").drop("log", "number", "newest")


def totals(decisions: hr.Stream) -> tuple[hr.Stream, hr.Stream]:
    """A row of totals so far for each decision, twice: of its merchant, and (merchant null) of all; and the decisions that came too late.

    State: the totals of each open minute, and the minutes of each customer's last hour.
    """
    minute = F.date_trunc("minute", "ts")
    by_time: dict[str, Any] = {"event_time": "ts", "delay": DELAY, "wait": False}
    known = decisions.key_by("customer").with_features(counted=hr.seen_before(minute, "1 hour"), **by_time)
    both = known.select("*", minute.alias("minute"), F.explode(F.array("merchant", F.lit(None))).alias("of"))
    more = {
        "transactions": F.lit(1),
        "amount": F.col("amount"),
        "flagged": _one(F.col("flagged")),
        **{name: _one(F.array_contains("rules", rule)) for name, rule in _RULES.items()},
        "customers": _one(~F.col("counted")),
    }
    last = {name: F.col(f"state.{name}") for name in more}
    new = {name: last[name] + more[name] for name in more}
    sums = both.key_by("minute", "of").scan(
        state={"end": "timestamp", **dict.fromkeys(new, F.lit(0).cast("bigint")), "amount": F.lit(0.0)},
        update={"end": F.col("minute") + F.expr("INTERVAL 1 MINUTE"), **new},
        output=_row(new, closed=False),
        timer=hr.Timer(at=F.col("state.end"), output=_row(last, closed=True), forget=F.lit(True)),
        **by_time,
    )
    return sums, known.late


def _one(condition: Column) -> Column:
    return F.when(condition, 1).otherwise(0)


def _row(counts: Mapping[str, Column], *, closed: bool) -> list[Column]:
    # A sum of amounts is rounded, because doubles that are added in another order may differ in the last digit.
    shown = {**counts, "amount": F.round(counts["amount"], 6), "customers": F.when(F.col("of").isNull(), counts["customers"])}
    return [F.col("minute"), F.col("of").alias("merchant"), *(shown[name].alias(name) for name in shown), F.lit(closed).alias("closed")]


def newest(rows: DataFrame) -> DataFrame:
    """Of some rows of totals, the newest of each minute and merchant, as JSON in `value`."""
    counted = [name for name in rows.columns if name not in ("minute", "merchant")]
    row = F.struct("transactions", "closed", *(name for name in counted if name not in ("transactions", "closed")))
    last = rows.groupBy("minute", "merchant").agg(F.max(row).alias("row"))
    value = as_json("minute", "merchant", *(F.col("row")[name].alias(name) for name in counted))
    return last.select(F.col("merchant").alias("key"), value.alias("value"))
