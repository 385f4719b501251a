"""Two jobs, one behind the other: the first in real time, with two rows of each payment, which carry ids; the second reads each once, as
micro-batch or in real time, or as a careless one does: whatever there is."""

from __future__ import annotations

from pyspark.sql import functions as F

import headrace as hr


def job(part: str, source: str, target: str, checkpoint: str) -> hr.Job:
    if part == "first":
        payments = hr.read.kafka(source, schema="id int not null, customer string not null")
        both = payments.with_columns(side=F.explode(F.array(F.lit("from"), F.lit("to"))))
        counted = both.key_by("customer").with_features(before=hr.running(F.count("*")))
        return hr.Job("first", counted.to.kafka(target, id=True), checkpoint=checkpoint, trigger="30 seconds")
    counted = hr.read.kafka(source, schema="id int, customer string, side string, before long", once=part != "careless", cap=40)
    if part == "live":
        return hr.Job("live", counted.to.kafka(target, id=True), checkpoint=checkpoint)
    return hr.Job(part, counted.to.kafka(target), checkpoint=checkpoint, guarantee="exactly-once", trigger="once")
