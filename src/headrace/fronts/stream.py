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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Concatenate, ParamSpec, Unpack

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headrace.errors import DefinitionError, user_line
from headrace.fronts.to import To
from headrace.kernel import given
from headrace.kernel.event_time import time_columns, timed, united
from headrace.kernel.python_scan import Function, scan_python
from headrace.kernel.scan import Output, ScanOptions, scan
from headrace.kernel.schemas import Schema
from headrace.ops import decoding, tagging, windows
from headrace.ops.features import Feature, others_of, with_features
from headrace.ops.formats import Format
from headrace.run import failures, recipe
from headrace.run.recipe import Step

P = ParamSpec("P")
_STATIC_JOINS = ("inner", "left", "semi", "anti")


class Stream:
    """Records with named columns, and the recipe for them."""

    def __init__(self, step: Step, dead_letters: Step | None = None) -> None:
        self.step, self._dead_letters = step, dead_letters

    @property
    def schema(self) -> StructType:
        return self.step.preview.schema

    @property
    def columns(self) -> list[str]:
        return self.step.preview.columns

    def __repr__(self) -> str:
        return f"Stream[{', '.join(f'{field.name}: {field.dataType.simpleString()}' for field in self.schema)}]"

    def _then(self, operator: str, apply: Callable[..., DataFrame], *others: Stream, **state: Any) -> Stream:
        return Stream(recipe.grow(operator, apply, self.step, *(other.step for other in others), state=state))

    # -- records, one at a time ------------------------------------------------------------------------------------------------------

    def select(self, *columns: str | Column) -> Stream:
        """These columns and no others; a column may be computed, or explode into many rows."""
        return self._then("select", lambda df: df.select(*columns))

    def where(self, condition: str | Column) -> Stream:
        """The records for which the condition is true (not null, not false)."""
        return self._then("where", lambda df: df.where(condition))

    def with_columns(self, **columns: Column) -> Stream:
        """More columns, or other values for some."""
        return self._then("with_columns", lambda df: df.withColumns(columns))

    def drop(self, *columns: str) -> Stream:
        """All but these columns."""
        if unknown := [column for column in columns if column not in self.columns]:  # Spark would say nothing
            raise DefinitionError(
                f"drop: there is no column {unknown[0]!r}", fix=f"the columns are {', '.join(self.columns)}", where=user_line()
            )
        return self._then("drop", lambda df: df.drop(*columns))

    def then(self, function: Callable[Concatenate[DataFrame, P], DataFrame], /, *args: P.args, **kwargs: P.kwargs) -> Stream:
        """Any function from DataFrame to DataFrame. It is called once now, with no rows, and again whenever a job starts."""
        name = getattr(function, "__name__", type(function).__name__)
        return self._then(f"then({name})", lambda df: function(df, *args, **kwargs))

    def decode(
        self,
        column: str = "value",
        *,
        schema: Schema | Mapping[str, Schema] | None = None,
        format: Format = "json",
        tag: str | None = None,
        refuse: Mapping[str, str | Column] | None = None,
        keep: Sequence[str] = (),
        separator: str = ",",
        inline: bool = False,
    ) -> Stream:
        """The records whose bytes are in a column, one column a field; what is none goes to `.dead_letters`, with the reason.

        `refuse` is more reasons, each with a condition over the fields and the place (topic, partition, offset, timestamp) that a bad
        record meets. With `inline` the refused records stay where they are, all fields null, with the columns `reason` and `raw`, which
        are null in the others: so one query can take both. The other options are those of `read.kafka`.
        """
        decoded = self._then(
            "decode", lambda df: decoding.decode(df, column, format=format, schema=schema, tag=tag, separator=separator, keep=keep)
        )
        if refuse is not None:
            decoded = decoded._then("refuse", lambda df: decoding.check(df, refuse))
        if inline:
            return decoded._then("marked", lambda df: decoding.marked(df, keep=keep))
        letters = decoded._then("dead_letters", decoding.dead_letters)
        rest = None if format == "raw" and refuse is None else letters.step  # raw bytes are always what they are
        valid = recipe.grow("valid", lambda df: decoding.valid(df, keep=keep), decoded.step, rest=rest)
        return Stream(valid, dead_letters=letters.step)

    # -- streams and tables together -------------------------------------------------------------------------------------------------

    def union(self, other: Stream) -> Stream:
        """The records of both; columns are matched by name, and both must have the same.

        Time is then what the slower stream has reached, whether `event_time` is said of each before the union, or of both behind it or in
        a scan. A stream that is silent holds it up. Parts of one source go on together.
        """
        return self._then("union", united, other)

    def join(self, table: DataFrame | str, on: str | Sequence[str], how: str = "inner") -> Stream:
        """Each record with its rows of a static table: a DataFrame, or a name in Spark's catalog.

        The table is sent to every task, so it must fit into memory. It should not change while the job runs: whether a change is seen, and
        when, is up to where the table comes from.
        `how`: inner, left (records without a row stay, with nulls), semi (records with a row), anti (records without).
        """
        if how not in _STATIC_JOINS:
            raise DefinitionError(f"join: how={how!r} is not known", fix=f"use one of {', '.join(_STATIC_JOINS)}", where=user_line())
        keys = [on] if isinstance(on, str) else list(on)
        return self._then(
            "join", lambda df: df.join(F.broadcast(df.sparkSession.table(table) if isinstance(table, str) else table), keys, how)
        )

    # -- time and keys ---------------------------------------------------------------------------------------------------------------

    def event_time(self, column: str, delay: str) -> Stream:
        """Time is what this column says, and records come at most `delay` late: Spark's watermark. Of streams that met in a `union`, it is
        the time that the slowest has reached."""
        return self._then("event_time", lambda df: timed(df, column, delay))

    def key_by(self, *columns: str) -> Keyed:
        """What follows is done for each value of these columns on its own."""
        names = given.names("key_by", columns)
        with failures.of_definition("key_by", user_line(), [self.step.preview]):
            self.step.preview.select(*names)
        return Keyed(self, tuple(names))

    def window(self, window: windows.Window, *, by: Sequence[str] = (), on: str | None = None) -> Windowed:
        """Aggregates for each window of time and each value of the columns `by`. `on` is the time: that of `event_time` if not given."""
        return Windowed(self, window, tuple(by), on or self._time_column())

    def _time_column(self) -> str:
        for name in time_columns(self.step.preview):
            return name
        raise DefinitionError(
            "window: it is not known which column is the time",
            fix='.event_time("column", "10 minutes") before it, or on="column"',
            where=user_line(),
        )

    # -- the end ---------------------------------------------------------------------------------------------------------------------

    @property
    def dead_letters(self) -> Stream:
        """The records that could not be decoded: why, the raw bytes, and their place in the source."""
        if self._dead_letters is None:
            raise DefinitionError(
                "only a stream that was read with a schema has dead letters", fix="ask the stream that `read` gave you", where=user_line()
            )
        return Stream(self._dead_letters)

    @property
    def to(self) -> To:
        """Where it goes: `.to.kafka(…)`, `.to.files(…)`, `.to.console()`, `.to.memory(…)`, `.to.callback(…)`."""
        return To(self.step)


