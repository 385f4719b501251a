"""How fast is the decoder, against Spark's `from_json` with a timestamp field? One thread, one million records, no sink.

python -m bench.decode
"""

from __future__ import annotations

import json
import sys
import time

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.kernel import decode, schemas
from headrace.run.session import session

RECORDS = 1_000_000
ROUNDS = 5
SCHEMA = """type STRING NOT NULL, tx_id STRING NOT NULL, customer STRING NOT NULL, card STRING, amount DOUBLE NOT NULL,
            merchant STRING NOT NULL, lat DOUBLE NOT NULL, lon DOUBLE NOT NULL, ts TIMESTAMP NOT NULL"""


def main() -> None:
    spark = session(master="local[1]", conf={"spark.driver.memory": "4g"})
    given = records(spark.range(0, RECORDS, 1, 1).toDF("n")).persist()
    given.count()
    schema = schemas.schema(SCHEMA)
    ours = given.select(decode.json(F.col("value"), schema).alias("decoded")).where("decoded.reason IS NULL").select("decoded.record.*")
    theirs = given.select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("record")).select("record.*")
    bare = given.select(F.octet_length("value"))
    if not (ours.exceptAll(theirs).isEmpty() and theirs.exceptAll(ours).isEmpty()):
        raise SystemExit("the two decoders disagree")
    times: dict[str, list[float]] = {name: [] for name in ("bare", "ours", "from_json")}
    for _ in range(ROUNDS):
        for name, frame in zip(times, (bare, ours, theirs), strict=True):
            times[name].append(seconds(frame))
    best = {name: min(each) for name, each in times.items()}
    result = {
        "records_per_s": {name: round(RECORDS / each) for name, each in best.items()},
        "decode_vs_from_json": round(best["from_json"] / best["ours"], 2),
    }
    sys.stdout.write(json.dumps(result, indent=2) + "\n")


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


if __name__ == "__main__":
    main()
