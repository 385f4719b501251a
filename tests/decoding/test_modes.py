"""Decoding means the same in every mode."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.decoding import records
from headrace.testing import laws

INPUT = [
    (0, '{"id":"a","amount":1.5,"at":"2026-02-02T02:40:00.000001+01:00","tags":["x"],"sent":1770000000123}'),
    (1, '{"id":"b","amount":-1,"at":"2026-02-02 02:40:00"}'),
    (2, '{"id":"c","amount":"1","at":"2026-02-02 02:40:00"}'),
    (3, '{"amount":"1"}'),
    (4, "{"),
    (5, None),
    (6, '{"id":"d","amount":2,"at":"2026-02-02 02:40:00","tags":[1]}'),
    (7, '{"id":"e","amount":2,"at":"2026-02-02 02:40:00","sent":"1770000000123"}'),
    (8, '{"id":"f","amount":2,"at":"2026-02-02 02:40:00"}'),
]


def judged(df: DataFrame) -> DataFrame:
    """Every record with its fields or its reason."""
    schema = "id STRING NOT NULL, amount DOUBLE NOT NULL, at TIMESTAMP NOT NULL, tags ARRAY<STRING>, sent TIMESTAMP"
    decoded = records.decode(df, schema=schema, keep=["n"], times={"sent": "epoch_millis"})
    checked = records.check(decoded, {"out_of_range:amount": F.col("amount") <= 0})
    at, sent, tags = F.unix_micros("record.at"), F.unix_micros("record.sent"), F.size("record.tags")
    return checked.select("n", "reason", "record.id", "record.amount", at.alias("at"), sent.alias("sent"), tags.alias("tags"))


def test_records_and_reasons_are_the_same_in_every_mode(spark: SparkSession, kafka: str) -> None:
    assert kafka
    laws.same_in_every_shape(judged, INPUT, "n int, value string", spark=spark)
