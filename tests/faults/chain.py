"""Two jobs, one behind the other: the first in real time, whose rows say what they were made from, the second reads each of them once."""

from __future__ import annotations

from pyspark.sql import functions as F

import headrace as hr


def job(part: str, source: str, target: str, checkpoint: str) -> hr.Job:
    if part == "first":
        place = ["topic", "partition", "offset"]
        payments = hr.read.kafka(source, schema="id int not null, customer string not null", keep=place)
        counted = payments.key_by("customer").with_features(before=hr.running(F.count("*")))
        output = counted.to.kafka(target, value=["id", "customer", "before"], id=place)
        return hr.Job("first", output, checkpoint=checkpoint, trigger="30 seconds")
    counted = hr.read.kafka(source, schema="id int, customer string, before long", once=True, cap=20)
    return hr.Job("second", counted.to.kafka(target), checkpoint=checkpoint, guarantee="exactly-once", trigger="once")
