"""CREATE TABLE name (column TYPE, …, WATERMARK FOR at AS at - INTERVAL '5' SECOND) WITH ('connector' = 'kafka', …)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headrace.definitions import schemas
from headrace.fronts import read
from headrace.fronts.flink.printing import row
from headrace.fronts.flink.tables.spelling import spark_type
from headrace.fronts.sql.reading.durations import duration
from headrace.fronts.sql.reading.tokens import Query, Token, closing, quote, shown, split
from headrace.fronts.stream import Stream
from headrace.kernel import jvm
from headrace.planning.recipe import Output

USAGE = "write CREATE TABLE name (column TYPE, …, WATERMARK FOR at AS at - INTERVAL '5' SECOND) WITH ('connector' = 'kafka', …)"
_OPTIONS = {
    "kafka": ("topic", "properties.bootstrap.servers", "properties.group.id", "format", "value.format", "scan.startup.mode",
              "scan.bounded.mode", "json.ignore-parse-errors", "json.fail-on-missing-field"),
    "filesystem": ("path", "format"),
    "print": ("print-identifier",),
}  # fmt: skip
_STARTS = {"earliest-offset": "earliest", "latest-offset": "latest"}
_NEAR: tuple[set[type[T.DataType]], ...] = ({T.TimestampType, T.TimestampNTZType}, {T.DecimalType})
"""Types that are made of each other, though not each value of the one is one of the other."""
_ALWAYS = {"json.ignore-parse-errors": "true", "json.fail-on-missing-field": "false"}


@dataclass
class Declared:
    """A table by its declaration: it can be read from, and written to."""

    name: Token
    query: Query
    columns: list[str] = field(default_factory=list)
    computed: list[tuple[str, str]] = field(default_factory=list)
    watermark: tuple[str, str] | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    connector: str = ""
    _stream: Stream | None = None

    @property
    def bounded(self) -> bool:
        """Whether it ends, though it is read as a stream."""
        return self.options.get("scan.bounded.mode") == "latest-offset"

    def stream(self) -> Stream:
        """What it is to read."""
        if self._stream is None:
            with self.query.pointing(self.name):
                stream = self._source()
                for name, expression in self.computed:
                    stream = stream.select("*", F.expr(expression).alias(name))
                self._stream = stream if self.watermark is None else timed(stream, *self.watermark)
        return self._stream

    def _source(self) -> Stream:
        schema = ", ".join(self.columns)
        match self.connector:
            case "kafka":
                start = _STARTS[self.options.get("scan.startup.mode", "earliest-offset")]
                servers = self.options.get("properties.bootstrap.servers")
                return read.kafka(self.options["topic"], schema=schema, format=self._format("json", "csv"), start=start, servers=servers)  # type: ignore[arg-type]
            case "filesystem":
                return read.files(self._path(), schema=schema, format=self._format("json", "csv", "parquet"))  # type: ignore[arg-type]
        raise self.query.error(self.name, "a table that prints cannot be read", "select from another one")

    def sink(self, name: str) -> Callable[[Stream], Output]:
        """Where rows go that are inserted into it, column by column in their order."""

        def output(rows: Stream) -> Output:
            named = self._fitted(rows)
            match self.connector:
                case "kafka":
                    servers = self.options.get("properties.bootstrap.servers")
                    self._format("json")
                    return named.to.kafka(self.options["topic"], servers=servers, create=True, name=name)
                case "filesystem":
                    return named.to.files(self._path(), format=self._format("json", "csv", "parquet"), name=name)
            return named.to.callback(printing(self.options.get("print-identifier", "")), name=name)

        return output

    def _fitted(self, rows: Stream) -> Stream:
        """The rows with the names and types of its columns, place by place."""
        table = schemas.structure(self.name.text, ", ".join(self.columns))
        if len(table) != len(rows.columns):
            raise self.query.error(
                self.name, f"{self.name.text} has {len(table)} columns, and the query {len(rows.columns)}", "select one for each"
            )
        pairs = list(zip(rows.schema, table, strict=True))
        named = rows.step.preview.select(*(F.col(quote(column.name)).alias(wanted.name) for column, wanted in pairs))
        empty = named.sparkSession.createDataFrame([], table)
        for column, wanted in pairs:
            if jvm.fitted(named, empty, wanted.name) is None and {type(column.dataType), type(wanted.dataType)} not in _NEAR:
                kinds = [each.dataType.simpleString() for each in (column, wanted)]
                raise self.query.error(
                    self.name, f"{column.name} is {kinds[0]}, and the column {wanted.name} of {self.name.text} {kinds[1]}",
                    f"write what a row shall have: CAST({column.name} AS {kinds[1].upper()})",
                )  # fmt: skip
        return rows.select(*(F.col(quote(column.name)).cast(wanted.dataType).alias(wanted.name) for column, wanted in pairs))

    def _format(self, *known: str) -> str:
        format = self.options.get("format", self.options.get("value.format", known[0]))
        if format not in known:
            raise self.query.error(self.name, f"the format {format!r} is not known here", f"give one of {', '.join(known)}")
        return format

    def _path(self) -> str:
        return self.options["path"].removeprefix("file://")


def timed(stream: Stream, column: str, delay: str) -> Stream:
    """The stream with its event time: of a TIMESTAMP without a zone, which is read as UTC."""
    if column in stream.columns and isinstance(stream.schema[column].dataType, T.TimestampNTZType):
        stream = stream.with_columns(**{column: F.col(quote(column)).cast("timestamp")})
    return stream.event_time(column, delay)


def printing(identifier: str) -> Callable[[DataFrame, int], None]:
    """Each row on a line, as Flink's print connector writes it."""
    start = f"{identifier}> " if identifier else ""

    def print_rows(rows: DataFrame, batch: int) -> None:  # noqa: ARG001 - called with the number of the batch
        for each in rows.toLocalIterator():
            sys.stdout.write(f"{start}{row(each)}\n")

    return print_rows


