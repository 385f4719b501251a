"""`%%sql` for notebooks: `%load_ext headrace.fronts.sql.magic`.

    %%sql counts                      names the stream; without a name its first rows are shown
    SELECT page, count(*) AS n FROM clicks GROUP BY page

    %%sql --live                      a table that keeps up; what the cell gives is the running job, to stop it
    SELECT page, count(*) AS n FROM clicks GROUP BY page

Streams, tables and DataFrames of the notebook are known by their names. The statements are those of the prompt: `EXPLAIN SELECT …`,
`CREATE STREAM clicks FROM kafka.clicks …`, which makes a name of the notebook; of `INSERT INTO` a cell gives the output, for a `Job`.
"""

from __future__ import annotations

import tempfile
from typing import Any

from pyspark.sql import DataFrame

from headrace.errors import DefinitionError, HeadraceError, QueryError
from headrace.fronts.sql.catalog import Catalog
from headrace.fronts.sql.live_rows import LiveRows
from headrace.fronts.stream import Stream
from headrace.io.tables import Table
from headrace.job import Job
from headrace.planning.recipe import Output
from headrace.run.running import Running

_ROWS = 20
_LIVE = "--live"


def load_ipython_extension(ipython: Any) -> None:
    """What `%load_ext` calls."""
    ipython.register_magic_function(lambda line, cell: cell_magic(ipython, line, cell), "cell", "sql")


def cell_magic(ipython: Any, line: str, cell: str) -> Any:
    """What a cell gives: nothing if its stream was given a name, or was shown; the output of INSERT INTO; the job of --live."""
    try:
        return _run(ipython.user_ns, line.strip(), cell)
    except HeadraceError as error:
        if isinstance(error, QueryError):
            error.where = None  # the query is this cell, and the word is shown
        in_words = f"{type(error).__name__}: {error}"
        error._render_traceback_ = lambda: [in_words]  # type: ignore[attr-defined]  # so IPython asks what to show
        raise


def _run(space: dict[str, Any], line: str, cell: str) -> Any:
    if line not in ("", _LIVE) and not line.isidentifier():
        raise DefinitionError(f"%%sql {line}: this is no name", fix=f"write %%sql, %%sql name or %%sql {_LIVE}")
    known = {name: value for name, value in space.items() if isinstance(value, Stream | Table | DataFrame) and not name.startswith("_")}
    catalog = Catalog()
    catalog.names |= known
    result = catalog.run(cell)
    space |= {name: value for name, value in catalog.names.items() if known.get(name) is not value}  # what was created
    if isinstance(result, str):
        print(result)  # noqa: T201 - into the cell's output
    elif isinstance(result, Output):
        return result
    elif line == _LIVE:
        return _live(result)
    elif line:
        space[line] = result
    else:
        result.show(_ROWS)
    return None


def _live(stream: Stream) -> Running:
    from IPython.display import display  # type: ignore[import-not-found,unused-ignore]  # only a notebook has it

    rows = LiveRows(stream)
    handle = display(rows, display_id=True)  # type: ignore[no-untyped-call]
    rows.changed = lambda: handle.update(rows)
    folder = tempfile.TemporaryDirectory(prefix="headrace-sql-", ignore_cleanup_errors=True)  # also if the kernel ends before the job
    running = Job("sql", rows.output, checkpoint=folder.name, output_mode=rows.output_mode).start()
    running.at_end(folder.cleanup)
    return running
