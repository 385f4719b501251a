"""Where a stream goes: `stream.to.kafka("topic")` and so on give the outputs that a `Job` runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.definitions import arguments
from headrace.errors import DefinitionError, user_line
from headrace.fronts import hints
from headrace.io.callback import CallbackSink
from headrace.io.connectors import Option, Sink, positive, texts
from headrace.io.console import ConsoleSink
from headrace.io.database import tables
from headrace.io.database.connector import DatabaseSink
from headrace.io.files import FilesSink
from headrace.io.kafka.connector import ID, Cluster, KafkaSink
from headrace.io.kafka.topics import Topic
from headrace.io.memory import MemorySink
from headrace.kernel import origins
from headrace.planning import recipe
from headrace.planning.recipe import Output, Step


class To:
    """The ends of one stream. `name` is how progress, errors and the checkpoint call it."""

    def __init__(self, step: Step) -> None:
        self._step = step

    if not TYPE_CHECKING:  # a type checker shall go on to find wrong names by itself

        def __getattr__(self, name: str) -> NoReturn:
            raise hints.of_to(self, name)

    def kafka(
        self,
        topic: str,
        *,
        key: str | Column | None = None,
        value: str | Column | Sequence[str] | None = None,
        headers: Mapping[str, str | Column] | None = None,
        partition: str | Column | None = None,
        id: str | Sequence[str] | bool = False,
        create: bool | Topic = False,
        servers: str | None = None,
        options: Mapping[str, Option] | None = None,
        name: str | None = None,
    ) -> Output:
        """Records of a Kafka topic, at-least-once; as micro-batch exactly-once, for readers of what is committed, if the job asks for it:
        `Job(…, guarantee="exactly-once")`. Each batch is then one transaction, by way of the driver and librdkafka's client. Rows of one
        stream for several topics are several outputs: `.where(…).to.kafka(…)`.

        key        a column: bytes as they are, anything else as text.
        value      a JSON object of all columns (the default) or of those named (`["a", "b"]`), or one column as it is (`"raw"`).
        headers    name -> column, written as text; one that is null is left out.
        partition  a column with the number of the row's partition, which must be there; where it is null, Kafka chooses.
        id         True: each row goes out with an id, which is the same when it is made again: topic, partition and offset of the record
                   that it was made of, which of the rows of that record it is, and the output's name. By it `read.kafka(…, once=True)`
                   knows what it has read before: the way to have each row once behind a real-time job, which writes some again after a
                   crash. A row that is not made of one record (a total, an alarm, anything by event time) wants columns that name it:
                   `id=["customer", "start"]`. The id is a header. Two jobs that write to one topic give their outputs different names:
                   else a reader takes rows of the one for rows of the other that came again.
        servers    the cluster's address; HEADRACE_KAFKA if not given, else the broker that headrace brings.
        options    Kafka's own client options, each with `kafka.` before it; secrets as "env:NAME" or "file:/path".

        A topic must exist: a job that names another does not start, in any mode. With `create=True`, or `create=hr.topics.Topic(
        partitions=4, config={"retention.ms": …})`, one that does not is made when the job starts; one that does stays as it is.
        """
        arguments.text("to.kafka: the topic", topic)
        cluster = Cluster(None if servers is None else arguments.text("to.kafka: servers", servers), texts(options))
        named = {f"headers.{header}": column for header, column in arguments.mapping("to.kafka: headers", headers or {}).items()}
        for part, column in ({"key": key, "partition": partition} | named).items():
            if column is not None:
                arguments.column(f"to.kafka: {part}", column)
        whole = value if value is None or isinstance(value, str | Column) else arguments.names("to.kafka: value", value)
        called = f"kafka-{topic}" if name is None else arguments.text("to.kafka: name", name)
        made, ids = id is True, () if isinstance(id, bool) or id is None else arguments.names("to.kafka: id", id)
        if made:
            recipe.check_origins(self._step, "to.kafka: id")
        if made or ids:
            headers = {**(headers or {}), ID: _joined([origins.column()] if made else [_part(name) for name in ids], called)}
        sink = KafkaSink((topic,), key, whole, called, cluster, headers or {}, Topic.asked(create), partition, origins=made)
        return recipe.end(self._step, sink)

    def files(
        self,
        path: str | Path,
        *,
        format: str = "parquet",
        partition_by: str | Sequence[str] = (),
        replace: bool = False,
        files: int | None = None,
        options: Mapping[str, Option] | None = None,
        name: str | None = None,
    ) -> Output:
        """Files in a directory: parquet, json (lines), csv or text. As a stream exactly-once, for readers that honour the directory's log,
        as Spark does. A batch run wants an empty directory, or `replace=True` to write over what is there.

        partition_by  columns that become directories: `day=2026-01-01/…`.
        files         how many a batch makes at most, in each such directory: 1 brings all its rows together first. Without it, each task
                      that has rows makes one. With few records, let batches be seldom, too: `trigger="10 minutes"`.
        options       Spark's own, of the format.
        """
        if files is not None:
            positive(files=files)
        place, by = arguments.path("to.files", path), tuple(arguments.names("to.files: partition_by", partition_by))
        called = f"files-{Path(place).name}" if name is None else arguments.text("to.files: name", name)
        replaces = arguments.flag("to.files: replace", replace)
        return recipe.end(self._step, FilesSink(place, format, called, by, texts(options), replaces, files))

    def database(
        self,
        url: str,
        table: str,
        *,
        key: str | Sequence[str] = (),
        delete: str | None = None,
        newest: str | Sequence[str] = (),
        options: Mapping[str, Option] | None = None,
        name: str | None = None,
    ) -> Output:
        """Rows of a table in PostgreSQL, MySQL, MariaDB or SQLite, exactly-once as micro-batch. (In real time: to Kafka, and from there.)

        url      `postgresql://user@host/db`, `mysql://user@host/db`, `sqlite:///file.db` or a path; or, if it holds a password, a reference
                 to it: "env:NAME" or "file:/path". A password in the program is refused.
        table    its name, or schema.name. One that is not there is made from the columns; one that is there must fit them.
        key      the columns that name a row: a row whose key is there takes its place, the last of a batch that of those before it. Without
                 a key rows are added.
        delete   a column that is true for a row that removes the row of its key, and that is not stored itself.
        newest   columns such as a version or a time: a row takes the place of one that is there unless these are smaller, compared from
                 left to right. For rows that may come out of order.
        options  of the database's client: {"sslmode": "verify-full", "sslrootcert": "/ca.pem"} for PostgreSQL, {"ssl_ca": "/ca.pem"} for
                 MySQL; a secret as a reference, {"password": "env:NAME"}.

        What an aggregate puts out is update, for which there must be a key, or complete: the table then holds the whole result of each
        batch, and nothing else. Lists, maps and structs are stored as JSON.
        """
        arguments.text("to.database: the address", url)
        arguments.text("to.database: the table", table)
        if delete is not None:
            arguments.name("to.database: delete", delete)
        by, newer = arguments.names("to.database: key", key), arguments.names("to.database: newest", newest)
        target = tables.table(table, self._step.preview.schema, key=by, delete=delete, newest=newer)
        called = f"database-{table}" if name is None else arguments.text("to.database: name", name)
        return recipe.end(self._step, DatabaseSink(url, target, called, texts(options)))

    def console(self, *, rows: int = 20, name: str = "console") -> Output:
        """Rows on the terminal, at most so many of each batch."""
        return recipe.end(self._step, ConsoleSink(arguments.text("to.console: name", name), rows))

    def memory(self, name: str = "memory") -> Output:
        """Rows in this process, for tests and first steps: `output.sink.rows`, in the order of the batches."""
        return recipe.end(self._step, MemorySink(arguments.text("to.memory: name", name)))

    def callback(self, function: Callable[[DataFrame, int], object], *, name: str | None = None) -> Output:
        """`function(rows, batch)` on the driver, with a DataFrame, for each micro-batch, or once for a batch run (`batch` is then 0).
        At-least-once: a batch may come again after a crash, with the same rows and the same number."""
        arguments.function("to.callback", function, "rows", "batch")
        called = (
            f"callback-{getattr(function, '__name__', 'function').strip('<>')}"
            if name is None
            else arguments.text("to.callback: name", name)
        )
        return recipe.end(self._step, CallbackSink(function, called))

    def sink(self, sink: Sink) -> Output:
        """A sink of your own: an object of a class below `headrace.Sink`. What it promises, in which mode, it says itself."""
        if (
            not isinstance(sink, Sink)
            or not isinstance(getattr(sink, "kind", None), str)
            or not isinstance(getattr(sink, "name", None), str)
        ):
            raise DefinitionError(
                f"to.sink: {arguments.shown(sink)} is no sink, or has no kind or no name",
                fix='give an object of a class of yours: class Lines(hr.Sink): kind = "lines"; …, then to.sink(Lines(…))',
                where=user_line(),
            )
        return recipe.end(self._step, sink)


def _joined(parts: Sequence[Column], output: str) -> Column:
    """One text of several, and the name of the output; null if one of them is."""
    return F.concat(*(each for part in parts for each in (part, F.lit("/"))), F.lit(output))


def _part(name: str) -> Column:
    """A column as a part of an id, written so that `a/b` and `c` are not `a` and `b/c`."""
    return F.replace(F.replace(F.col(name).cast("string"), F.lit("%"), F.lit("%25")), F.lit("/"), F.lit("%2F"))
