"""Operators under the law of conservation: each record comes out once, as taken, late or refused. A record is known by its amount."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from tests.kernel.bagged import nearest_quote, next_quote
from tests.laws.joins import joined, sides
from tests.laws.records import END
from tests.laws.scans import counted, n

from headrace.decoding.records import decode
from headrace.kernel.bags import Bag, Expire
from headrace.kernel.python.mapping import map_python
from headrace.kernel.python.scanning import scan_python
from headrace.kernel.scan import Port, scan
from headrace.ops import windows
from headrace.ops.distinct import distinct
from headrace.ops.features import previous, running, with_features
from headrace.ops.joins.intervals import matched
from headrace.ops.joins.windowed import cogroup
from headrace.ops.patterns.matching import match
from headrace.ops.patterns.pattern import step
from headrace.ops.patterns.preferred import Rows, Variable, recognize
from headrace.testing.clocks import START
from headrace.testing.microbatches import Operator
from headrace.testing.shapes import Options

SHORT = "1 second"


def recognized(df: DataFrame) -> DataFrame:
    """Each record is a match."""
    rows = Rows(pattern=Variable("A"), define={}, measures=[F.expr("A.amount AS amount")])
    return recognize(df, rows, keys=["customer"], event_time="ts", delay=SHORT)


def _time(number: int) -> datetime | None:
    """Time goes on by two seconds a record; every fifth is twenty seconds late, and one has no time at all."""
    if number == 13:
        return None
    return START + timedelta(seconds=2 * number - (20 if number % 5 == 4 else 0))


RECORDS = [(("ann", "bob", None)[i % 3], 100.0 + i, _time(i)) for i in range(24)]  # the closing rows have other amounts


def main_or_late(row: Row) -> Iterable[Any]:
    return [(row.main or row.late).amount]


def taken_or_refused(row: Row) -> Iterable[Any]:
    return [row.main.amount if row.main is not None else row.dead_letters.record.amount]


@dataclass(frozen=True)
class Conserving:
    """An operator, and the amounts of the records that a row of its stands for."""

    name: str
    operator: Operator
    ids: Callable[[Row], Iterable[Any]] = lambda row: [row.amount]
    options: Options = field(default_factory=lambda: Options(closing=END))
    exempt: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


def two_ports(df: DataFrame) -> DataFrame:
    """Even amounts from one port and odd ones from another."""
    even = F.col("amount") % 2 == 0
    return counted(df, output=["amount"], when=even, ports={"odd": Port(output=["amount", n().alias("n")], when=~even)})


def patient(df: DataFrame) -> DataFrame:
    return counted(df, event_time="ts", delay=SHORT, late_after=F.col("ts") + F.expr("interval 10 seconds"))


def held(df: DataFrame, **more: Any) -> DataFrame:
    """Each record comes out when it leaves a bag, three seconds after its time."""
    bag = Bag(add=["amount", "ts"], time="ts", expire=Expire(after="3 seconds", output=["bag.amount"]))
    return scan(df, keys="customer", bags={"held": bag}, event_time="ts", delay=SHORT, **more)


def traded(join: Callable[..., DataFrame]) -> Operator:
    """Even amounts with an odd one that is near, or alone: they wait in a bag for it. Odd ones come out as they are."""

    def operator(df: DataFrame) -> DataFrame:
        trade = F.col("amount") % 2 == 0
        sides = df.select(F.col("customer").alias("k"), trade.alias("left"), F.col("amount").alias("v"), "ts")
        quotes = ["k", F.col("v").alias("l"), F.lit(None).cast("double").alias("r")]
        return join(sides, delay=SHORT, output=quotes, when=~F.col("left"))

    return operator


def of_trades(row: Row) -> Iterable[Any]:
    return [row.main.l if row.main is not None else row.late.v]


def _refuse_some(state: dict[str, Any], record: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if record["amount"] % 4 == 3:
        raise ValueError("not this one")
    return {"n": state["n"] + 1}, [{"amount": record["amount"]}]


def _first_of_four(record: dict[str, Any]) -> dict[str, Any]:
    return _refuse_some({"n": 0}, record)[1][0]


def in_python(df: DataFrame, **options: Any) -> DataFrame:
    return scan_python(
        df, keys="customer", state="n int", start={"n": 0}, function=_refuse_some, output="amount double", errors="dead_letters", **options
    )


def of_all_ports(row: Row) -> Iterable[Any]:
    return [row.late.amount] if row.late is not None else taken_or_refused(row)


def with_features_by_time(df: DataFrame) -> DataFrame:
    features = {"count": running(F.count("*")), "before": previous("amount")}
    return with_features(df, keys="customer", features=features, event_time="ts", delay=SHORT)


def decoded(df: DataFrame) -> DataFrame:
    """Odd amounts as JSON that is cut off."""
    text = F.to_json(F.struct("amount"))
    cut = F.when(F.col("amount") % 2 == 1, F.regexp_replace(text, "}", "")).otherwise(text)
    return decode(df.select(cut.alias("value")), schema="amount DOUBLE NOT NULL")


def of_decoded(row: Row) -> Iterable[Any]:
    return [row.record.amount if row.record is not None else float(bytes(row.raw).decode().partition(":")[2])]


def in_windows(window: windows.Window, **options: Any) -> Operator:
    def operator(df: DataFrame) -> DataFrame:
        windowing = windows.Windowing(window, ("customer",), "ts", timed=True, **options)
        return windows.aggregate(df.withWatermark("ts", SHORT), windowing, {"amounts": F.collect_list("amount")})

    return operator


DISCARDING: dict[str, Any] = {"trigger": windows.after_watermark(early=2, late=2), "lateness": 8_000_000, "accumulation": "discarding"}


def of_windows(row: Row) -> Iterable[Any]:
    return row.main.amounts if row.main is not None else [row.late.amount]


def in_windows_of_spark(df: DataFrame) -> DataFrame:
    amounts = F.collect_list("amount").alias("amounts")
    return df.withWatermark("ts", SHORT).groupBy(F.window("ts", "5 seconds"), "customer").agg(amounts)


def apart(df: DataFrame) -> DataFrame:
    """Even and odd amounts, of which no two are of the same time: each is alone."""
    even = F.col("amount") % 2 == 0
    sign = F.when(even, F.col("amount")).otherwise(-F.col("amount"))
    return matched(sides(df.withColumn("amount", sign), SHORT), "full", 0, 0)


def of_both_sides(row: Row) -> Iterable[Any]:
    columns = [row.main.amount, row.main.place] if row.main else [row.late.amount] if row.late else [row.late_other.place]
    return [abs(value) for value in columns if value is not None]


def lists(row: Row) -> Iterable[Any]:
    sides = (
        [row.main.amounts, row.main.places] if row.main else [[row.late] if row.late else [], [row.late_other] if row.late_other else []]
    )
    return [*(abs(each.amount) for each in sides[0]), *(abs(each.place) for each in sides[1])]


def signed(df: DataFrame) -> DataFrame:
    return df.withColumn("amount", F.when(F.col("amount") % 2 == 0, F.col("amount")).otherwise(-F.col("amount")))


def grouped(df: DataFrame) -> DataFrame:
    """Even and odd amounts, in the lists of their window."""
    return cogroup(sides(signed(df), SHORT), windows.tumbling("5 seconds"), ("amounts", "places"))


def kept_or_again(row: Row) -> Iterable[Any]:
    return [(row.main or row.again or row.late).amount]


NO_END = Options()
DROPPED = "Spark's own windows drop late records, and records without a time; the job's progress counts them"

CONSERVING = [
    Conserving("select", lambda df: df.select("amount"), options=NO_END),
    Conserving("join with a table", lambda df: joined(df).dropDuplicates(["amount"]), options=NO_END),
    Conserving("decode", decoded, of_decoded, NO_END),
    Conserving("scan", counted, options=NO_END),
    Conserving("scan with two ports", two_ports, lambda row: [(row.main or row.odd).amount], NO_END),
    Conserving("scan by event time", lambda df: counted(df, event_time="ts", delay=SHORT), main_or_late),
    Conserving("scan without waiting", lambda df: counted(df, event_time="ts", delay=SHORT, wait=False), main_or_late),
    Conserving("scan that is patient with late records", patient, main_or_late),
    Conserving("scan with a bag", held, main_or_late),
    Conserving("scan with a bag, without waiting", lambda df: held(df, wait=False), main_or_late),
    Conserving("scan with a bag, as-of join forward", traded(next_quote), of_trades),
    Conserving("scan with a bag, as-of join of the nearest", traded(nearest_quote), of_trades),
    Conserving("scan_python", in_python, taken_or_refused, NO_END),
    Conserving("scan_python by event time", lambda df: in_python(df, event_time="ts", delay=SHORT), of_all_ports),
    Conserving(
        "map",
        lambda df: map_python(df, kind="map", function=_first_of_four, output="amount double", errors="dead_letters"),
        taken_or_refused,
        NO_END,
    ),
    Conserving("match of the preferred rows", recognized, main_or_late),
    Conserving("match", lambda df: match(df, step("one"), keys="customer", event_time="ts", delay=SHORT, output="amount"), main_or_late),
    Conserving("features by event time", with_features_by_time, main_or_late),
    Conserving("join of two streams", apart, of_both_sides),
    Conserving("cogroup", grouped, lists),
    Conserving(
        "distinct, the last of a span",
        lambda df: distinct(df, keys=["customer"], keep="last", within="7 seconds", event_time="ts", delay=SHORT),
        kept_or_again,
    ),
    Conserving("windows", in_windows(windows.tumbling("5 seconds"), mode="append"), of_windows),
    Conserving("windows, early and late", in_windows(windows.tumbling("5 seconds"), **DISCARDING), of_windows),
    Conserving("windows whose trigger ends", in_windows(windows.tumbling("5 seconds"), trigger=windows.after_records(1)), of_windows),
    Conserving("sessions", in_windows(windows.sessions("4 seconds"), mode="append"), of_windows),
    Conserving("sessions, early and late", in_windows(windows.sessions("4 seconds"), **DISCARDING), of_windows),
    Conserving(
        "windows that a program's own function makes with Spark's",
        in_windows_of_spark,
        lambda row: row.amounts,
        Options(latest_by=("window", "customer")),
        dict.fromkeys(("batch", "record-per-batch", "restarted"), DROPPED),
    ),
]
