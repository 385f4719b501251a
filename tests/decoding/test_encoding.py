from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headrace.decoding import encoding, native

EVERYTHING = """SELECT CAST(1 AS TINYINT) a, CAST(2 AS SMALLINT) b, 3 c, 4L d, CAST(1.5 AS FLOAT) e, 0.1D f, CAST(12.30 AS DECIMAL(9, 2)) g,
    DATE'2026-02-03' h, TIMESTAMP'2026-02-02 02:40:00.005123' i, TIMESTAMP_NTZ'2026-02-02 02:40:00.000001' j, X'68656A' k,
    ARRAY(1L, NULL) l, MAP('k', 1.5D) m, NAMED_STRUCT('x', 'å"\n', 'y', TIMESTAMP'1969-12-31 23:59:59.999999') n,
    CAST(NULL AS STRING) o, TRUE p"""


def test_what_is_encoded_is_decoded_to_the_same(spark: SparkSession) -> None:
    given = spark.sql(EVERYTHING)
    text = given.select(encoding.json(F.struct("*")).alias("text"))
    back = text.select(native.json(F.col("text"), given.schema).alias("decoded")).select("decoded.record.*")
    assert back.collect() == given.collect()


def test_instants_are_written_in_utc_with_microseconds(spark: SparkSession) -> None:
    given = spark.sql("SELECT TIMESTAMP'2026-02-02 02:40:00.005' ts, CAST(NULL AS STRING) card")
    assert given.select(encoding.json(F.struct("*"))).collect()[0][0] == '{"ts":"2026-02-02T02:40:00.005000Z","card":null}'
