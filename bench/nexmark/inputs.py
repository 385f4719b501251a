"""Some events in the order in which they arrive: as batches of rows for a stream, and as tables of a database."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import duckdb
import pyarrow as pa
from pyspark.sql import functions as F

from bench.nexmark.events import VIEWS
from bench.nexmark.generator import Pace, events
from headrace import session

_JITTER = 3_900  # milliseconds: within what the watermark waits


@dataclass(frozen=True)
class Input:
    """`table` has the columns of every event, a row for each in the order of arrival."""

    table: pa.Table

    @staticmethod
    def of(count: int, pace: Pace, *, disordered: bool = False) -> Input:
        """The first events at that pace. Disordered, each comes up to 3.9 s later than it happened: so it is never late."""
        numbers = session().range(count)
        delay = F.pmod(F.xxhash64("id", F.lit("delay")), F.lit(_JITTER)) if disordered else F.lit(0)
        arrivals = numbers.select("id", (pace.millis(F.col("id")) + delay).alias("at")).orderBy("at", "id").select("id")
        table = events(arrivals.coalesce(1), pace).toArrow()
        plain = [field.with_type(pa.timestamp("us")) if pa.types.is_timestamp(field.type) else field for field in table.schema]
        return Input(table.cast(pa.schema(plain)))

    def batches(self, number: int) -> list[list[dict[str, Any]]]:
        """The rows in so many parts of about the same size."""
        cuts = [self.table.num_rows * i // number for i in range(number + 1)]
        return [self.table.slice(start, end - start).to_pylist() for start, end in pairwise(cuts)]

    def database(self) -> duckdb.DuckDBPyConnection:
        """The tables `person`, `auction` and `bid`. Beside the columns of Nexmark they have `arrival`, the place in the stream."""
        database = duckdb.connect(":memory:", config={"threads": 2})
        database.register("events", self.table.append_column("arrival", pa.array(range(self.table.num_rows))))
        for name, (kind, fields) in VIEWS.items():
            columns = ", ".join(f'{name}_{field} AS "{field}"' for field in fields)
            database.execute(f"CREATE TABLE {name} AS SELECT {columns}, dateTime, arrival FROM events WHERE event_type = {kind}")
        return database
