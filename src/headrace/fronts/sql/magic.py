"""`%%sql` for notebooks: `%load_ext headrace.fronts.sql.magic`.

    %%sql counts                      names the stream; without a name its first rows are shown
    SELECT page, count(*) AS n FROM clicks GROUP BY page

    %%sql --live                      a table that keeps up; what the cell gives is the running job, to stop it
    SELECT page, count(*) AS n FROM clicks GROUP BY page

Streams, tables and DataFrames of the notebook are known by their names.
"""

from __future__ import annotations

import tempfile
from typing import Any

from pyspark.sql import DataFrame

from headrace.fronts.sql import sql
from headrace.fronts.sql.reading.tokens import read
from headrace.fronts.stream import Stream
from headrace.io.tables import Table
from headrace.job import Job
from headrace.planning.recipe import Output

_ROWS = 20


def load_ipython_extension(ipython: Any) -> None:
    """What `%load_ext` calls."""
    ipython.register_magic_function(lambda line, cell: cell_magic(ipython, line, cell), "cell", "sql")


def cell_magic(ipython: Any, line: str, cell: str) -> Any:
    """What a cell gives: nothing if its stream was given a name, or was shown; the output of INSERT INTO; the job of --live."""
    names = {token.name for token in read(cell)[1] if token.is_name}
    space: dict[str, Any] = ipython.user_ns
    known = {name: space[name] for name in names if isinstance(space.get(name), Stream | Table | DataFrame)}
    result = sql(cell, **known)
    words = line.split()
    if isinstance(result, Output):
        return result
    if "--live" in words:
        return _live(result)
    if words:
        space[words[0]] = result
    else:
        result.show(_ROWS)
    return None


def _live(stream: Stream) -> Any:
    from IPython.display import display  # type: ignore[import-not-found,unused-ignore]  # only a notebook has it

    handle = display(stream.schema.simpleString(), display_id=True)  # type: ignore[no-untyped-call]
    whole = "Aggregate" in stream.step.kinds

    def show(rows: DataFrame, batch: int) -> None:  # noqa: ARG001
        handle.update(rows.limit(_ROWS).toPandas())

    folder = tempfile.mkdtemp(prefix="headrace-sql-")
    return Job("sql", stream.to.callback(show, name="rows"), checkpoint=folder, output_mode="complete" if whole else None).start()
