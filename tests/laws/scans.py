"""Scans for the laws: in Spark's expressions and in Python."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from tests.kernel.bagged import sessions
from tests.laws.records import DELAY, NOT_CLOSING, SCHEMA

from headrace.kernel.python.scanning import PythonTimer, scan_python
from headrace.kernel.scan import Timer, scan
from headrace.testing.tables import table


def n() -> Column:
    return F.col("state.n")


def counted(df: DataFrame, **more: object) -> DataFrame:
    count = (n() + 1).alias("count")
    options = {"output": ["customer", "amount", "ts", count], **more}
    return scan(df, keys="customer", state={"n": F.lit(0)}, update={"n": n() + 1}, **options)  # type: ignore[arg-type]


def repeated(df: DataFrame) -> DataFrame:
    copies = F.transform(F.sequence(F.lit(1), n() % 3), lambda i: F.struct("customer", "ts", i.alias("copy")))
    return counted(df, output=F.when(n() % 3 > 0, copies))


def quiet(df: DataFrame, **more: Any) -> DataFrame:
    """A row for each record, and one when a customer has been quiet for three seconds."""
    alarm = Timer(
        at=F.col("state.last") + F.expr("interval 3 seconds"),
        update={"n": F.lit(0)},
        output=["customer", F.lit("quiet").alias("what"), F.col("timer.time").alias("at"), n().alias("n")],
    )
    return scan(
        df, keys="customer", state={"n": F.lit(0), "last": "timestamp"}, update={"n": n() + 1, "last": F.col("ts")}, timer=alarm,
        output=["customer", F.lit("record").alias("what"), F.col("ts").alias("at"), n().alias("n")], event_time="ts", delay=DELAY,
        **more,
    )  # fmt: skip


def at_once(df: DataFrame) -> DataFrame:
    """The same without waiting, and a customer is forgotten two seconds after the alarm. (Closing rows would come at once, too.)"""
    return quiet(df, wait=False, idle="5 seconds").where(NOT_CLOSING)


def taken_or_late(df: DataFrame) -> DataFrame:
    """Records that come later than the delay: which of them are late depends on the cuts, that each comes out once does not."""
    result = counted(df, event_time="ts", delay="1 second")
    return result.select(
        *[F.when(F.col("late").isNull(), F.col(f"main.{name}")).otherwise(F.col(f"late.{name}")).alias(name) for name in df.columns]
    )


def counted_by_sign(df: DataFrame) -> DataFrame:
    """By customer and a number inside a struct, 0.0 or -0.0: one key."""
    zero = F.when(F.col("amount") < 0, F.lit(-0.0)).otherwise(F.lit(0.0))
    key = df.withColumn("zero", F.struct(zero.alias("x")))
    return scan(key, keys=["customer", "zero"], state={"n": F.lit(0)}, update={"n": n() + 1}, output=["customer", "amount", n().alias("n")])


def with_clock(df: DataFrame) -> DataFrame:
    """An alarm by the clock, that a restart must not lose and a replay not move."""
    alarm = Timer(at=F.col("state.at"), output=["customer", F.lit("rang").alias("what")], forget=F.lit(True))
    output: list[Column | str] = ["customer", F.lit("set").alias("what")]
    return scan(df, keys="customer", state={"at": "timestamp"}, update={"at": F.col("ts")}, timer=alarm, output=output)


def in_any_order(df: DataFrame) -> DataFrame:
    return sessions(df.withColumnRenamed("customer", "k"), F.count("amount"), delay=DELAY)


def known_before(df: DataFrame) -> DataFrame:
    first = table(df.sparkSession, [("ann", 100), (None, 7), ("never comes", 1)], "customer string, n int")
    return counted(df, initial=first)


def counted_in_python(df: DataFrame) -> DataFrame:
    def count(state: dict[str, Any], record: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        return {"n": state["n"] + 1}, [{**record, "count": state["n"] + 1}]

    return scan_python(df, keys="customer", state="n int", start={"n": 0}, function=count, output=f"{SCHEMA}, count int")


def quiet_in_python(df: DataFrame) -> DataFrame:
    """As `quiet`, with Python functions for the records and for the alarm."""

    def record(state: dict[str, Any], record: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        row = {"customer": record["customer"], "what": "record", "at": record["ts"], "n": state["n"]}
        return {"n": state["n"] + 1, "last": record["ts"]}, [row]

    def ring(state: dict[str, Any], key: dict[str, Any], timer: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        return {**state, "n": 0}, [{**key, "what": "quiet", "at": timer["time"], "n": state["n"]}]

    alarm = PythonTimer(at=F.col("state.last") + F.expr("interval 3 seconds"), function=ring)
    return scan_python(
        df, keys="customer", state="n int, last timestamp", start={"n": 0}, function=record, timer=alarm,
        output="customer string, what string, at timestamp, n int", event_time="ts", delay=DELAY,
    )  # fmt: skip
