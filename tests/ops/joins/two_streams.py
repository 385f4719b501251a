"""One input as two streams, for tests of joins: records with a `side`, and what a join says of them as text."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headrace.ops.joins.sides import AT, Side, Sides
from headrace.testing.clocks import START
from headrace.testing.microbatches import MicroBatches, Operator
from headrace.testing.results import Result

_EXACT = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
SCHEMA = "side string, k string, v int, ts timestamp"
Record = tuple[str, str | None, int, datetime | None]


def at(seconds: float | None) -> datetime | None:
    return None if seconds is None else START + timedelta(seconds=seconds)


def streams(df: DataFrame, delay: str) -> tuple[DataFrame, DataFrame]:
    """The records of either side, each with a watermark of its own; the other's columns are `o` and `seen`."""
    own, other = (df.where(F.col("side") == side).drop("side").withWatermark("ts", delay) for side in ("own", "other"))
    return own, other.withColumnsRenamed({"v": "o", "ts": "seen"})


def one_stream(df: DataFrame, delay: str) -> Sides:
    """The same without a union, which real-time mode refuses of one source: one watermark for both sides."""
    own, other = (F.col("side") == side for side in ("own", "other"))
    records = df.withWatermark("ts", delay).select(
        F.col("k").alias("key_0"), F.col("ts").alias(AT),
        F.when(own, F.struct("v", F.col("ts").alias("ts", metadata={}))).alias("own"),
        F.when(other, F.struct(F.col("v").alias("o"), F.col("ts").alias("seen", metadata={}))).alias("other"),
    )  # fmt: skip
    theirs = df.select("k", F.col("v").alias("o"), F.col("ts").alias("seen")).schema
    return Sides(records, Side("own", df.drop("side").schema, ("k",), "ts"), Side("other", theirs, ("k",), "seen"))


def as_text(result: DataFrame, name: str) -> DataFrame:
    """Every row as its port and its values, so that results of several joins are one table."""
    ports = [
        F.when(F.col(f"`{port}`").isNotNull(), F.struct(F.lit(port), F.to_json(F.col(f"`{port}`"), _EXACT))) for port in result.columns
    ]
    row = F.coalesce(*ports)
    return result.select(F.lit(name).alias("name"), row["col1"].alias("port"), row["col2"].alias("row"))


def read(result: Result, name: str) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of one of them by port: values, with times as the second they are in."""

    def value(cell: Any) -> Any:
        return (datetime.fromisoformat(cell) - START).total_seconds() if isinstance(cell, str) and "T" in cell else cell

    ports: dict[str, list[tuple[Any, ...]]] = {}
    for row in result.rows:
        if row["name"] == name:
            cells = json.loads(row["row"])
            ports.setdefault(row["port"], []).append(tuple((column, value(cell)) for column, cell in cells.items() if cell is not None))
    return {port: sorted(rows, key=repr) for port, rows in ports.items()}


@dataclass(frozen=True)
class Batches:
    """Records, cut into batches, and which of them are late when each side's watermark trails its newest by `delay` seconds."""

    batches: Sequence[Sequence[Record]]
    delay: float

    @property
    def records(self) -> list[Record]:
        return [record for batch in self.batches for record in batch]

    def judged(self) -> Iterator[tuple[Record, datetime | None]]:
        """Each record with the watermark that it meets: a query's is that of its slower stream, and never falls."""
        newest: dict[str, datetime] = {}
        watermark: datetime | None = None
        for batch in self.batches:
            yield from ((record, watermark) for record in batch)
            for side, _, _, time in batch:
                if time is not None:
                    newest[side] = max(time, newest.get(side, time))
            if len(newest) == 2:
                slower = min(newest.values())
                reached = slower.replace(microsecond=slower.microsecond // 1000 * 1000) - timedelta(seconds=self.delay)  # as Spark has it
                watermark = reached if watermark is None else max(watermark, reached)

    def on_time(self, late_after: Callable[[datetime], datetime] = lambda time: time) -> tuple[list[Record], list[Record]]:
        """The records that are taken, and those that are late."""
        taken: list[Record] = []
        late: list[Record] = []
        for record, watermark in self.judged():
            time = record[3]
            late_now = time is None or (watermark is not None and late_after(time) <= watermark)
            (late if late_now else taken).append(record)
        return taken, late

    def run(self, operator: Operator) -> Result:
        """What a stream of these batches puts out, up to the end of its input."""
        with MicroBatches(operator, SCHEMA, partitions=1) as stream:
            result = stream.nothing
            for batch in self.batches:
                result += stream.feed(batch)
            return result + stream.finish()


def generated(seed: int, *, keys: int, batches: int, delay: float, disorder: int = 6) -> Batches:
    """Records of some keys in the order of time but for some seconds, with equal times, null keys, null times and late ones."""
    chance = random.Random(seed)

    def record(number: int, batch: int) -> Record:
        seconds = batch * 3 + chance.randint(-disorder, 3) + chance.choice([0, 0, 0, 0.000001, 0.5])
        key = None if chance.random() < 0.03 else f"k{chance.randrange(keys)}"
        return (chance.choice(["own", "other"]), key, number, at(None if chance.random() < 0.02 else seconds))

    size = 2 * keys
    return Batches([[record(batch * size + n, batch) for n in range(size)] for batch in range(batches)], delay)


def seconds(record: Record) -> float | None:
    return None if record[3] is None else (record[3] - START).total_seconds()


def pair(own: Record | None, other: Record | None) -> tuple[Any, ...]:
    key = (own or other or ("", None))[1]
    cells: list[tuple[str, Any]] = [("k", key)]
    cells += [] if own is None else [("v", own[2]), ("ts", seconds(own))]
    cells += [] if other is None else [("o", other[2]), ("seen", seconds(other))]
    return tuple(cell for cell in cells if cell[1] is not None)


def late_rows(late: Sequence[Record]) -> dict[str, list[tuple[Any, ...]]]:
    """The late records of both sides by port."""
    rows = {
        "late": [pair(record, None) for record in late if record[0] == "own"],
        "late_other": [pair(None, record) for record in late if record[0] == "other"],
    }
    return {port: sorted(records, key=repr) for port, records in rows.items()}
