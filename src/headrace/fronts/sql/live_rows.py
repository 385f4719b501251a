"""The rows of a query that runs, as a table that keeps up: at the prompt and in a notebook."""

from __future__ import annotations

import time
from collections.abc import Callable

from pyspark.sql import DataFrame, Row
from pyspark.sql.types import TimestampNTZType, TimestampType
from rich.console import Group
from rich.jupyter import JupyterMixin
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from headrace.errors import ModeError
from headrace.fronts.sql.ranking import IDENTITY
from headrace.fronts.stream import Stream
from headrace.job import OutputMode
from headrace.ops.windows import put_out
from headrace.planning import output_modes, plans, recipe
from headrace.planning.recipe import Output

_ROWS = 20
_MOST = 10_000  # rows of a table whose rows change


class LiveRows(JupyterMixin):
    """The result of a query as it is now: totals and windows, which Spark can put out as a whole, and the best of each key, whose rows are
    known by key and rank. Of others the rows that came last.

    A result that is longer than the table is cut; one with times, such as windows, to the newest, unless it has an order of its own.
    """

    def __init__(self, stream: Stream) -> None:
        self.changed: Callable[[], object] = lambda: None
        """Called whenever there are others."""
        self.output = stream.to.callback(self.add, name="rows")
        self.output_mode: OutputMode | None = "complete" if _whole(self.output) else None
        self._columns = stream.columns
        times = [field.name for field in stream.schema if isinstance(field.dataType, TimestampType | TimestampNTZType)]
        self._times = times if "Sort" not in stream.step.kinds else []  # its own order stays
        marked = {field.name: field.metadata[IDENTITY] for field in stream.schema if IDENTITY in field.metadata}
        self._identity = [*marked] if marked and len(marked) == max(marked.values()) else []
        self._known: dict[tuple[object, ...], Row] = {}
        self._rows: list[Row] = []
        self._count = 0

    def add(self, frame: DataFrame, batch: int) -> None:  # noqa: ARG002 - as a callback is called
        """What a batch has put out."""
        frame.persist()
        try:
            if self.output_mode == "complete":
                newest = frame.orderBy(*(f"`{name}`" for name in self._times)) if self._times else frame
                self._rows, self._count = newest.tail(_ROWS) if self._times else frame.head(_ROWS), frame.count()
            elif self._identity:
                self._rows, self._count = self._best(frame)
            else:
                self._rows, self._count = [*self._rows, *frame.tail(_ROWS)][-_ROWS:], self._count + frame.count()
        finally:
            frame.unpersist()
        self.changed()

    def _best(self, frame: DataFrame) -> tuple[list[Row], int]:
        for row in frame.toLocalIterator():
            self._known[tuple(row[name] for name in self._identity)] = row
            if len(self._known) > _MOST:
                del self._known[next(iter(self._known))]
        rows = sorted(self._known.items(), key=lambda item: [(value is None, value) for value in item[0]])
        return [row for _, row in rows[:_ROWS]], len(rows)

    def __rich__(self) -> Group:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for column in self._columns:
            table.add_column(escape(column))
        for row in self._rows:
            table.add_row(*(Text("null", style="dim") if value is None else Text(str(value)) for value in row))
        return Group(table, Text(self._summary(), style="dim"))

    def _summary(self) -> str:
        if not self._count:
            return "no rows yet"
        which = "first" if self._identity or (self.output_mode == "complete" and not self._times) else "newest"
        some = "" if self._count <= _ROWS else f"the {which} {_ROWS} of "
        return f"{some}{self._count:,} row{'' if self._count == 1 else 's'}, {time.strftime('%H:%M:%S')}"


def _whole(output: Output) -> bool:
    """Whether its result can be put out as a whole, each time."""
    try:
        output_modes.choose([output], "complete", real_time=False)
    except ModeError:
        return False
    with put_out("complete"):
        return plans.refusal(recipe.previewed(output.step), "complete") is None
