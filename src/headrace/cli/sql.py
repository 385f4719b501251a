"""`headrace sql`: a prompt for queries, with history and completion, that shows a table which keeps up."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from pyspark.sql import DataFrame
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from headrace.cli.live import counted_signals
from headrace.embedded import places
from headrace.errors import HeadraceError
from headrace.fronts.sql.catalog import Catalog
from headrace.fronts.stream import Stream
from headrace.job import Job
from headrace.planning.recipe import Output

_ROWS = 20
_ALONE = ("help", "?")  # need no semicolon
_GLANCE = 0.25
_HELP = """A statement ends with a semicolon.
  CREATE STREAM clicks FROM kafka.clicks (page string, at timestamp) EVENT TIME at DELAY 10 seconds;
  CREATE STREAM pages AS SELECT …;   SHOW STREAMS;   SHOW TOPICS;   DESCRIBE clicks;   EXPLAIN SELECT …;
  SELECT …;                          a table that keeps up, until Ctrl-C
  INSERT INTO kafka.topic SELECT …;  a job, until Ctrl-C
  quit, or Ctrl-D"""


def prompt(
    query: Annotated[list[str], typer.Option("--execute", "-e", help="Run this statement, and end. May be given again.")] = [],  # noqa: B006
    all_there_is: Annotated[bool, typer.Option("--once", help="Read what there is, and do not wait for more.")] = False,
) -> None:
    """Ask streams in SQL. `help` says what there is."""
    shell = Shell(Catalog(), once=all_there_is)
    if query:
        for statement in query:
            shell.run(statement)
        return
    with _history(shell.catalog):
        for statement in statements(_lines()):
            try:
                shell.run(statement)
            except HeadraceError as error:
                shell.say(f"[red]error[/] {escape(str(error))}")
            except KeyboardInterrupt:  # before there was a job to stop
                shell.say("stopped")


def statements(lines: Iterable[str | None]) -> Iterator[str]:
    """What is written up to a semicolon at the end of a line; `help` and `quit` need none. None drops what was begun."""
    written: list[str] = []
    for line in lines:
        if line is None or (not written and line.strip() == ";"):
            written = []
            continue
        if not written and line.strip().rstrip(";").lower() in ("quit", "exit"):
            return
        if not written and line.strip().rstrip(";").lower() in _ALONE:
            yield "help"
            continue
        if line.strip() or written:
            written.append(line)
        if line.rstrip().endswith(";"):
            yield "\n".join(written)
            written = []


class Shell:
    """Runs statements, and shows what they give."""

    def __init__(self, catalog: Catalog, *, once: bool = False, console: Console | None = None) -> None:
        self.catalog, self.once, self.console = catalog, once, console or Console(highlight=False, soft_wrap=True)

    def say(self, text: str) -> None:
        self.console.print(text)

    def run(self, statement: str) -> None:
        if statement == "help":
            self.say(escape(_HELP))
            return
        result = self.catalog.run(statement)
        if isinstance(result, str):
            self.say(escape(result))
        elif isinstance(result, Output):
            self._job(result, None, "the job runs until Ctrl-C")
        elif self.once:
            result.show(_ROWS)
        else:
            self._live(result)

    def _live(self, stream: Stream) -> None:
        """Totals as they are; of other rows, the last ones."""
        rows = Rows(stream.columns, whole="Aggregate" in stream.step.kinds)
        self._job(stream.to.callback(rows.add, name="rows"), rows, "Ctrl-C stops it")

    def _job(self, output: Output, rows: Rows | None, note: str) -> None:
        whole = {"output_mode": "complete"} if rows is not None and rows.whole else {}
        trigger = {"trigger": "once"} if self.once else {}
        with tempfile.TemporaryDirectory(prefix="headrace-sql-") as folder:
            job = Job("sql", output, checkpoint=folder, **whole, **trigger)  # type: ignore[arg-type]
            with job.start() as running, counted_signals() as signals, Live(console=self.console, auto_refresh=False) as screen:
                while not running.wait(_GLANCE) and not signals:
                    screen.update(rows.table() if rows is not None else Text(note, style="dim"), refresh=True)
                if rows is not None:
                    screen.update(rows.table(), refresh=True)


class Rows:
    """The rows that a query has put out: all of its last batch, if that is the `whole` result, or the last ones."""

    def __init__(self, columns: list[str], *, whole: bool) -> None:
        self.columns, self.whole, self.rows, self.count = columns, whole, [], 0  # type: ignore[var-annotated]

    def add(self, frame: DataFrame, batch: int) -> None:  # noqa: ARG002
        if self.whole:
            self.rows, self.count = frame.limit(_ROWS).collect(), frame.count()
        else:
            frame.persist()
            self.rows, self.count = [*self.rows, *frame.tail(_ROWS)][-_ROWS:], self.count + frame.count()
            frame.unpersist()

    def table(self) -> Table:
        shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", caption=self._caption(), caption_justify="left")
        for column in self.columns:
            shown.add_column(escape(column))
        for row in self.rows:
            shown.add_row(*(Text("null", style="dim") if value is None else Text(str(value)) for value in row))
        return shown

    def _caption(self) -> str:
        return f"{self.count:,} rows, {time.strftime('%H:%M:%S')}" if self.count else "no rows yet"


def _lines() -> Iterator[str | None]:
    number = 0
    while True:
        try:
            line = input("sql> " if not number else "...> ")
        except EOFError:
            return
        except KeyboardInterrupt:  # what was begun is left
            typer.echo()
            number = 0
            yield None
            continue
        alone = not number and line.strip().lower() in ("", *_ALONE)
        number = 0 if alone or line.rstrip().endswith(";") else number + 1
        yield line


@contextlib.contextmanager
def _history(catalog: Catalog) -> Iterator[None]:
    """Lines of earlier prompts, and Tab. readline is Python's own; prompt_toolkit would be one more package, for colours."""
    import readline  # which does something to the terminal

    file = Path(places.data()) / "sql_history"

    def complete(text: str, state: int) -> Any:
        matching = catalog.completions(text)
        return matching[state] if state < len(matching) else None

    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n,;()[]=<>!+*/%|'\"")  # a topic's name may have a dash
    readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")
    with contextlib.suppress(OSError):
        readline.read_history_file(file)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            readline.set_history_length(1000)
            readline.write_history_file(file)
