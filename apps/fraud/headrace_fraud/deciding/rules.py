"""The decision on a transaction: three rules, duplicates and evidence, from what is known of its customer.

Records are taken in the order of their arrival. What is remembered of a customer is one row:

    recent        the transactions of the last ten minutes: id and time   (velocity, duplicates)
    previous_max  the greatest amount                                      (amount)
    phone         the newest place of the phone                            (location)

It grows with the transactions of one customer within ten minutes, and with nothing else. A duplicate changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

import headrace as hr
from headrace_fraud.deciding.records import PLACE
from headrace_fraud.deciding.settings import Rules

EARTH_KM = 6371.0088

# The columns of a decision, in the order in which they are written.
DECISION = ("tx_id", "customer", "ts", "amount", "merchant", "card", "rules", "flagged", "gap_s", "previous_max", "distance_km")

_SECOND = 1_000_000  # times are microseconds


def decide(records: hr.Stream, rules: Rules, place: Sequence[str] = PLACE) -> hr.Stream:
    """A row for each transaction: the decision, whether it is a `duplicate`, and its `place` in the log."""
    counts = (F.col("type") == "transaction") & ~F.exists("recent", lambda old: old["tx_id"] == F.col("tx_id"))
    known = records.key_by("customer").with_features(
        time="ts",
        recent=hr.recent(f"{rules.memory_minutes} minutes", "tx_id", "ts").only(counts),
        previous_max=hr.running(F.max("amount")).only(counts),
        phone=hr.running(F.max_by(F.struct("ts", "lat", "lon"), "ts")).only("type = 'location'"),
    )
    at = F.unix_micros("ts")
    there = at - F.unix_micros("phone.ts") <= round(rules.location_hours * 3600 * _SECOND)
    measured = known.where("type = 'transaction'").with_columns(
        duplicate=counts.eqNullSafe(F.lit(False)),  # what is one expression is computed once
        gap=F.array_min(F.transform("recent", lambda old: F.abs(F.unix_micros(old["ts"]) - at))),
        distance=F.when(there, haversine_km(F.col("phone.lat"), F.col("phone.lon"), F.col("lat"), F.col("lon"))),
    )
    velocity = F.col("gap") <= round(rules.velocity_seconds * _SECOND)  # some remembered transaction is so near, earlier or later
    amount = F.col("amount") > F.col("previous_max")  # strictly more than ever before; the first has nothing before it
    location = F.col("distance") > rules.distance_km  # too far from the phone, if it is known where the phone is
    broken = F.array_compact(
        F.array(F.when(velocity, F.lit("velocity")), F.when(amount, F.lit("amount")), F.when(location, F.lit("location")))
    )
    decided = measured.select(
        *("tx_id", "customer", "ts", "amount", "merchant", "card"),
        broken.alias("rules"),
        (F.col("gap") / _SECOND).alias("gap_s"),
        "previous_max",
        F.round("distance", 3).alias("distance_km"),
        *("duplicate", *place),
    )
    return decided.with_columns(flagged=F.size("rules") > 0)


def haversine_km(lat1: Column, lon1: Column, lat2: Column, lon2: Column) -> Column:
    """The way along the surface of the Earth."""
    across = F.sin(F.radians(lat2 - lat1) / 2)
    along = F.sin(F.radians(lon2 - lon1) / 2)
    a = across * across + F.cos(F.radians(lat1)) * F.cos(F.radians(lat2)) * along * along
    return 2 * EARTH_KM * F.asin(F.sqrt(F.least(a, F.lit(1.0))))  # above 1 only by rounding, at the other end of the world


def as_json(*columns: str | Column) -> Column:
    """Some columns as a JSON object, written as headrace writes them to a topic."""
    return F.to_json(F.struct(*columns), {"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"})
