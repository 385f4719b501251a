"""A keyed job for tests that kill what it runs on: every record with how many its key had before it."""

from __future__ import annotations

from pyspark.sql import functions as F

import headrace as hr


def job(topic: str, to: str, checkpoint: str, cap: int = 20, guarantee: str = "exactly-once") -> hr.Job:
    payments = hr.read.kafka(topic, schema="id int not null, customer string not null", cap=cap)
    counted = payments.key_by("customer").with_features(before=hr.running(F.count("*")))
    database = to.startswith("database:")
    output = counted.to.database(to.removeprefix("database:"), "counted") if database else counted.to.kafka(to, id="id")
    return hr.Job("counted", output, checkpoint=checkpoint, guarantee=guarantee)  # type: ignore[arg-type]
