"""The work that is measured: two rules about each customer's transactions, in several spellings and in plain Python.

    high   the amount is greater than any before of this customer
    quick  the transaction before was at most ten seconds ago

A transaction is a JSON object of four fields; there are 10,000 customers, evenly mixed, and a transaction every millisecond. Everything
about record n follows from n, so a topic of more records begins with those of a smaller one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame, GroupedData, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from headrace.decoding.records import decode, valid
from headrace.kernel.python.scanning import scan_python
from headrace.kernel.scan import scan

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import TimerValues

CUSTOMERS = 10_000
SEED = 1
SCHEMA = "tx_id STRING NOT NULL, customer STRING NOT NULL, amount DOUBLE NOT NULL, ts TIMESTAMP NOT NULL"
OUTPUT = "tx_id string, customer string, high boolean, quick boolean"
_PAUSE = 10_000_000  # microseconds
_START = 1_767_225_600_000_000  # 2026 begins, in microseconds


def mixed(n: Column) -> Column:
    """The customer of record n: any of them, but even numbers have even customers, so that each has a partition of its own."""
    return F.pmod(F.xxhash64(n, F.lit(SEED)), F.lit(CUSTOMERS // 2)) * 2 + n % 2


def transactions(n: Column, customer: Column) -> list[Column]:
    """Kafka records."""
    amount = F.pmod(F.xxhash64(n, F.lit(SEED + 1)), F.lit(1_000_000)) / 100
    name = F.format_string("c%d", customer)
    time = F.date_format(F.timestamp_micros(F.lit(_START) + n * 1000), "yyyy-MM-dd'T'HH:mm:ss.SSS")
    text = F.format_string('{"tx_id": "t%d", "customer": "%s", "amount": %.2f, "ts": "%sZ"}', n, name, amount, time)
    return [name.alias("key"), text.alias("value"), (customer % 2).cast("int").alias("partition")]


def with_scan(kafka: DataFrame) -> DataFrame:
    """headrace: its decoder and its scan."""
    return flagged(valid(decode(kafka, schema=SCHEMA)))


def flagged(decoded: DataFrame, *also: str) -> DataFrame:
    most, previous = F.col("state.most"), F.col("state.previous")
    return scan(
        decoded,
        keys="customer",
        state={"most": "double", "previous": "timestamp"},
        update={"most": F.greatest(most, "amount"), "previous": F.col("ts")},
        output=[
            "tx_id",
            "customer",
            F.coalesce(F.col("amount") > most, F.lit(False)).alias("high"),
            F.coalesce(F.unix_micros("ts") - F.unix_micros(previous) <= _PAUSE, F.lit(False)).alias("quick"),
            *also,
        ],
    )


def with_python_scan(kafka: DataFrame) -> DataFrame:
    """headrace: its decoder, and a Python function in its scan."""
    return flagged_in_python(valid(decode(kafka, schema=SCHEMA)))


def flagged_in_python(decoded: DataFrame, *also: str) -> DataFrame:
    fields = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in decoded.schema if field.name in also)
    return scan_python(
        decoded, keys="customer", state="most double, previous timestamp", function=partial(_rules_of_one, also=also),
        output=f"{OUTPUT}{', ' * bool(fields)}{fields}",
    )  # fmt: skip


def _rules_of_one(state: dict[str, Any], record: dict[str, Any], also: Sequence[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    most, previous, amount, ts = state["most"], state["previous"], record["amount"], record["ts"]
    row = {
        "tx_id": record["tx_id"],
        "customer": record["customer"],
        "high": most is not None and amount > most,
        "quick": previous is not None and ts - previous <= timedelta(microseconds=_PAUSE),
    }
    return {"most": amount if most is None else max(most, amount), "previous": ts}, [row | {name: record[name] for name in also}]


def from_json(kafka: DataFrame) -> DataFrame:
    """Spark's decoder alone."""
    return kafka.select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("record")).select("record.*")


def with_row_state(kafka: DataFrame) -> DataFrame:
    """PySpark's `transformWithState`: a processor of rows."""
    return _for_python(kafka).transformWithState(
        statefulProcessor=RowRules(), outputStructType=OUTPUT, outputMode="Append", timeMode="None"
    )


def with_pandas_state(kafka: DataFrame) -> DataFrame:
    """PySpark's `transformWithStateInPandas`: a processor of pandas frames, vectorised within a key."""
    rules = PandasRules()
    return _for_python(kafka).transformWithStateInPandas(rules, outputStructType=OUTPUT, outputMode="Append", timeMode="None")


def _for_python(kafka: DataFrame) -> GroupedData:
    # Time as a number is what Python workers take fastest, and the same in a record and in the state.
    return from_json(kafka).withColumn("ts", F.unix_micros("ts")).groupBy("customer")


class RowRules(StatefulProcessor):
    """State is read and written once a key and batch: each is a round trip to the JVM."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.state = handle.getValueState("state", "most double, previous bigint")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # noqa: ARG002, N802, N803
        most, previous = self.state.get() or (math.inf, -_PAUSE - 1)
        for row in rows:
            amount, ts = row.amount, row.ts
            yield Row(tx_id=row.tx_id, customer=key[0], high=amount > most, quick=ts - previous <= _PAUSE)
            most, previous = amount if most == math.inf or amount > most else most, ts
        self.state.update((most, previous))

    def close(self) -> None:
        pass


class PandasRules(StatefulProcessor):
    """The rules over arrays: one pass of numpy for all records of a key in a batch."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.state = handle.getValueState("state", "most double, previous bigint")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues) -> Iterator[pd.DataFrame]:  # noqa: ARG002, N802, N803
        state = self.state.get()
        for frame in rows:
            amount, ts = frame["amount"].to_numpy(), frame["ts"].to_numpy()
            most, previous = state or (amount[0], ts[0] - _PAUSE - 1)
            before = np.maximum.accumulate(np.concatenate(([most], amount)))
            quick = np.diff(ts, prepend=previous) <= _PAUSE
            yield pd.DataFrame({"tx_id": frame["tx_id"], "customer": key[0], "high": amount > before[:-1], "quick": quick})
            state = (float(before[-1]), int(ts[-1]))
        if state is not None:
            self.state.update(state)

    def close(self) -> None:
        pass


def oracle(values: Iterable[bytes]) -> list[tuple[str, str, bool, bool]]:
    """The same in plain Python, from the bytes on, sharing nothing with the others."""
    memory: dict[str, tuple[float, datetime]] = {}
    rows = []
    for value in values:
        record = json.loads(value)
        customer, amount, ts = record["customer"], record["amount"], datetime.fromisoformat(record["ts"])
        if customer in memory:
            most, previous = memory[customer]
            rows.append((record["tx_id"], customer, amount > most, ts - previous <= timedelta(microseconds=_PAUSE)))
            memory[customer] = (max(most, amount), ts)
        else:
            rows.append((record["tx_id"], customer, False, False))
            memory[customer] = (amount, ts)
    return sorted(rows)


def records(values: Iterable[bytes]) -> list[tuple[str, str, float, datetime]]:
    """What a decoder must make of the bytes; times as PySpark collects them, local and without a zone."""

    def local(text: str) -> datetime:
        return datetime.fromisoformat(text).astimezone().replace(tzinfo=None)

    return sorted((r["tx_id"], r["customer"], r["amount"], local(r["ts"])) for r in map(json.loads, values))
