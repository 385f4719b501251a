"""Counts the payments of each customer in real time, until it is killed: `python counts.py servers given out checkpoint`."""

from __future__ import annotations

import sys

from pyspark.sql import functions as F

import headrace as hr


def main() -> None:
    servers, given, out, checkpoint = sys.argv[1:]
    hr.session(conf={"spark.sql.shuffle.partitions": "2"})
    payments = hr.read.kafka(given, schema="id INT NOT NULL, customer STRING NOT NULL", servers=servers).key_by("customer")
    counted = payments.with_features(before=hr.running(F.count("*"))).select("id", "customer", "before")
    with hr.Job("counts", counted.to.kafka(out, servers=servers), checkpoint=checkpoint).start("real-time") as running:
        running.wait()


if __name__ == "__main__":
    main()
