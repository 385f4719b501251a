"""`Table`: what a query stands for; `TableResult`: what running it gives."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from headrace.errors import unknown_name
from headrace.fronts.flink.printing import plain
from headrace.fronts.flink.streams.datastream import CloseableIterator, DataStream
from headrace.fronts.sql.explain import explain
from headrace.fronts.stream import Stream

if TYPE_CHECKING:
    from headrace.fronts.flink.environment import JobClient
    from headrace.fronts.flink.tables.environment import StreamTableEnvironment

_SQL = "write it as SQL: t_env.sql_query('SELECT … FROM name'), with t_env.create_temporary_view('name', table)"
_HINTS = dict.fromkeys(
    ("select", "where", "filter", "group_by", "window", "join", "left_outer_join", "union_all", "order_by", "distinct", "over_window",
     "flat_aggregate", "add_columns", "drop_columns", "alias", "limit", "fetch", "map", "aggregate"), _SQL,
) | {"to_pandas": "list(table.execute().collect())", "print_schema": "print(table)"}  # fmt: skip


class Table:
    """A query, or a stream as a table. Expressions of Flink's Table API (`select(col(…))`) are not there: SQL is."""

    def __init__(self, t_env: StreamTableEnvironment, stream: Stream) -> None:
        self._t_env, self._stream = t_env, stream

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise unknown_name("a Table", name, [each for each in dir(type(self)) if not each.startswith("_")], _HINTS)

    def __repr__(self) -> str:
        return f"Table[{', '.join(f'{field.name}: {field.dataType.simpleString()}' for field in self._stream.schema)}]"

    def get_column_names(self) -> list[str]:
        """The names of its columns."""
        return self._stream.columns

    def execute(self) -> TableResult:
        """What it gives: `collect()`, or `print()`."""
        return TableResult(self._stream.columns, rows=lambda: self._t_env._rows(self), endless=lambda: self._t_env._print_endless(self))

    def execute_insert(self, table_path: str) -> TableResult:
        """Its rows into a table that CREATE TABLE declared; it starts, as `execute_sql("INSERT INTO …")` does."""
        return self._t_env._started([self._t_env._insert(table_path, self)])

    def explain(self) -> str:
        """Its steps, which modes have them, and what is kept."""
        return explain(self._stream)

    def to_stream(self) -> Stream:
        """The same in headrace's own words."""
        return self._stream


class TableResult:
    """Of a query its rows, of INSERT INTO the job that runs, of other statements what they say."""

    def __init__(
        self,
        columns: list[str],
        *,
        rows: Callable[[], list[Any]] = list,
        client: JobClient | None = None,
        endless: Callable[[], bool] = bool,
    ) -> None:
        self._columns, self._rows, self._client, self._endless = columns, rows, client, endless

    def collect(self) -> CloseableIterator:
        """The rows, as `Row`. The sources must have an end."""
        return CloseableIterator(self._rows())

    def print(self) -> None:
        """The rows as a table on the driver's output; of a stream without an end, each row when it comes."""
        if self._endless():
            return
        rows = [[plain(value) for value in row] for row in self._rows()]
        widths = [max(len(name), *(len(row[i]) for row in rows), 0) for i, name in enumerate(self._columns)]
        line = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
        parts = [line, _line(self._columns, widths), line, *(_line(row, widths) for row in rows), *([line] if rows else [])]
        sys.stdout.write("\n".join([*parts, f"{len(rows)} row{'' if len(rows) == 1 else 's'} in set"]) + "\n")

    def wait(self, timeout_ms: int | None = None) -> None:
        """Until the job that it started has ended; one without an end runs until it fails or is stopped."""
        if self._client is not None:
            self._client.running.wait(None if timeout_ms is None else timeout_ms / 1000)

    def get_job_client(self) -> JobClient | None:
        """The job, if it is one that runs by itself."""
        return self._client


def _line(values: list[str], widths: list[int]) -> str:
    return "| " + " | ".join(value.rjust(width) for value, width in zip(values, widths, strict=True)) + " |"


def table_of(stream: DataStream) -> tuple[Stream, str | None]:
    """A DataStream as rows of its fields, and the column that is their time."""
    part = stream._made()
    rows = stream.to_stream()
    if rows.columns[:1] == ["value"] and not part.type.has_fields:
        rows = rows.rename(value="f0")
    return rows, "time" if part.has_time else None
