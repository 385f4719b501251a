"""SQL over streams: `hr.sql("SELECT … FROM clicks …", clicks=stream)`.

What Spark's SQL can do on a stream is Spark's own: expressions, functions, conditions, tables. What it cannot is recognised here, and is
an operator of headrace: windows in FROM, their triggers (EMIT), joins of streams, the best of each key (ROW_NUMBER), aggregates along the
records of a key (OVER), patterns (MATCH_RECOGNIZE). See the page of the guide for what maps to what.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame

from headrace.definitions import arguments
from headrace.errors import DefinitionError, user_line
from headrace.fronts.sql import sinks, translate
from headrace.fronts.sql.reading.syntax import statement
from headrace.fronts.sql.reading.tokens import read
from headrace.fronts.sql.relations import Names, of_argument
from headrace.fronts.stream import Stream
from headrace.io.tables import Table
from headrace.planning.recipe import Output

Given = Stream | Table | DataFrame | Callable[[Stream], Output]


def sql(query: str, /, **names: Given) -> Any:
    """The stream that a query in SQL stands for; of `INSERT INTO sink SELECT …`, the output that a `Job` runs.

    >>> import headrace as hr
    >>> clicks = hr.read.memory("page string, at timestamp").event_time("at", "10 seconds")
    >>> hr.sql('''
    ...     SELECT window_start, page, count(*) AS n
    ...     FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(at), INTERVAL '1' MINUTE))
    ...     GROUP BY window_start, window_end, page
    ... ''', clicks=clicks)
    Stream[window_start: timestamp, page: string, n: bigint]

    names  what the query calls by name: streams; tables, `hr.table(…)` or a DataFrame; and, for INSERT INTO, functions from a stream to its
           output: `totals=lambda rows: rows.to.kafka("totals")`. A name that is not given is one of Spark's catalog.

    The time of a stream, and how late records may come, is what its `event_time` says. Which modes have it, and what is kept, is that of
    the operators it becomes. A mistake is a `QueryError` that points at the word.
    """
    arguments.text("sql", query)
    written, tokens = read(query)
    tree = statement(tokens, written)
    known: Names = {}
    outputs: dict[str, Callable[[Stream], Output]] = {}
    for name, value in names.items():
        if (relation := of_argument(name, value)) is not None:
            known[name.lower()] = relation
        elif callable(value):
            outputs[name.lower()] = value
        else:
            raise DefinitionError(
                f"sql: {name}={arguments.shown(value)} is neither a stream nor a table",
                fix="give a stream, hr.table(…), a DataFrame; or for INSERT INTO a function: lambda rows: rows.to.kafka('topic')",
                where=user_line(),
            )
    result = translate.relation(tree.query, known, written)
    if not result.streaming:
        raise written.error(
            tokens[0], "there is no stream in the query", "give one by its name: hr.sql(…, clicks=stream); for tables there is spark.sql"
        )
    stream = result.rows(written)
    return sinks.output(stream, tree.into, outputs, written) if tree.into else stream
