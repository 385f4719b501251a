"""Where a stream goes: `stream.to.kafka("topic")` and so on give the outputs that a `Job` runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pyspark.sql import Column, DataFrame

from headrace.io.callback import CallbackSink
from headrace.io.connectors import Option, texts
from headrace.io.console import ConsoleSink
from headrace.io.files import FilesSink
from headrace.io.kafka import Cluster, KafkaSink
from headrace.io.memory import MemorySink
from headrace.run import recipe
from headrace.run.recipe import Output, Step


class To:
    """The ends of one stream. `name` is how progress, errors and the checkpoint call it."""

    def __init__(self, step: Step) -> None:
        self._step = step

    def kafka(
        self,
        *topics: str,
        route: str | Column | None = None,
        key: str | Column | None = None,
        value: str | Column | Sequence[str] | None = None,
        headers: Mapping[str, str | Column] | None = None,
        servers: str | None = None,
        options: Mapping[str, Option] | None = None,
        name: str | None = None,
    ) -> Output:
        """Records of a Kafka topic, at-least-once. A topic that does not exist is made on the broker that headrace brings, and refused on a
        cluster.

        route    of several topics, the column that names each row's own; a row for which it is null is not written.
        key      a column: bytes as they are, anything else as text.
        value    a JSON object of all columns (the default) or of those named (`["a", "b"]`), or one column as it is (`"raw"`).
        headers  name -> column, written as text; one that is null is left out.
        servers  the cluster's address; HEADRACE_KAFKA if not given, else the broker that headrace brings.
        options  Kafka's own client options, each with `kafka.` before it; secrets as "env:NAME" or "file:/path".
        """
        cluster = Cluster(servers, texts(options))
        sink = KafkaSink(topics, key, value, name or f"kafka-{'-'.join(topics)}", cluster, route, headers or {})
        return recipe.end(self._step, sink)

    def files(
        self,
        path: str | Path,
        *,
        format: str = "parquet",
        partition_by: str | Sequence[str] = (),
        replace: bool = False,
        options: Mapping[str, Option] | None = None,
        name: str | None = None,
    ) -> Output:
        """Files in a directory: parquet, json (lines), csv or text. As a stream exactly-once, for readers that honour the directory's log,
        as Spark does. A batch run wants an empty directory, or `replace=True` to write over what is there.

        partition_by  columns that become directories: `day=2026-01-01/…`.
        options       Spark's own, of the format.
        """
        by = (partition_by,) if isinstance(partition_by, str) else tuple(partition_by)
        return recipe.end(self._step, FilesSink(str(path), format, name or f"files-{Path(path).name}", by, texts(options), replace))

    def console(self, *, rows: int = 20, name: str = "console") -> Output:
        """Rows on the terminal, at most so many of each batch."""
        return recipe.end(self._step, ConsoleSink(name, rows))

    def memory(self, name: str = "memory") -> Output:
        """Rows in this process, for tests and first steps: `output.sink.rows`, in the order of the batches."""
        return recipe.end(self._step, MemorySink(name))

    def callback(self, function: Callable[[DataFrame, int], object], *, name: str | None = None) -> Output:
        """`function(rows, batch)` on the driver, with a DataFrame, for each micro-batch, or once for a batch run (`batch` is then 0).
        At-least-once: a batch may come again after a crash, with the same rows and the same number."""
        return recipe.end(self._step, CallbackSink(function, name or f"callback-{getattr(function, '__name__', 'function').strip('<>')}"))
