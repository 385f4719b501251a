"""Some events in the order in which they arrive: as batches of rows for a stream, and as tables of a database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from itertools import pairwise
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from bench.nexmark.events import VIEWS
from bench.nexmark.generator import BID, Pace, events
from headrace import session
from headrace.testing.clocks import START

_JITTER = 3_900  # milliseconds: within what the watermark waits
STEP = timedelta(seconds=6)  # of the clock from one micro-batch to the next
NOBODY = -1  # who bids a day later than all others, on what is not there


@dataclass(frozen=True)
class Input:
    """`table` has the columns of every event, a row for each in the order of arrival; they come in so many micro-batches."""

    table: pa.Table
    batches: int = 3

    @staticmethod
    def of(count: int, pace: Pace, *, disordered: bool = False) -> Input:
        """The first events at that pace. Disordered, each comes up to 3.9 s later than it happened: so it is never late."""
        numbers = session().range(count)
        delay = F.pmod(F.xxhash64("id", F.lit("delay")), F.lit(_JITTER)) if disordered else F.lit(0)
        arrivals = numbers.select("id", (pace.millis(F.col("id")) + delay).alias("at")).orderBy("at", "id").select("id")
        table = events(arrivals.coalesce(1), pace).toArrow()
        plain = [field.with_type(pa.timestamp("us")) if pa.types.is_timestamp(field.type) else field for field in table.schema]
        return Input(table.cast(pa.schema(plain)))

    @cached_property
    def parts(self) -> list[list[dict[str, Any]]]:
        """The rows of each micro-batch."""
        return [self.table.slice(start, end - start).to_pylist() for start, end in pairwise(self._cuts)]

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for part in self.parts for row in part]

    @property
    def closing(self) -> tuple[Any, ...]:
        """A bid that moves the watermark past all events."""
        last = pc.max(self.table["dateTime"]).as_py() + timedelta(days=1)
        values = {"event_type": BID, "dateTime": last, "bid_auction": NOBODY, "bid_bidder": NOBODY, "bid_price": 0}
        return tuple(values.get(name) for name in self.table.column_names)

    @cached_property
    def database(self) -> duckdb.DuckDBPyConnection:
        """The tables `person`, `auction` and `bid`. Beside the columns of Nexmark they have `arrival`, the place in the stream, and
        `clock`, the time at which the micro-batch of the event is processed."""
        sizes = [end - start for start, end in pairwise(self._cuts)]
        clock = [(START + number * STEP).replace(tzinfo=None) for number, size in enumerate(sizes) for _ in range(size)]
        more = {"arrival": pa.array(range(len(clock))), "clock": pa.array(clock, pa.timestamp("us"))}
        database = duckdb.connect(":memory:", config={"threads": 2})
        table = self.table
        for name, values in more.items():
            table = table.append_column(name, values)
        database.register("events", table)
        for name, (kind, fields) in VIEWS.items():
            columns = ", ".join(f'{name}_{field} AS "{field}"' for field in fields)
            database.execute(f"CREATE TABLE {name} AS SELECT {columns}, dateTime, {', '.join(more)} FROM events WHERE event_type = {kind}")
        return database

    @property
    def _cuts(self) -> list[int]:
        return [self.table.num_rows * number // self.batches for number in range(self.batches + 1)]
