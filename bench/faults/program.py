"""The job that the faults are for: one keyed state by event time, and what it decides in three sinks, all in one query.

A payment that cannot be read, that comes too late or that is there for the second time is put out elsewhere, so that each one that was sent
is found in exactly one place.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

import headrace as hr
from headrace.fronts.stream import Stream

SCHEMA = "id bigint not null, customer string not null, amount bigint not null, at timestamp not null"


def job(
    topic: str, place: str, cap: int = 200, delay: str = "15 seconds", kafka: bool = True, real_time: bool = False, without: str = ""
) -> hr.Job:
    if without:
        from bench.faults.guards import GUARDS

        GUARDS[without]()
    payments = hr.read.kafka(topic, schema=SCHEMA, cap=cap, keep=["topic", "partition", "offset"])
    if real_time:
        taken, id = decisions(payments, {}), ["topic", "partition", "offset"]
        return hr.Job(
            "faults",
            taken.where("not again").to.kafka(f"{topic}-decisions", key="customer", id=id, name="kafka"),
            taken.where("again").to.kafka(f"{topic}-again", key="customer", id=id, name="again"),
            payments.dead_letters.to.kafka(f"{topic}-dead", value="raw", id=id, name="dead"),
            checkpoint=f"{place}/checkpoint",
            trigger="10 seconds",
        )
    taken = decisions(payments, {"event_time": "at", "delay": delay, "order": ["id"]})
    decided, again = taken.where("not again").drop("again"), taken.where("again").drop("again")
    in_kafka = [decided.to.kafka(f"{topic}-decisions", key="customer", name="kafka")] if kafka else []
    dead = payments.dead_letters.select(F.col("raw").cast("string").alias("raw"))
    return hr.Job(
        "faults",
        *in_kafka,
        decided.to.database(f"{place}/decisions.db", "decisions", name="database"),
        decided.to.files(f"{place}/decisions", name="files"),
        again.to.database(f"{place}/decisions.db", "again", name="again"),
        taken.late.select("id").to.files(f"{place}/late", name="late"),
        dead.to.kafka(f"{topic}-dead", value="raw", name="dead") if kafka else dead.to.files(f"{place}/dead", name="dead"),
        checkpoint=f"{place}/checkpoint",
        guarantee="exactly-once",
    )


def decisions(payments: Stream, time: dict[str, str | list[str]]) -> Stream:
    """Each payment with what its customer had before: how many, how much, and the most."""
    again = F.col("id") <= F.col("state.last")

    def kept(column: Column, name: str) -> Column:
        return F.when(again, F.col(f"state.{name}")).otherwise(column)

    return payments.key_by("customer").scan(
        state={"last": F.lit(-1).cast("bigint"), "count": F.lit(0).cast("bigint"), "total": F.lit(0).cast("bigint")},
        update={
            "last": kept(F.col("id"), "last"),
            "count": kept(F.col("state.count") + 1, "count"),
            "total": kept(F.col("state.total") + F.col("amount"), "total"),
        },
        output=[
            "id", "customer", "amount", F.col("state.count").alias("count"), F.col("state.total").alias("total"), again.alias("again"),
            *(["topic", "partition", "offset"] if not time else []),
        ],
        **time,  # type: ignore[arg-type]
    )  # fmt: skip
