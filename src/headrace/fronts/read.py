"""Where streams come from: `hr.read.kafka("topic")`, `hr.read.files("directory", …)` and so on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headrace.decoding.formats import Format
from headrace.decoding.times import Times
from headrace.definitions import arguments, schemas
from headrace.definitions.schemas import Schema
from headrace.errors import DefinitionError, user_line
from headrace.fronts import hints
from headrace.fronts.stream import Stream
from headrace.io.connectors import Option, Source, texts
from headrace.io.files import FilesSource
from headrace.io.kafka.connector import DEFAULT_CAP, ID, Cluster, KafkaSource, Offsets
from headrace.io.memory import MemorySource
from headrace.io.rate import RateSource
from headrace.io.receiver import Receiver, ReceiverSource
from headrace.io.socket import SocketSource
from headrace.ops.features import running
from headrace.planning import recipe
from headrace.planning.recipe import Step
from headrace.spark.session import session

FileFormat = Literal["parquet", "json", "csv", "text"]


def kafka(
    *topics: str,
    schema: Schema | Mapping[str, Schema] | None = None,
    format: Format = "json",
    tag: str | None = None,
    times: Times | None = None,
    keep: Sequence[str] = (),
    pattern: str | None = None,
    start: str | datetime | Offsets = "earliest",
    servers: str | None = None,
    options: Mapping[str, Option] | None = None,
    cap: int = DEFAULT_CAP,
    headers: bool = False,
    once: bool | str = False,
    partitions: Sequence[int] = (),
) -> Stream:
    """Records of Kafka topics, or of all topics whose name matches `pattern`.

    schema   what the values hold: a dataclass, a pydantic model or `name type, …`; records that are not so go to `.dead_letters`.
             Without it the columns are Kafka's: key, value, topic, partition, offset, timestamp, timestampType.
    format   of the values: "json", "csv", "avro" or "raw". `tag`, with a dict of schemas, is the field that tells which is a record's.
    times    how times are written that are not text as ISO 8601 has it: "epoch_millis" for all timestamps, or {"at": "epoch_seconds",
             "order.placed": "dd/MM/yyyy HH:mm"}; the forms are those of `decode`.
    keep     columns of Kafka's to keep beside the fields: `keep=["timestamp", "offset"]`.
    pattern  a regular expression, of Java's kind, for the whole name of a topic.
    start    where a job without a checkpoint begins: "earliest", "latest" (of which a batch has nothing), a datetime (in UTC if it has no
             zone), or {topic: {partition: offset}}.
    servers  the cluster's address; HEADRACE_KAFKA if not given, else the broker that headrace brings.
    options  Kafka's own client options, each with `kafka.` before it; secrets as "env:NAME" or "file:/path".
    cap      a micro-batch takes at most so many records.
    headers  whether there is one column more of Kafka's, `headers`: an array of key and value.
    once     whether a record is left out that was there before, by the id that `to.kafka(…, id=True)` gives it; one without an id stays.
             Ids are remembered for a day, by the clock, or for as long as is said: `once="1 hour"`. It must be longer than the job that
             writes may be down. State: a number for each id. In real time a query has one state, so there this is all of it.
    partitions  only these of the topic, which must be one. Each stream has a time of its own: streams of one partition each, united, have
             the time that the slowest has reached.
    """
    for topic in topics:
        arguments.text("read.kafka: a topic", topic)
    for option, value in {"pattern": pattern, "servers": servers, "tag": tag}.items():
        if value is not None:
            arguments.text(f"read.kafka: {option}", value)
    _refuse_position(start)
    if pattern or options:
        session()  # it is Java that knows them
    kept = arguments.names("read.kafka: keep", keep)
    only = tuple(arguments.whole("read.kafka: a partition", partition, least=0) for partition in partitions)
    records = Stream(_begin(KafkaSource(topics, pattern, start, Cluster(servers, texts(options)), cap, headers or bool(once), only)))
    if once:
        records = _each_once(records, "1 day" if once is True else arguments.text("read.kafka: once", once), headers=headers)
    if schema is None and format != "raw":
        told = {f"format={format!r}": format != "json", f"tag={tag!r}": tag is not None, f"keep={keep!r}": bool(keep)}
        _refuse_without_schema({**told, f"times={times!r}": times is not None})
        return records
    return records.decode(format=format, schema=schema, tag=tag, times=times, keep=kept)


def _each_once(records: Stream, remembered: str, *, headers: bool) -> Stream:
    ids = F.filter("headers", lambda header: header["key"] == ID)
    named = records.with_columns(_id=F.get(ids, F.lit(0))["value"].cast("string"))
    counted = named.key_by("_id").with_features(_before=running(F.count("*")), idle=remembered)
    return counted.where("_id IS NULL OR _before = 0").drop("_id", "_before", *([] if headers else ["headers"]))


def files(
    path: str | Path,
    *,
    schema: Schema | None = None,
    format: FileFormat = "parquet",
    times: Times | None = None,
    separator: str = ",",
    line_separator: str | None = None,
) -> Stream:
    """Files of a directory, or one file.

    parquet  its own schema, or the given one
    json     a JSON object a line; the schema must be given, and lines that are not so go to `.dead_letters`
    csv      the same for lines of cells, without line breaks in them; the first line of a file is skipped if it is just the fields' names
    text     lines as they are, in the column `value`

    How times are written in json and csv, if not as ISO 8601 has it, `times` says: "epoch_millis", or {field: form} (`Stream.decode`).
    A line ends with `line_separator`, or, if none is given, with any of the usual three: \\n, \\r\\n and \\r.
    """
    if format == "text" and schema is not None:
        raise DefinitionError(
            "text files have no schema: lines stay as they are", fix="leave it out, or name another format", where=user_line()
        )
    if times is not None and format not in ("json", "csv"):
        raise DefinitionError(
            f"times={times!r} cannot be told of {format} files", fix="leave it out: times= is for json and csv", where=user_line()
        )
    place = arguments.path("read.files", path)
    arguments.text("read.files: separator", separator)
    if line_separator is not None:
        arguments.text("read.files: line_separator", line_separator)
    columns = None if schema is None else _columns(schema)
    source = FilesSource(place, format, columns, line_separator=line_separator, separator=separator)
    if not source.decoded:
        return Stream(_begin(source))
    return Stream(_begin(source)).decode(format="csv" if format == "csv" else "json", schema=schema, times=times, separator=separator)


def rate(per_second: int = 1) -> Stream:
    """(timestamp, value), so many a second, value counting from 0. Micro-batch only."""
    return Stream(_begin(RateSource(per_second)))


def socket(host: str, port: int) -> Stream:
    """Lines of text from a TCP server, as `value`. Micro-batch only, and lines may be lost when the job stops."""
    return Stream(_begin(SocketSource(arguments.text("read.socket: host", host), port)))


def receiver(receiver: Receiver, *, cap: int = 10_000, tasks: int = 1) -> Stream:
    """A source of your own, written in Python: a `headrace.Receiver`. A micro-batch takes at most `cap` records of it, in so
    many tasks at once."""
    return Stream(_begin(ReceiverSource(receiver, cap, tasks)))


def memory(schema: Schema, *batches: Iterable[Sequence[Any] | Mapping[str, Any]]) -> MemoryStream:
    """Rows of the program's own, for tests and first steps: each batch given, and each later `add`, is one micro-batch.

    A `timestamp` that does not know its zone is in UTC. (PySpark, when it hands rows out, gives such times in the machine's zone.)
    """
    source = MemorySource(_columns(schema))
    for batch in batches:
        source.add(batch)
    return MemoryStream(source)


if not TYPE_CHECKING:  # a type checker shall go on to find wrong names by itself

    def __getattr__(name: str) -> NoReturn:
        raise hints.of_read(name, ["kafka", "files", "rate", "socket", "receiver", "memory"])


class MemoryStream(Stream):
    """A stream to which the program adds rows."""

    def __init__(self, source: MemorySource) -> None:
        super().__init__(_begin(source))
        self.add = source.add


def _begin(source: Source) -> Step:
    return recipe.begin(session(), source)


def _refuse_position(start: object) -> None:
    """Refuse what is no position in a log; a text is looked at by the source itself."""
    offsets = isinstance(start, Mapping) and all(
        isinstance(partitions, Mapping) and all(isinstance(number, int) for pair in partitions.items() for number in pair)
        for partitions in start.values()
    )
    if not isinstance(start, str | datetime) and not offsets:
        raise DefinitionError(
            f"read.kafka: start={arguments.shown(start)} is no position",
            fix='"earliest", "latest", a datetime, or {topic: {partition: offset}}, such as {"orders": {0: 42}}', where=user_line(),
        )  # fmt: skip


def _refuse_without_schema(options: Mapping[str, bool]) -> None:
    for option, there in options.items():
        if there:
            raise DefinitionError(
                f"{option} is for records that are decoded, and there is no schema to decode them by",
                fix="give schema=…, or leave it out to get Kafka's own columns",
                where=user_line(),
            )


def _columns(schema: Schema) -> StructType:
    session()  # it is Spark that reads a schema's text
    return schemas.schema(schema)