class Keyed:
    """A stream, taken apart by key."""

    def __init__(self, stream: Stream, keys: tuple[str, ...]) -> None:
        self.stream, self.keys = stream, keys

    def agg(self, *columns: Column) -> Stream:
        """Running totals of each key, as Spark's `groupBy(…).agg(…)` has them. State: one row for each key, for ever."""
        return self.stream._then("agg", lambda df: df.groupBy(*self.keys).agg(*columns))

    def with_features(
        self,
        *,
        time: str | None = None,
        order: str | Sequence[str] = (),
        event_time: str | None = None,
        delay: str = "0 seconds",
        idle: str | None = None,
        **features: Feature,
    ) -> Stream:
        """Every record with what is known of its key: `running`, `within`, `previous`, `last_n`, `since`, `seen_before`, `latest`.

        All features of the key are one scan: one shuffle, one read and one write of state for each record. `time` is the column that
        `within` and `seen_before` measure by; the other options are those of `scan`.
        """
        others = [other.df for other in others_of(features)]
        for other in others:
            tagging.check(other, Stream, "a Stream (from hr.read)")

        def add(df: DataFrame, *more: DataFrame) -> DataFrame:
            return with_features(
                df, keys=self.keys, features=features, others=more, time=time, order=order, event_time=event_time, delay=delay, idle=idle
            )

        return self.stream._then("with_features", add, *others)

    def scan(self, *, state: Mapping[str, Any], update: Mapping[str, Any], output: Output = (), **options: Unpack[ScanOptions]) -> Stream:
        """Carry a state along the records of each key; every part is a column expression. The options are those of `headrace.scan`."""
        return self.stream._then("scan", lambda df: scan(df, keys=self.keys, state=state, update=update, output=output, **options))

    def scan_python(
        self,
        *,
        state: str | StructType,
        function: Function,
        output: str | StructType,
        start: Mapping[str, Any] | None = None,
        order: str | Sequence[str] = (),
        initial: DataFrame | None = None,
    ) -> Stream:
        """Carry a state along the records of each key with a Python function, in batch and micro-batch. See `headrace.scan_python`."""

        def carry(df: DataFrame) -> DataFrame:
            return scan_python(df, keys=self.keys, state=state, function=function, output=output, start=start, order=order, initial=initial)

        values = state.simpleString() if isinstance(state, StructType) else state  # what is neither is refused when it is carried
        return self.stream._then("scan_python", carry, keys=self.keys, values=values)


class Windowed:
    """A stream, taken apart by window and key."""

    def __init__(self, stream: Stream, window: windows.Window, by: tuple[str, ...], on: str) -> None:
        self.stream, self.by, self.window, self.on = stream, by, window, on

    def agg(self, *columns: Column) -> Stream:
        """One row for each window and key: `start`, `end`, the key and the aggregates."""
        return self.stream._then(
            "window", lambda df: windows.aggregate(df, self.window, self.on, self.by, columns), window=asdict(self.window)
        )
