"""`headrace sql`: a prompt for queries, with history and completion, that shows a table which keeps up."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from pyspark.sql import SparkSession
from rich.console import Console, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.text import Text

from headrace.cli.live import counted_signals
from headrace.embedded import places
from headrace.errors import HeadraceError, ModeError
from headrace.fronts.sql.catalog import Catalog
from headrace.fronts.sql.live_rows import LiveRows
from headrace.fronts.sql.reading.tokens import read
from headrace.fronts.stream import Stream
from headrace.job import Job, OutputMode
from headrace.planning.recipe import Output
from headrace.run.reports import summaries
from headrace.run.running import Running

Shown = Callable[[Running], RenderableType]

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
        first = SparkSession.getActiveSession() is None  # starting it takes some seconds
        with self.console.status("Spark starts …") if first else contextlib.nullcontext():
            result = self.catalog.run(statement)
        if isinstance(result, str):
            self.say(escape(result))
        elif isinstance(result, Output):
            self._job(result, None if result.sink.kind == "console" else _summary)
        elif self.once:
            result.show(_ROWS)
        else:
            self._live(statement, result)

    def _live(self, statement: str, stream: Stream) -> None:
        rows = LiveRows(stream)
        try:
            self._job(rows.output, lambda _: rows, rows.output_mode)
        except ModeError as error:
            query, tokens = read(statement)
            order = next((token for token in tokens if token.word == "ORDER"), None)
            if order is None or "Sorting" not in error.what:
                raise
            fix = "leave it out, or sort totals: GROUP BY … ORDER BY …; or read what there is and end: headrace sql --once"
            raise query.error(order, "rows that go on coming are never sorted", fix) from None

    def _job(self, output: Output, shown: Shown | None, output_mode: OutputMode | None = None) -> None:
        """Run it, with what is `shown` of it, to its end or Ctrl-C."""
        trigger = "once" if self.once else None
        with tempfile.TemporaryDirectory(prefix="headrace-sql-") as folder:
            job = Job("sql", output, checkpoint=folder, output_mode=output_mode, trigger=trigger)
            with job.start() as running, counted_signals() as signals, self._screen(running, shown) as draw:
                while not running.wait(_GLANCE) and not signals:
                    draw()
                draw()

    @contextlib.contextmanager
    def _screen(self, running: Running, shown: Shown | None) -> Iterator[Callable[[], None]]:
        if shown is None:  # the rows are on the screen themselves
            self.say("[dim]Ctrl-C stops it[/]")
            yield lambda: None
            return
        with Live(console=self.console, auto_refresh=False) as screen:
            yield lambda: screen.update(shown(running), refresh=True)


def _summary(running: Running) -> Text:
    return Text("; ".join([*map(summaries.words, running.snapshot()), "Ctrl-C stops it"]), style="dim")


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