def declaration(tokens: list[Token], query: Query) -> Declared:
    """The table that is declared; `tokens` are those behind CREATE TABLE."""
    opening = next((i for i, token in enumerate(tokens) if token.text == "("), -1)
    if opening < 1 or not tokens[opening - 1].is_name or tokens[opening - 1].word == "WITH":
        raise query.error(tokens, "this declares no table", USAGE)
    close = closing(tokens, opening, query)
    table = Declared(tokens[opening - 1], query)
    for part in split(tokens[opening + 1 : close]):
        _column(table, part, query)
    rest = tokens[close + 1 :]
    at = next((i for i, token in enumerate(rest) if token.word == "WITH" and rest[i + 1 : i + 2] and rest[i + 1].text == "("), -1)
    if at < 0:
        raise query.error(rest or tokens[close], "it is not said what the table is connected to", "add WITH ('connector' = 'kafka', …)")
    if at > 0:
        raise query.error(rest[:at], f"{rest[0].word} of a table is not known here", "leave it out")
    _connected(table, rest[2 : closing(rest, 1, query)], query)
    return table


def _column(table: Declared, part: list[Token], query: Query) -> None:
    words = [token.word for token in part]
    if not part or len(part) < 2:
        raise query.error(part or table.name, "a column has a name and a type", USAGE)
    if words[:2] == ["WATERMARK", "FOR"] and "AS" in words:
        at = words.index("AS")
        table.watermark = (part[2].name, watermark(part[at + 1 :], part[2].name, query))
    elif words[:2] == ["PRIMARY", "KEY"] or words[0] == "CONSTRAINT":
        return  # which Flink does not enforce either; these connectors add rows
    elif words[1] == "AS":
        if [*words[2:4]] == ["PROCTIME", "("]:
            raise query.error(
                part, "the time of the clock is no column here", f"write proctime() where {part[0].text} is used, in TUMBLE(…)"
            )
        table.computed.append((part[0].name, shown(part[2:], query)))
    elif "METADATA" in words:
        raise query.error(part, "columns of metadata are not known here", "hr.read.kafka(…, keep=['timestamp']), and create_temporary_view")
    else:
        table.columns.append(f"{quote(part[0].name)} {spark_type(_without_comment(part[1:]), query)}")


def _without_comment(tokens: list[Token]) -> list[Token]:
    at = next((i for i, token in enumerate(tokens) if token.word == "COMMENT"), len(tokens))
    return tokens[:at]


def watermark(tokens: list[Token], column: str, query: Query) -> str:
    """How late records may be: `at - INTERVAL '5' SECOND`, or `at`."""
    if not tokens or tokens[0].name != column or (len(tokens) > 1 and tokens[1].text != "-"):
        raise query.error(tokens, "a watermark trails the newest time by a while", f"write {column} - INTERVAL '5' SECOND")
    return duration(tokens[2:], query, "a watermark's delay") if len(tokens) > 1 else "0 seconds"


def _connected(table: Declared, tokens: list[Token], query: Query) -> None:
    options: dict[str, Token] = {}
    for part in split(tokens):
        if len(part) != 3 or part[1].text != "=" or part[0].kind != "string" or part[2].kind != "string":
            raise query.error(part or table.name, "an option is 'name' = 'value'", "write WITH ('connector' = 'kafka', 'topic' = 'clicks')")
        options[part[0].text[1:-1]] = part[2]
    table.options = {name: token.text[1:-1].replace("''", "'") for name, token in options.items()}
    table.connector = table.options.get("connector", "")
    if table.connector not in _OPTIONS:
        raise query.error(
            options.get("connector", table.name), f"there is no connector {table.connector!r} here",
            f"use {', '.join(_OPTIONS)}; others: t_env.create_temporary_view('name', hr.read.…), and table.to_stream().to.…",
        )  # fmt: skip
    known = _OPTIONS[table.connector]
    if unknown := next((name for name in options if name not in ("connector", *known)), None):
        raise query.error(options[unknown], f"the connector {table.connector} has no option {unknown!r} here", f"it has {', '.join(known)}")
    needed = {"kafka": "topic", "filesystem": "path"}.get(table.connector)
    if needed is not None and needed not in options:
        raise query.error(options["connector"], f"the connector {table.connector} needs '{needed}'", f"add '{needed}' = '…'")
    start = table.options.get("scan.startup.mode", "earliest-offset")
    if start not in _STARTS:
        raise query.error(options["scan.startup.mode"], f"a table cannot begin at {start}", f"give one of {', '.join(_STARTS)}")
    if table.options.get("scan.bounded.mode", "latest-offset") not in ("latest-offset", "unbounded"):
        raise query.error(options["scan.bounded.mode"], "a topic can end only where it ends now", "give 'latest-offset'")
    for name, value in _ALWAYS.items():
        if table.options.get(name, value) != value:
            raise query.error(
                options[name], "a record that cannot be read goes to the dead letters, and the job goes on",
                "leave it out; hr.read.kafka(…) has .dead_letters, and create_temporary_view names its records",
            )  # fmt: skip
