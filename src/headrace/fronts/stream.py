"""The stream: what to do with records, said once, for all three modes.

    >>> import headrace as hr
    >>> from pyspark.sql import functions as F
    >>> lines = hr.read.memory("line string")
    >>> words = lines.select(F.explode(F.split("line", " ")).alias("word"))
    >>> counts = words.key_by("word").agg(F.count("*").alias("n"))
    >>> counts
    Stream[word: string, n: bigint]

A stream is a recipe and never changes: each method returns another one. Every method is a function from DataFrame to DataFrame over Spark's
own columns, and `then` takes any such function of yours. Name columns with `F.col` (or in text); a column of one particular DataFrame,
`df.x`, belongs to that DataFrame alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headrace.decoding import records
from headrace.decoding.formats import Format
from headrace.decoding.times import Times
from headrace.definitions import arguments, durations
from headrace.definitions.arguments import Condition
from headrace.definitions.schemas import Schema
from headrace.errors import DefinitionError, user_line
from headrace.fronts import hints, printed
from headrace.fronts.joining import Joining
from headrace.fronts.keyed import Keyed
from headrace.fronts.to import To
from headrace.fronts.windowed import Windowed, WindowOptions
from headrace.io.tables import Table
from headrace.kernel import branches
from headrace.kernel.event_time import timed, united
from headrace.kernel.python.mapping import Kind, PythonOptions, map_python
from headrace.kernel.scan import LATE, MAIN, port
from headrace.ops.ahead import FUTURE, plausible
from headrace.ops.joins.sides import LATE_OTHER
from headrace.ops.windows import Window
from headrace.planning import groups, recipe
from headrace.planning.recipe import Step
from headrace.run import looks
from headrace.spark import failures

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]


class Stream(Joining):
    """Records with named columns, and the recipe for them. `hr.read` makes the first one; each method makes another."""

    def __init__(self, step: Step, ports: Mapping[str, Step] | None = None) -> None:
        self.step, self._ports = step, dict(ports or {})

    @property
    def schema(self) -> StructType:
        """The columns and their types, as Spark has them."""
        return self.step.preview.schema

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self.step.preview.columns

    if not TYPE_CHECKING:  # a type checker shall go on to find wrong names by itself

        def __getattr__(self, name: str) -> NoReturn:
            raise hints.of_stream(self, name)

        def __getitem__(self, name: object) -> NoReturn:
            raise hints.of_column(name)

        __iter__ = None

    def __repr__(self) -> str:
        return f"Stream[{', '.join(f'{field.name}: {field.dataType.simpleString()}' for field in self.schema)}]"

    def _then(self, operator: str, apply: Callable[..., DataFrame], *others: Stream, row: str | None = None, **state: Any) -> Stream:
        """Another step. `row` is its row in the table of modes, if that is not called like the operator."""
        return Stream(recipe.grow(operator, apply, self.step, *(other.step for other in others), row=row or operator, state=state))

    def _parted(self, operator: str, ports: Sequence[str]) -> Stream:
        """This stream, whose rows are each of one of these ports, as the stream of the main one with the others at it."""
        if len(ports) == 1:
            return self
        others = {
            name: recipe.grow(f"{operator}.{name}", partial(port, name=name), self.step, row="port") for name in ports if name != MAIN
        }
        lost = {name: step for name, step in others.items() if name in (LATE, LATE_OTHER, FUTURE, "dead_letters")}
        return Stream(recipe.grow(operator, partial(port, name=MAIN), self.step, row="port", beside=lost), others)

    # -- records, one at a time ------------------------------------------------------------------------------------------------------

    def select(self, *columns: str | Column) -> Stream:
        """These columns and no others; a column may be computed, or explode into many rows.

        >>> import headrace as hr
        >>> hr.read.memory("n int").select("n", (F.col("n") * 2).alias("twice"))
        Stream[n: int, twice: int]
        """
        if not columns:
            raise DefinitionError("select: no column is named", fix=f"name some of {', '.join(self.columns)}", where=user_line())
        for column in columns:
            arguments.columns("select", column)
        return self._then("select", lambda df: df.select(*columns))

    def where(self, condition: str | Column) -> Stream:
        """The records for which the condition is true (not null, not false): a column, or text such as `"amount > 100"`."""
        arguments.expression("where", condition)
        return self._then("where", lambda df: df.where(condition))

    def with_columns(self, **columns: Column) -> Stream:
        """More columns, or other values for some.

        >>> import headrace as hr
        >>> hr.read.memory("n int").with_columns(even=F.col("n") % 2 == 0)
        Stream[n: int, even: boolean]
        """
        for name, column in columns.items():
            arguments.column(f"with_columns: {name}", column)
        return self._then("with_columns", lambda df: df.withColumns(columns))

    def drop(self, *columns: str) -> Stream:
        """All but these columns."""
        names = arguments.names("drop", columns)
        self._refuse_unknown("drop", names)
        if set(self.columns) <= set(names):
            raise DefinitionError("drop: no column would be left", fix="keep at least one of them", where=user_line())
        return self._then("drop", lambda df: df.drop(*columns))

    def _refuse_unknown(self, operator: str, columns: Iterable[str]) -> None:
        """Where Spark would say nothing."""
        if unknown := [column for column in columns if column not in self.columns]:
            raise DefinitionError(
                f"{operator}: there is no column {unknown[0]!r}", fix=f"the columns are {', '.join(self.columns)}", where=user_line()
            )

    def rename(self, **names: str) -> Stream:
        """Other names for some columns: `rename(at="paid_at")`. An event time stays one."""
        self._refuse_unknown("rename", names)
        after = [names.get(column, column) for column in self.columns]
        if twice := [name for name in after if after.count(name) > 1]:
            raise DefinitionError(f"rename: there would be two columns {twice[0]!r}", fix="choose another name", where=user_line())
        return self._then("rename", lambda df: df.withColumnsRenamed(names))

    def then(self, function: Callable[..., DataFrame], /, *args: Any, **kwargs: Any) -> Stream:
        """Any function from DataFrame to DataFrame, with further arguments. It is called once now, with no rows, and again whenever a job
        starts. What it does is judged by Spark's plan: it may keep state, and is refused in a mode that does not have what it uses. Streams
        and tables among the arguments reach it as DataFrames.

        >>> import headrace as hr
        >>> hr.read.memory("n int, at timestamp").then(DataFrame.dropDuplicates, ["n"])
        Stream[n: int, at: timestamp]
        """
        name = getattr(function, "__name__", type(function).__name__)
        arguments.function("then", function, "df", *map(arguments.shown, args), **kwargs)
        others = [value for value in (*args, *kwargs.values()) if isinstance(value, Stream)]

        def apply(df: DataFrame, *frames: DataFrame) -> DataFrame:
            more = iter(frames)

            def opened(value: Any) -> Any:
                return next(more) if isinstance(value, Stream) else value.open() if isinstance(value, Table) else value

            return function(df, *[opened(value) for value in args], **{name: opened(value) for name, value in kwargs.items()})

        return Stream(recipe.grow(f"then({name})", apply, self.step, *(other.step for other in others)))

    def map(self, function: Callable[[dict[str, Any]], Any], output: str | StructType, **options: Unpack[PythonOptions]) -> Stream:
        """What a Python function makes of each record: `function(record)` gets a dict and returns one, with the columns of `output`.

        It runs in every mode; in real time record by record, in milliseconds. What can be an expression is faster as one: see `select`.
        The function may be an object with `open()` and `close()`. With `errors="dead_letters"` a record for which it raises goes to
        `.dead_letters`, with the reason and the line; else it stops the job.
        """
        return self._map("map", function, output, options)

    def flat_map(self, function: Callable[[dict[str, Any]], Any], output: str | StructType, **options: Unpack[PythonOptions]) -> Stream:
        """The same for a function that gives zero to many rows."""
        return self._map("flat_map", function, output, options)

    def filter(self, function: Callable[[dict[str, Any]], object], **options: Unpack[PythonOptions]) -> Stream:
        """The records for which a Python function says true. For a condition that is an expression: `where`."""
        if isinstance(function, str | Column):
            raise DefinitionError(
                f"filter: {arguments.shown(function)} is a condition, and no Python function",
                fix="use where, which Spark computes itself: where('n > 1')",
                where=user_line(),
            )
        return self._map("filter", function, None, options)

    def _map(self, kind: Kind, function: Callable[..., Any], output: str | StructType | None, options: PythonOptions) -> Stream:
        step = recipe.grow(kind, lambda df: map_python(df, kind=kind, function=function, output=output, **options), self.step, row=kind)
        return Stream(step)._parted(kind, [MAIN, "dead_letters"] if options.get("errors") == "dead_letters" else [MAIN])

    def decode(
        self,
        column: str = "value",
        *,
        schema: Schema | Mapping[str, Schema] | None = None,
        format: Format = "json",
        tag: str | None = None,
        times: Times | None = None,
        refuse: Mapping[str, str | Column] | None = None,
        keep: Sequence[str] = (),
        separator: str = ",",
    ) -> Stream:
        """The records whose bytes, or text, are in a column: one column a field. What is no such record goes to `.dead_letters`, with its
        reason.

        schema     a dataclass, a pydantic model, `"name type, …"` or a StructType; a field that cannot be null is required.
        format     "json", "csv", "avro" (the schema is then Avro's) or "raw" (no schema).
        tag        with a dict of schemas: the field that tells which of them is a record's.
        refuse     more reasons, each with a condition over the fields and the place (topic, partition, offset, timestamp) that a bad record
                   meets: `refuse={"negative": "amount < 0"}`.
        keep       other columns to keep beside the fields.
        separator  between the cells of CSV.
        """
        bytes_in, kept = arguments.name("decode", column), arguments.names("decode: keep", keep)
        arguments.text("decode: separator", separator)
        decoded = self._then(
            "decode",
            lambda df: records.decode(df, bytes_in, format=format, schema=schema, tag=tag, separator=separator, keep=kept, times=times),
        )
        if refuse is not None:
            reasons = {
                reason: arguments.expression(f"refuse: {reason}", bad) for reason, bad in arguments.mapping("refuse", refuse).items()
            }
            decoded = decoded._then("refuse", lambda df: records.check(df, reasons), row="decode")
        letters = decoded._then("dead_letters", records.dead_letters, row="decode")
        lost = {} if format == "raw" and refuse is None else {"dead_letters": letters.step}  # raw bytes are always what they are
        valid = recipe.grow("valid", lambda df: records.valid(df, keep=kept), decoded.step, row="decode", beside=lost)
        return Stream(valid, {"dead_letters": letters.step})

    # -- streams and tables together -------------------------------------------------------------------------------------------------

    def union(self, other: Stream) -> Stream:
        """The records of both; columns are matched by name, and both must have the same.

        Time is then what the slower stream has reached, whether `event_time` is said of each before the union, or of both behind it or in
        a scan. A stream that is silent holds it up. Parts of one source go on together.

        A stream and its own port, such as `.dead_letters`, come from one reading of the source, also where the stream is behind a scan.
        """
        if not isinstance(other, Stream):
            raise DefinitionError(
                f"union: {arguments.shown(other)} is no stream", fix="give one stream: one.union(other)", where=user_line()
            )
        for ours, theirs, whose in ((self, other, "the other stream"), (other, self, "this stream")):
            names = {column.lower() for column in theirs.columns}
            if missing := [column for column in ours.columns if column.lower() not in names]:
                raise DefinitionError(
                    f"union: {whose} has no column {missing[0]!r}",
                    fix=f"give it one, with_columns({missing[0]}=…), or drop it in the other: drop({missing[0]!r})", where=user_line(),
                )  # fmt: skip
        for left_out, stream in ((self, other), (other, self)):
            if (fork := groups.parting(left_out.step, stream.step)) is not None:
                # What was left out comes first: if the stream has a state, rows that are selected and filtered already pass it by.
                both = Stream(recipe.grow("union", branches.union, left_out.step, stream.step, fork, row="union"))
                return both._then("union", lambda df: df.select(*(F.col(f"`{name}`") for name in self.columns)))
        return self._then("union", united, other)

    # -- time and keys ---------------------------------------------------------------------------------------------------------------

    def event_time(
        self, column: str, delay: str, *, idle: str | None = None, ahead: str | None = None, mark: Condition | None = None
    ) -> Stream:
        """Time is what this column says, and records come at most `delay` late: Spark's watermark. What comes later than that, scans and
        windows put out of their port `late`. In a batch nothing is late. Of streams that met in a `union`, it is the time that the slowest
        has reached.

        idle   a stream without a record for so long, by the clock, does not hold up those that it meets. If all of them are silent (or
               there is but one), time goes on with the clock, from the newest record on, in steps of that length, whenever a batch ends. A
               micro-batch job without any record has no batches, so its last windows wait for the next record or the end of the input.
               Time never goes back: what comes after a silence with an older time may be late.
        ahead  a record whose time is further ahead of the clock than this goes out of the port `future`, and does not move the time.
        mark   a condition: only records for which it is true move the time, which they have then reached ("punctuation").

        >>> import headrace as hr
        >>> hr.read.memory("n int, at timestamp").event_time("at", "10 minutes", idle="1 minute", ahead="1 hour").port("future")
        Stream[n: int, at: timestamp]
        """
        name, condition = self._named("event_time", [column])[0], arguments.condition("event_time: mark", mark)
        durations.delay(delay, "event_time: delay")
        if idle is not None:
            durations.micros(idle, "event_time: idle")
        stream = self
        if ahead is not None:
            durations.micros(ahead, "event_time: ahead")
            stream = self._then("event_time", lambda df: plausible(df, name, ahead), row="port")._parted("event_time", [MAIN, FUTURE])
        moving = stream._then("event_time", lambda df: timed(df, name, delay, idle=idle, mark=condition))
        return Stream(moving.step, stream._ports if ahead is not None else None)

    def key_by(self, *columns: str) -> Keyed:
        """What follows is done for each value of these columns on its own. Null is a value like any other."""
        return Keyed(self, self._named("key_by", columns))

    def window(self, window: Window, *, by: Sequence[str] = (), **options: Unpack[WindowOptions]) -> Windowed:
        """Aggregates for each window and each value of the columns `by`. The options are those of `WindowOptions`: `on` is the time, that
        of `event_time` if not given; `early`, `late`, `lateness`, `trigger` and `panes` say when rows go out, and what is in them.

        >>> import headrace as hr
        >>> clicks = hr.read.memory("page string, at timestamp").event_time("at", "10 minutes")
        >>> clicks.window(hr.tumbling("1 hour"), by=["page"]).agg(n=F.count("*"))
        Stream[start: timestamp, end: timestamp, page: string, n: bigint]

        State: one row for each key and window that is not over with its lateness. Every mode has it.
        """
        return Windowed(self, window, self._named("window: by", by), options)

    def _named(self, at: str, columns: Sequence[str]) -> tuple[str, ...]:
        """The names of columns that there are."""
        names = arguments.names(at, columns)
        with failures.of_definition(at, user_line(), [self.step.preview]):
            self.step.preview.select(*names)
        return tuple(names)

    # -- a look at it ----------------------------------------------------------------------------------------------------------------

    def show(self, n: int = 20, *, seconds: float = 10) -> None:
        """Print at most n rows, as a table.

        The rows are those of a batch over what the sources have now, in the order in which they come first; nothing of the run remains, and
        no output is written. What has no end (`read.rate`, `read.socket`) runs as micro-batches instead, until there are n rows or the
        `seconds` are over. Without state the sources are read only as far as n rows need; with state, all there is.
        """
        decoded = any("dead_letters" in step.beside for step in self.step.ancestry())
        hint = "what could not be decoded is in .dead_letters of the stream that was read" if decoded else ""
        printed.show(looks.look(self.step, n, seconds), asked=n, hint=hint)

    def head(self, n: int = 5, *, seconds: float = 10) -> list[Row]:
        """At most n rows; see `show` for which."""
        return looks.look(self.step, n, seconds).collect()

    def to_pandas(self, n: int = 1000, *, seconds: float = 10) -> pandas.DataFrame:
        """At most n rows, as pandas has them; see `show` for which. A `timestamp` is in UTC and without its zone."""
        return looks.look(self.step, n, seconds).toPandas()

    # -- the end ---------------------------------------------------------------------------------------------------------------------

    @property
    def dead_letters(self) -> Stream:
        """The records that could not be decoded: `reason`, `raw` (the bytes), and their place: `topic`, `partition`, `offset`.

        Only a stream that decodes has them: one that was read with a schema, or that `decode` gave. And what a Python function
        gave with `errors="dead_letters"`: `reason`, `line` (of the program) and `record`. Ask it before anything else is done with it:
        `where` and the like give streams without.
        """
        if "dead_letters" not in self._ports:
            raise DefinitionError(
                "only a stream that was read with a schema has dead letters, or what a function with errors='dead_letters' gave",
                fix="ask the stream that `read` or the function gave you",
                where=user_line(),
            )
        return self.port("dead_letters")

    @property
    def late(self) -> Stream:
        """The records that came after the watermark had passed them, as they were."""
        if LATE not in self._ports:
            raise DefinitionError(
                "there are no late records here: only what a window, a join or another operator by event time gave has them",
                fix="ask that stream, before anything follows it",
                where=user_line(),
            )
        return self.port(LATE)

    def port(self, name: str) -> Stream:
        """The rows that the operator before put out under this name: `late`, `dead_letters`, or a port of a scan's own."""
        if name not in self._ports:
            raise DefinitionError(
                f"there is no port {name!r} here", fix=f"ask the stream that has it; this one has {', '.join(self._ports) or 'none'}",
                where=user_line(),
            )  # fmt: skip
        return Stream(self._ports[name])

    @property
    def to(self) -> To:
        """Where it goes: `.to.kafka(…)`, `.to.files(…)`, `.to.console()`, `.to.memory(…)`, `.to.callback(…)`."""
        return To(self.step)
