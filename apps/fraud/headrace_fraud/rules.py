"""The decision on a transaction: three rules, duplicates and evidence, as one scan over all records of a customer.

Records are taken in the order of their arrival. What is remembered of a customer is one row:

    remembered  the transactions of the last ten minutes: id and time   (velocity, duplicates)
    newest      the greatest time of a transaction                       (what to remember)
    most        the greatest amount                                      (amount)
    phone       the newest place of the phone                            (location)

It grows with the transactions of one customer within ten minutes, and with nothing else. Refused records take the same way, as those of no
customer, and change nothing: so one query reads the log once and writes every outcome.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

import headrace as hr
from headrace_fraud.settings import Rules

EARTH_KM = 6371.0088

DECISION = (
    "tx_id", "customer", "ts", "amount", "merchant", "card", "rules", "flagged", "gap_s", "previous_max", "distance_km",
)  # fmt: skip

_STATE = {
    "remembered": "array<struct<tx_id: string, at: bigint>>",
    "newest": "bigint",
    "most": "double",
    "phone": "struct<at: bigint, lat: double, lon: double>",
}
_NULLS = {"ignoreNullFields": "false"}
_SECOND = 1_000_000  # times are microseconds


def decide(records: DataFrame, rules: Rules) -> DataFrame:
    """A row for each transaction (the decision, or `duplicate`) and each refused record (`reason`, `raw`), with its place in the log."""
    at = F.unix_micros("ts")
    remembered = F.coalesce("state.remembered", F.expr(f"CAST(array() AS {_STATE['remembered']})"))

    duplicate = F.exists(remembered, lambda old: old["tx_id"] == F.col("tx_id"))
    transaction = F.col("type") == "transaction"
    counts = transaction & ~duplicate

    # velocity: some remembered transaction is at most so far away, earlier or later.
    gap = F.array_min(F.transform(remembered, lambda old: F.abs(old["at"] - at)))
    velocity = gap <= round(rules.velocity_seconds * _SECOND)

    # amount: strictly more than ever before; the first has nothing before it.
    most = F.col("state.most")
    amount = F.col("amount") > most

    # location: too far from the phone, if it is known where the phone is.
    known = at - F.col("state.phone.at") <= round(rules.location_hours * 3600 * _SECOND)
    distance = F.when(known, haversine_km(F.col("state.phone.lat"), F.col("state.phone.lon"), F.col("lat"), F.col("lon")))
    location = distance > rules.distance_km

    newest = F.greatest("state.newest", at)
    horizon = newest - round(rules.memory_minutes * 60 * _SECOND)
    with_this = F.concat(remembered, F.array(F.struct("tx_id", at.alias("at"))))
    newer_place = (F.col("type") == "location") & (F.col("state.phone").isNull() | (at >= F.col("state.phone.at")))

    broken = F.array_compact(
        F.array(F.when(velocity, F.lit("velocity")), F.when(amount, F.lit("amount")), F.when(location, F.lit("location")))
    )
    return hr.scan(
        records,
        keys="customer",
        state=_STATE,
        update={
            "remembered": F.when(counts, F.filter(with_this, lambda old: old["at"] >= horizon)).otherwise(F.col("state.remembered")),
            "newest": F.when(counts, newest).otherwise(F.col("state.newest")),
            "most": F.when(counts, F.greatest(most, "amount")).otherwise(most),
            "phone": F.when(newer_place, F.struct(at.alias("at"), "lat", "lon")).otherwise(F.col("state.phone")),
        },
        output=[
            *("tx_id", "customer", "ts", "amount", "merchant", "card"),
            broken.alias("rules"),
            (F.size(broken) > 0).alias("flagged"),
            (gap / _SECOND).alias("gap_s"),
            most.alias("previous_max"),
            F.round(distance, 3).alias("distance_km"),
            duplicate.alias("duplicate"),
            *("reason", "raw", "topic", "partition", "offset", "timestamp"),
        ],
        when=transaction | F.col("reason").isNotNull(),
    )


def haversine_km(lat1: Column, lon1: Column, lat2: Column, lon2: Column) -> Column:
    """The way along the surface of the Earth."""
    across = F.sin(F.radians(lat2 - lat1) / 2)
    along = F.sin(F.radians(lon2 - lon1) / 2)
    a = across * across + F.cos(F.radians(lat1)) * F.cos(F.radians(lat2)) * along * along
    return 2 * EARTH_KM * F.asin(F.sqrt(F.least(a, F.lit(1.0))))  # above 1 only by rounding, at the other end of the world


def text(decided: DataFrame) -> DataFrame:
    """The same rows with `value`, as JSON: a decision; what a duplicate is; or a dead letter."""
    duplicate = F.to_json(F.struct("tx_id", "customer", _time()), _NULLS)
    letter = F.to_json(F.struct("reason", "raw", "topic", "partition", "offset"), _NULLS)
    value = F.when(F.col("reason").isNotNull(), letter).when(F.col("duplicate"), duplicate).otherwise(_decision())
    return decided.withColumn("value", value)


def decision_text(decisions: DataFrame) -> DataFrame:
    """Decisions with `value`, as JSON."""
    return decisions.withColumn("value", _decision())


def _decision() -> Column:
    return F.to_json(F.struct(*(_time() if name == "ts" else F.col(name) for name in DECISION)), _NULLS)


def _time() -> Column:
    return F.date_format("ts", "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'").alias("ts")
