"""A keyed job for tests that kill it: every record with how many its key had, and their sum, before it."""

from __future__ import annotations

from pyspark.sql import functions as F

import headrace as hr


def job(topic: str, out: str, checkpoint: str) -> hr.Job:
    payments = hr.read.kafka(topic, schema="id int not null, customer string not null, amount bigint not null", cap=20)
    totals = payments.key_by("customer").scan(
        state={"count": F.lit(0), "total": F.lit(0).cast("bigint")},
        update={"count": F.col("state.count") + 1, "total": F.col("state.total") + F.col("amount")},
        output=["id", "customer", F.col("state.count").alias("count"), F.col("state.total").alias("total")],
    )
    return hr.Job("totals", totals.to.files(out), checkpoint=checkpoint)
