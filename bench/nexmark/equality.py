"""Does a program give the rows that DuckDB gives for the same events?

Rows are compared as multisets. Of a program that updates a table the last row of each key counts. Streams are brought to their end: in
micro-batches by the trigger `finish`, in real time by an event that is far later than the others.

What goes by the clock is compared in micro-batches, with a clock that stands still in each. In a batch and in real time nobody knows what
the clock will say: there the counts of each key are added up, and the sums are compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.nexmark.events import SCHEMA
from bench.nexmark.inputs import NOBODY, STEP, Input
from bench.nexmark.queries import QUERIES
from bench.nexmark.query import Query
from headrace import Job, finish, read
from headrace.planning.table import Mode
from headrace.testing import MicroBatches, shapes
from headrace.testing.recipes import between

Rows = Counter[tuple[Any, ...]]


@dataclass(frozen=True)
class Difference:
    """Rows that only the program gives, and rows that only DuckDB gives; false if there are none."""

    ours: Rows
    theirs: Rows

    def __bool__(self) -> bool:
        return bool(self.ours or self.theirs)

    def __str__(self) -> str:
        both = {"headrace": self.ours, "DuckDB": self.theirs}
        return "; ".join(f"{rows.total()} rows only by {whose}, such as {next(iter(rows))}" for whose, rows in both.items() if rows)


def differences(events: Input, names: Sequence[str], mode: Mode) -> dict[str, Difference]:
    """For each query. In batches and micro-batches they are one job; in real time one runs after the other."""
    queries = {name: QUERIES[name] for name in names}
    if mode == "real-time":
        rows = {name: _in_real_time(events, query) for name, query in queries.items()}
    else:
        alone = {name: query for name, query in queries.items() if query.by_clock and mode == "micro-batch"}
        rows = _in_one_job(events, {name: query for name, query in queries.items() if name not in alone}, mode)
        rows |= {name: _by_the_clock(events, query) for name, query in alone.items()}
    return {
        name: _difference(events, query, rows[name], summed=query.by_clock and mode != "micro-batch") for name, query in queries.items()
    }


def _difference(events: Input, query: Query, rows: Sequence[Any], *, summed: bool) -> Difference:
    if query.latest_by:
        rows = [*{tuple(row[key] for key in query.latest_by): row for row in rows}.values()]
    ours, theirs = Counter(map(tuple, rows)), Counter(events.database.execute(query.answer).fetchall())
    if summed:
        ours, theirs = _sums(ours), _sums(theirs)
    return Difference(ours - theirs, theirs - ours)


def _sums(rows: Rows) -> Rows:
    """The counts, which are the second column, by the key, which is the first."""
    sums: Counter[Any] = Counter()
    for row in rows.elements():
        sums[row[0]] += row[1]
    return Counter(sums.items())


def _in_one_job(events: Input, queries: dict[str, Query], mode: Mode) -> dict[str, Sequence[Any]]:
    source = read.memory(SCHEMA, *events.parts)
    outputs = {name: query.program(source).to.memory(name) for name, query in queries.items()}
    if outputs:
        Job("nexmark", *outputs.values(), trigger=finish).run(mode)
    return {name: output.sink.rows for name, output in outputs.items()}  # type: ignore[attr-defined]


def _by_the_clock(events: Input, query: Query) -> Sequence[Any]:
    source = read.memory(SCHEMA)
    with MicroBatches(between(source, query.program(source)), SCHEMA) as stream:
        for part in events.parts:
            stream.push(stream.source.java(part))
            stream.clock.advance(STEP)
        return stream.output().rows


def _in_real_time(events: Input, query: Query) -> Sequence[Any]:
    source = read.memory(SCHEMA)
    result = shapes.REAL_TIME.run(between(source, query.program(source)), events.rows, SCHEMA, closing=[events.closing])
    whose = [name for name in ("auction", "bidder") if name in result.schema.names]
    return [row for row in result.rows if all(row[name] != NOBODY for name in whose)]
