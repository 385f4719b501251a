"""How many times as fast is a pattern as the same pattern written with PySpark's own state?

The work: a small payment (5 % of all), followed by a large one (10 %) of the same customer within five minutes; 10,000 customers, JSON
from Kafka (`work/rules.py`), records as they arrive. The ways: headrace's decoder and `match`; `from_json` and `transformWithState`, a
processor of rows.

Held equal: all that `state_speed.py` holds equal. Each way's rows on the first 40,000 records must equal plain Python's.

To read: events a second of the median batch, and the median ratio of three rounds, as there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from bench.measuring import throughput
from bench.reporting.answers import Answer, at_least, memory
from bench.work import rules
from headrace.decoding.records import decode, valid
from headrace.kernel.ports import port
from headrace.ops.patterns.matching import match
from headrace.ops.patterns.pattern import step

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import TimerValues

SMALL, LARGE, WITHIN = 500.0, 9_000.0, 300_000_000
OUTPUT = "customer string, small double, large double"


def ask(*, quick: bool) -> list[Answer]:
    size = throughput.QUICK if quick else throughput.FULL
    rounds = throughput.compare({"match": (with_match, oracle), "pattern_in_python": (with_row_state, oracle)}, size)
    return [
        Answer(
            "match_vs_row_state",
            throughput.ratio(rounds, "match", "pattern_in_python"),
            "x",
            at_least(10),
            throughput.details(rounds, size),
        ),
        *(memory(name, throughput.peak_mb(rounds, name)) for name in rounds),
    ]


def with_match(kafka: DataFrame) -> DataFrame:
    """headrace: its decoder and a pattern."""
    pattern = step("small", F.col("amount") < SMALL).followed_by("large", F.col("amount") > LARGE).within("5 minutes")
    output = [F.first("small.amount").alias("small"), F.last("large.amount").alias("large")]
    matches = match(valid(decode(kafka, schema=rules.SCHEMA)), pattern, keys="customer", time="ts", output=output)
    return port(matches, "main").drop("start", "end")


def with_row_state(kafka: DataFrame) -> DataFrame:
    """PySpark's `transformWithState`: a processor of rows."""
    times = rules.from_json(kafka).withColumn("ts", F.unix_micros("ts"))
    return times.groupBy("customer").transformWithState(
        statefulProcessor=Pairs(), outputStructType=OUTPUT, outputMode="Append", timeMode="None"
    )


class Pairs(StatefulProcessor):
    """State is read once a key and batch, and written if it has changed: each is a round trip to the JVM."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.state = handle.getValueState("state", "waiting array<struct<ts bigint, amount double>>")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # noqa: ARG002, N802, N803
        state = self.state.get()
        waiting = [] if state is None else list(state[0])
        before = list(waiting)
        for row in rows:
            amount, ts = row.amount, row.ts
            if waiting:
                waiting = [one for one in waiting if ts - one[0] < WITHIN]
            if amount > LARGE:
                for one in waiting:
                    yield Row(customer=key[0], small=one[1], large=amount)
                waiting = []
            elif amount < SMALL:
                waiting.append((ts, amount))
        if waiting != before:
            self.state.update((waiting,))

    def close(self) -> None:
        pass


def oracle(values: Iterable[bytes]) -> list[tuple[str, float, float]]:
    """The same in plain Python, from the bytes on."""
    waiting: dict[str, list[tuple[datetime, float]]] = {}
    matches = []
    for value in values:
        record = json.loads(value)
        customer, amount, ts = record["customer"], record["amount"], datetime.fromisoformat(record["ts"])
        open_ones = [one for one in waiting.pop(customer, []) if (ts - one[0]).total_seconds() * 1_000_000 < WITHIN]
        if amount > LARGE:
            matches += [(customer, small, amount) for _, small in open_ones]
        else:
            waiting[customer] = [*open_ones, *([(ts, amount)] if amount < SMALL else [])]
    return sorted(matches)
