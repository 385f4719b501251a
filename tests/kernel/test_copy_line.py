"""Lines of PostgreSQL's COPY: what is read of them is what was written, to the last bit."""

from __future__ import annotations

import math
import random
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headrace.kernel import jvm

CHANCE = random.Random(7)
AMOUNTS = [CHANCE.choice((-1, 1)) * CHANCE.randrange(10 ** CHANCE.randint(1, 17)) / 10 ** CHANCE.randint(0, 6) for _ in range(2000)]
DOUBLES = [0.0, -0.0, 0.1, -0.1, 1.0, 0.00005, 0.0001, 0.1 + 0.2, 1e-300, 5e-324, 1.7976931348623157e308, 2.0**53, 9007199254740.993]
LONGS = [0, -1, 9, 10, 99, 100, -100, 2**63 - 1, -(2**63)]
TEXTS = {
    "": "", "a\tb": "a\\tb", "\\N": "\\\\N", "\r\n": "\\r\\n", "nul \0": "nul ␀", "日本 🏦": "日本 🏦", "\x01\x0b": "\x01\x0b",
    "x" * 1000: "x" * 1000,
}  # fmt: skip


def lines(spark: SparkSession, kind: str, *values: Any) -> list[str]:
    """Each value as the only cell of a line."""
    frame = spark.createDataFrame([(value,) for value in values], f"cell {kind}").coalesce(1)
    line = jvm.python_column(jvm.package(spark).CopyLine.column(jvm.java_columns([F.col("cell")])))
    return [row.line for row in frame.select(line.alias("line")).collect()]


def test_a_number_that_is_read_again_is_the_same(spark: SparkSession) -> None:
    values = [*DOUBLES, *AMOUNTS, *(CHANCE.uniform(-1e6, 1e6) for _ in range(2000))]
    read = [float(line) for line in lines(spark, "double", *values)]
    assert read == values
    assert [math.copysign(1, each) for each in read] == [math.copysign(1, each) for each in values]
    assert lines(spark, "double", math.inf, -math.inf, math.nan) == ["Infinity\n", "-Infinity\n", "NaN\n"]
    assert lines(spark, "long", *LONGS) == [f"{value}\n" for value in LONGS]


def test_text_has_marks_for_what_copy_reads_as_signs(spark: SparkSession) -> None:
    assert lines(spark, "string", *TEXTS) == [f"{text}\n" for text in TEXTS.values()]


def test_cells_have_tabs_between_them_and_nothing_is_marked(spark: SparkSession) -> None:
    cells = [F.lit(None).cast("int"), F.lit(True), F.lit(None).cast("string"), F.lit(2.5).cast("float"), F.lit("")]
    line = jvm.python_column(jvm.package(spark).CopyLine.column(jvm.java_columns(cells)))
    assert spark.range(1).select(line.alias("line")).collect()[0].line == "\\N\tt\t\\N\t2.5\t\n"
