"""Where streams come from: `hr.read.kafka("topic")`, `hr.read.files("directory", …)` and so on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql.types import StructType

from headrace.errors import user_line
from headrace.fronts.stream import Stream
from headrace.io.connectors import Source, struct
from headrace.io.files import FilesSource
from headrace.io.kafka import DEFAULT_CAP, Cluster, KafkaSource, Offsets
from headrace.io.memory import MemorySource
from headrace.io.rate import RateSource
from headrace.io.receiver import Receiver, ReceiverSource
from headrace.io.socket import SocketSource
from headrace.run import failures, recipe
from headrace.run.session import session


def _stream(source: Source) -> Stream:
    return Stream(recipe.begin(session(), source))


def _columns(schema: str | StructType) -> StructType:
    session()  # it is Spark that reads a schema's text
    with failures.of_definition("schema", user_line(), []):
        return struct(schema)


def kafka(
    *topics: str,
    pattern: str | None = None,
    start: str | datetime | Offsets = "earliest",
    servers: str | None = None,
    options: Mapping[str, str] | None = None,
    cap: int = DEFAULT_CAP,
) -> Stream:
    """Records of Kafka topics, or of all topics whose name matches `pattern`.

    start    where a job without a checkpoint begins: "earliest", "latest", a datetime, or {topic: {partition: offset}}.
    servers  the cluster's address; HEADRACE_KAFKA if not given, else the broker that headrace brings.
    options  Kafka's own client options, each with `kafka.` before it; secrets as "env:NAME" or "file:/path".
    cap      a micro-batch takes at most so many records.
    """
    return _stream(KafkaSource(topics, pattern, start, Cluster(servers, options or {}), cap))


def files(
    path: str | Path, *, format: str = "parquet", schema: str | StructType | None = None, options: Mapping[str, str] | None = None
) -> Stream:
    """Files of a directory: parquet, json (lines), csv or text. The schema of json and csv must be given."""
    columns = None if schema is None else _columns(schema)
    return _stream(FilesSource(str(path), format, columns, options or {}))


def rate(per_second: int = 1) -> Stream:
    """(timestamp, value), so many a second, value counting from 0. Micro-batch only."""
    return _stream(RateSource(per_second))


def socket(host: str, port: int) -> Stream:
    """Lines of text from a TCP server, as `value`. Micro-batch only, and lines may be lost when the job stops."""
    return _stream(SocketSource(host, port))


def receiver(receiver: Receiver, *, cap: int = 10_000, tasks: int = 1) -> Stream:
    """A source of your own, written in Python: a `headrace.io.receiver.Receiver`. A micro-batch takes at most `cap` records of it, in so
    many tasks at once."""
    return _stream(ReceiverSource(receiver, cap, tasks))


def memory(schema: str | StructType, *batches: Iterable[Sequence[Any] | Mapping[str, Any]]) -> MemoryStream:
    """Rows of the program's own, for tests and first steps: each batch given, and each later `add`, is one micro-batch."""
    source = MemorySource(_columns(schema))
    for batch in batches:
        source.add(batch)
    return MemoryStream(source)


class MemoryStream(Stream):
    """A stream to which the program adds rows."""

    def __init__(self, source: MemorySource) -> None:
        super().__init__(recipe.begin(session(), source))
        self.add = source.add
