"""`StreamTableEnvironment`: the tables of a program, by name, and SQL over them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, NoReturn

from headrace.definitions import arguments
from headrace.errors import DefinitionError, pointing_at, unknown_name, user_line
from headrace.fronts import read as reading
from headrace.fronts.flink import bridging
from headrace.fronts.flink.environment import JobClient, RuntimeExecutionMode, StreamExecutionEnvironment
from headrace.fronts.flink.rows import Row
from headrace.fronts.flink.streams.datastream import DataStream
from headrace.fronts.flink.streams.parts import Parts
from headrace.fronts.flink.tables.declaring import USAGE, Declared, declaration, printing
from headrace.fronts.flink.tables.schema import Schema
from headrace.fronts.flink.tables.table import Table, TableResult, table_of
from headrace.fronts.sql import sql
from headrace.fronts.sql.reading.tokens import Query, Token, read
from headrace.fronts.stream import Stream
from headrace.io.tables import Table as StaticTable
from headrace.planning.recipe import Output
from headrace.spark.session import session

_HINTS = {
    "create_temporary_function": "write it in SQL, or register it with Spark: spark.udf.register('name', function, 'bigint')",
    "create_temporary_system_function": "write it in SQL, or register it with Spark: spark.udf.register('name', function, 'bigint')",
    "create_java_temporary_function": "write it in SQL", "create_table": "execute_sql('CREATE TABLE …')",
    "create_temporary_table": "execute_sql('CREATE TABLE …')", "from_descriptor": "execute_sql('CREATE TABLE …'), from_path('name')",
    "scan": "from_path", "insert_into": "execute_sql('INSERT INTO …')", "execute": "execute_sql, or create_statement_set().execute()",
    "from_pandas": "from_elements(list(frame.itertuples(index=False)), list(frame.columns))",
    "to_append_stream": "to_data_stream", "to_retract_stream": "to_data_stream: of a row that changes it has each new state",
    "to_changelog_stream": "to_data_stream: of a row that changes it has each new state",
}  # fmt: skip


@dataclass(frozen=True)
class EnvironmentSettings:
    """How a table environment without a stream environment runs: `EnvironmentSettings.in_streaming_mode()` or `.in_batch_mode()`."""

    mode: RuntimeExecutionMode

    @staticmethod
    def in_streaming_mode() -> EnvironmentSettings:
        """As micro-batches."""
        return EnvironmentSettings(RuntimeExecutionMode.STREAMING)

    @staticmethod
    def in_batch_mode() -> EnvironmentSettings:
        """As one batch."""
        return EnvironmentSettings(RuntimeExecutionMode.BATCH)


class StreamTableEnvironment:
    """`t_env = StreamTableEnvironment.create(env)`. Queries are those of `hr.sql`: see its page for what they can be."""

    def __init__(self, env: StreamExecutionEnvironment) -> None:
        self._env = env
        self._tables: dict[str, Stream | StaticTable | Declared] = {}
        self._numbers = count(1)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise unknown_name("a StreamTableEnvironment", name, [each for each in dir(type(self)) if not each.startswith("_")], _HINTS)

    @staticmethod
    def create(
        stream_execution_environment: StreamExecutionEnvironment | EnvironmentSettings | None = None,
        environment_settings: EnvironmentSettings | None = None,
    ) -> StreamTableEnvironment:
        """Tables beside the streams of an environment, or, with settings, in one of their own."""
        chosen = stream_execution_environment or environment_settings or EnvironmentSettings.in_streaming_mode()
        if isinstance(chosen, EnvironmentSettings):
            chosen = StreamExecutionEnvironment.get_execution_environment().set_runtime_mode(chosen.mode)
        if not isinstance(chosen, StreamExecutionEnvironment):
            raise _refused(
                f"create: {arguments.shown(chosen)} is no environment", "give a StreamExecutionEnvironment, or EnvironmentSettings"
            )
        return StreamTableEnvironment(chosen)

    # -- tables ----------------------------------------------------------------------------------------------------------------------

    def from_data_stream(self, data_stream: DataStream, *fields_or_schema: Schema) -> Table:
        """A stream as a table of its fields; a value without fields is the column `f0`. As in Flink its time is no column, unless a
        `Schema` says so."""
        if not isinstance(data_stream, DataStream):
            raise _refused(f"from_data_stream: {arguments.shown(data_stream)} is no DataStream", "give one of this environment")
        if wrong := [each for each in fields_or_schema if not isinstance(each, Schema)]:
            raise _refused(
                f"from_data_stream: {arguments.shown(wrong[0])} is no Schema", "Schema.new_builder().column('name', 'STRING')…build()"
            )
        if data_stream.get_type().is_object:
            raise _refused(
                "from_data_stream: Spark does not know the fields of these values",
                "declare the type of the function before: output_type=Types.ROW_NAMED(…)",
            )
        rows, time = table_of(data_stream)
        return Table(self, next(iter(fields_or_schema), Schema()).applied(rows, time))

    def from_elements(self, elements: Iterable[Any], schema: Any = None) -> Table:
        """A table of these rows: `from_elements([(1, "a")], ["id", "page"])`. The types are those that Spark finds; or a text says them:
        "id BIGINT, page STRING"."""
        if schema is not None and not isinstance(schema, str):
            schema = arguments.names("from_elements: schema", schema)
        rows = [tuple(each) for each in elements]
        return Table(self, reading.memory(session().createDataFrame(rows, schema=schema).schema, rows))

    def from_path(self, path: str) -> Table:
        """A table by its name."""
        return self.sql_query(f"SELECT * FROM {path}")

    def create_temporary_view(self, view_path: str, table_or_data_stream: Any, *fields_or_schema: Schema) -> None:
        """Name a `Table` or a `DataStream`, for queries; or a `Stream` or `hr.table(…)` of headrace's."""
        name = arguments.text("create_temporary_view", view_path).lower()
        value = table_or_data_stream
        if isinstance(value, DataStream):
            value = self.from_data_stream(value, *fields_or_schema)
        if isinstance(value, Table):
            value = value.to_stream()
        if not isinstance(value, Stream | StaticTable):
            raise _refused(f"create_temporary_view: {arguments.shown(value)} is no table", "give a Table or a DataStream")
        self._tables[name] = value

    def drop_temporary_view(self, view_path: str) -> bool:
        """Forget a name; whether there was one."""
        return self._tables.pop(view_path.lower(), None) is not None

    drop_temporary_table = drop_temporary_view

    def list_tables(self) -> list[str]:
        """The names that there are."""
        return sorted(self._tables)

    list_views = list_temporary_views = list_temporary_tables = list_tables

    # -- SQL -------------------------------------------------------------------------------------------------------------------------

    def sql_query(self, query: str) -> Table:
        """The table that a SELECT stands for."""
        stream = sql(query, **self._names(query))
        if not isinstance(stream, Stream):
            raise _refused("sql_query: INSERT INTO gives no table", "execute_sql('INSERT INTO …')")
        return Table(self, stream)

    def execute_sql(self, stmt: str) -> TableResult:
        """CREATE TABLE, CREATE VIEW name AS, DROP, SHOW TABLES, DESCRIBE, EXPLAIN; SELECT, whose rows are to be collected or printed;
        INSERT INTO, which starts a job (as BATCH it runs to its end)."""
        query, tokens = read(arguments.text("execute_sql", stmt))
        words = [token.word for token in tokens if token.word not in ("TEMPORARY", "PLAN", "FOR")]
        match words[:2]:
            case ["CREATE", "TABLE"]:
                table = declaration(tokens, query)
                self._tables[table.name.name.lower()] = table
                return _said("OK")
            case ["CREATE", "VIEW"]:
                at = next((i for i, token in enumerate(tokens) if token.word == "AS"), 0)
                if not at or at + 1 >= len(tokens):
                    raise query.error(tokens, "this names no view", "write CREATE VIEW name AS SELECT …")
                self.create_temporary_view(tokens[at - 1].name, self.sql_query(query.text[tokens[at + 1].start :]))
                return _said("OK")
            case ["CREATE", *_]:
                raise query.error(tokens[:2], f"CREATE {words[1] if words[1:] else ''} is not known here", USAGE)
            case ["DROP", *_]:
                if not self.drop_temporary_view(self._named(tokens[-1], query)):
                    raise query.error(tokens[-1], f"there is no table {tokens[-1].text}", f"there are {', '.join(self.list_tables())}")
                return _said("OK")
            case ["SHOW", "TABLES" | "VIEWS"]:
                return TableResult(["table name"], rows=lambda: [Row(name) for name in self.list_tables()])
            case ["DESCRIBE" | "DESC", _]:
                fields = self.from_path(tokens[-1].text).to_stream().schema
                return TableResult(["name", "type"], rows=lambda: [Row(each.name, each.dataType.simpleString()) for each in fields])
            case ["EXPLAIN", *_]:
                first = next(i for i, token in enumerate(tokens) if token.word in ("SELECT", "WITH", "INSERT") or i == len(tokens) - 1)
                return _said(self.explain_sql(query.text[tokens[first].start :]))
            case ["INSERT", *_]:
                return self._started([self._output(stmt)])
        return self.sql_query(stmt).execute()

    def explain_sql(self, stmt: str) -> str:
        """The steps of a query, which modes have them, and what is kept."""
        _, tokens = read(stmt)
        if tokens and tokens[0].word == "INSERT":
            return repr(self._output(stmt))
        return self.sql_query(stmt).explain()

    def create_statement_set(self) -> StatementSet:
        """Several INSERT INTO as one job."""
        return StatementSet(self)

    # -- back to streams -------------------------------------------------------------------------------------------------------------

    def to_data_stream(self, table: Table) -> DataStream:
        """A stream of `Row` with the names of the columns. A column that is an event time is the time of the records. Of a row that
        changes, such as a count by key, there is each new state; the old ones are not taken back."""
        if not isinstance(table, Table):
            raise _refused(f"to_data_stream: {arguments.shown(table)} is no Table", "give what sql_query or from_data_stream gave")
        return DataStream(self._env, Parts((bridging.part(table.to_stream(), None),)))

    # -- running ---------------------------------------------------------------------------------------------------------------------

    def _names(self, text: str) -> dict[str, Any]:
        """What the query may mean: a declared table is opened if its name is in the query."""
        words = {token.name.lower() for token in read(text)[1] if token.is_name}
        return {
            name: value.stream() if isinstance(value, Declared) else value
            for name, value in self._tables.items() if not isinstance(value, Declared) or name in words
        }  # fmt: skip

    def _named(self, token: Token, query: Query) -> str:
        if not token.is_name:
            raise query.error(token, "this is no name", "write the name of a table")
        return token.name

    def _output(self, stmt: str) -> Output:
        """The output of an INSERT INTO."""
        query, tokens = read(stmt)
        if len(tokens) < 4 or [token.word for token in tokens[:2]] != ["INSERT", "INTO"]:
            raise query.error(tokens[:2], "this inserts nothing", "write INSERT INTO name SELECT …")
        target = self._tables.get(tokens[2].name.lower())
        if not isinstance(target, Declared):
            raise query.error(
                tokens[2],
                f"there is no table {tokens[2].text} to write to",
                "declare it: execute_sql(\"CREATE TABLE … WITH ('connector' = …)\")",
            )
        select = self.sql_query(query.text[tokens[3].start :])
        return self._written(target, select)

    def _insert(self, name: str, table: Table) -> Output:
        target = self._tables.get(name.lower())
        if not isinstance(target, Declared):
            raise _refused(f"execute_insert: there is no table {name!r} to write to", "declare it: execute_sql('CREATE TABLE …')")
        return self._written(target, table)

    def _written(self, target: Declared, table: Table) -> Output:
        self._ending()
        return target.sink(f"{target.name.name}-{next(self._numbers)}")(table.to_stream())

    def _ending(self) -> None:
        """Topics that are declared to end do."""
        for table in self._tables.values():
            if isinstance(table, Declared) and table.bounded and table._stream is not None:
                self._env._ending += table._stream.step.sources()

    def _started(self, outputs: list[Output]) -> TableResult:
        if self._env._chosen(outputs) == "batch":
            self._env._run("insert", outputs)
            return _said("OK")
        with pointing_at(user_line()):
            running = self._env._job("insert", outputs).start(self._env._chosen(outputs))
        return TableResult([], client=JobClient(running))

    def _rows(self, table: Table) -> list[Any]:
        self._ending()
        values: list[Any] = self._env._collected(self.to_data_stream(table), "select", [], at="collect")
        return values

    def _print_endless(self, table: Table) -> bool:
        """Print rows as they come, until the job is stopped; False if the sources have an end, and nothing was done."""
        self._ending()
        output = table.to_stream().to.callback(printing(""), name="print")
        if self._env._chosen([output]) == "batch" or self._env._bounded([output]):
            return False
        self._env._run("select", [output])
        return True


class StatementSet:
    """Several INSERT INTO that run as one job: `create_statement_set()`."""

    def __init__(self, t_env: StreamTableEnvironment) -> None:
        self._t_env = t_env
        self._outputs: list[Output] = []

    def add_insert_sql(self, stmt: str) -> StatementSet:
        """An INSERT INTO."""
        self._outputs.append(self._t_env._output(stmt))
        return self

    def add_insert(self, target_path: str, table: Table) -> StatementSet:
        """The rows of a table into a declared one."""
        self._outputs.append(self._t_env._insert(target_path, table))
        return self

    def execute(self) -> TableResult:
        """Start them."""
        outputs, self._outputs = self._outputs, []
        return self._t_env._started(outputs)


def _said(words: str) -> TableResult:
    return TableResult(["result"], rows=lambda: [Row(words)])


def _refused(what: str, fix: str) -> DefinitionError:
    return DefinitionError(what, fix=fix, where=user_line())
