"""A keyed job for tests that kill it inside of its sink: every record with how many its key had before it."""

from __future__ import annotations

from pyspark.sql import functions as F

import headrace as hr


def job(topic: str, to: str, checkpoint: str) -> hr.Job:
    payments = hr.read.kafka(topic, schema="id int not null, customer string not null", cap=20)
    counted = payments.key_by("customer").with_features(before=hr.running(F.count("*")))
    output = counted.to.database(to.removeprefix("database:"), "counted") if to.startswith("database:") else counted.to.kafka(to)
    return hr.Job("counted", output, checkpoint=checkpoint, guarantee="exactly-once")
