"""How fast is the decoder alone, against Spark's `from_json` with a timestamp field?

The work: JSON of nine fields, each record different, from memory. One thread, no sink.

Held equal: the records (cached), the session, the best of several rounds taken in turn. Both must decode to the same rows.

To read: records a second and their ratio; `bare` reads the cached bytes and decodes nothing.
"""

from __future__ import annotations

import time

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from bench.measuring import processes
from bench.reporting.answers import Answer, say
from headrace.decoding import native
from headrace.definitions import schemas
from headrace.spark.session import session

SCHEMA = """type STRING NOT NULL, tx_id STRING NOT NULL, customer STRING NOT NULL, card STRING, amount DOUBLE NOT NULL,
            merchant STRING NOT NULL, lat DOUBLE NOT NULL, lon DOUBLE NOT NULL, ts TIMESTAMP NOT NULL"""


def ask(*, quick: bool) -> list[Answer]:
    rates = processes.run(measure, 50_000 if quick else 1_000_000, 2 if quick else 5).value
    say(", ".join(f"{way}: {rate:,} records/s" for way, rate in rates.items()))
    return [Answer("decode_vs_from_json", round(rates["ours"] / rates["from_json"], 2), "x", None, {"records_per_s": rates})]


def measure(count: int, rounds: int) -> dict[str, int]:
    spark = session(master="local[1]")
    events = records(spark.range(0, count, 1, 1).toDF("n")).persist()
    events.count()
    schema = schemas.schema(SCHEMA)
    ours = events.select(native.json(F.col("value"), schema).alias("decoded")).where("decoded.reason IS NULL").select("decoded.record.*")
    theirs = events.select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("record")).select("record.*")
    ways = {"bare": events.select(F.octet_length("value")), "ours": ours, "from_json": theirs}
    if not (ours.exceptAll(theirs).isEmpty() and theirs.exceptAll(ours).isEmpty()):
        raise SystemExit("the two decoders disagree: no time counts")
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, frame in ways.items():
            times[name].append(seconds(frame))
    spark.stop()
    return {name: round(count / min(each)) for name, each in times.items()}


def records(numbers: DataFrame) -> DataFrame:
    """JSON as a Python producer writes it, and as many different values as records."""
    n = F.col("n")
    text = F.format_string(
        '{"type": "transaction", "tx_id": "t%d", "customer": "c%d", "card": "411111111111%04d", "amount": %.2f, "merchant": "m%d", '
        '"lat": %.6f, "lon": %.6f, "ts": "%sZ"}',
        n, n % 10_000, n % 9_999, F.rand(1) * 1000 + 0.01, n % 500, F.rand(2) * 180 - 90, F.rand(3) * 360 - 180,
        F.date_format(F.timestamp_micros(F.lit(1_770_000_000_000_000) + n * 1001), "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"),
    )  # fmt: skip
    return numbers.select(text.cast("binary").alias("value"))


def seconds(frame: DataFrame) -> float:
    start = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start
