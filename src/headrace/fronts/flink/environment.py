"""`StreamExecutionEnvironment`: where streams come from, and how a program runs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pyspark import cloudpickle
from pyspark.sql import DataFrame
from pyspark.sql import Row as SparkRow
from pyspark.sql import types as T

import headrace.fronts.flink as front
from headrace.definitions import arguments
from headrace.errors import DefinitionError, pointing_at, unknown_name, user_line
from headrace.fronts import read
from headrace.fronts.flink import bridging, times
from headrace.fronts.flink.connectors import KafkaSink, KafkaSource
from headrace.fronts.flink.printing import written
from headrace.fronts.flink.streams.datastream import DataStream, timed
from headrace.fronts.flink.streams.parts import TIME, Part, Parts
from headrace.fronts.flink.times import WatermarkStrategy
from headrace.fronts.flink.types import TypeInformation, declared
from headrace.io.connectors import Source
from headrace.job import Job
from headrace.planning.recipe import Output
from headrace.planning.table import Mode
from headrace.planning.triggers import Trigger, finish
from headrace.run.running import Running


class RuntimeExecutionMode(Enum):
    """How a program runs. BATCH: over what the sources have, to the end; rolling aggregates give their last value. STREAMING: as
    micro-batches, and if all sources have an end, to that. AUTOMATIC: BATCH if all sources have an end. REAL_TIME, which Flink does not
    know: each record at once, from Kafka to Kafka."""

    STREAMING = "micro-batch"
    BATCH = "batch"
    AUTOMATIC = "automatic"
    REAL_TIME = "real-time"


class JobClient:
    """A program that runs: `execute_async` gives it."""

    def __init__(self, running: Running) -> None:
        self.running = running

    def get_job_status(self) -> str:
        """Flink's words for it: RUNNING, FINISHED, FAILED."""
        return {"running": "RUNNING", "stopping": "CANCELLING", "failed": "FAILED"}.get(self.running.state, "FINISHED")

    def cancel(self) -> None:
        """Stop it: the batch under way is completed and saved."""
        self.running.stop()

    def __enter__(self) -> JobClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()


class JobExecutionResult:
    """That a program has run to its end."""

    def __init__(self, name: str) -> None:
        self._name = name

    def get_job_name(self) -> str:
        """Its name."""
        return self._name


class StreamExecutionEnvironment:
    """Begin here: `env = StreamExecutionEnvironment.get_execution_environment()`."""

    def __init__(self) -> None:
        cloudpickle.register_pickle_by_value(front)  # type: ignore[no-untyped-call]  # a cluster's machines need not have headrace
        self._mode = RuntimeExecutionMode.STREAMING
        self._outputs: list[Output] = []
        self._trigger: Trigger | str | None = None
        self._checkpoint: str | Path | None = None
        self._parallelism = 2
        self._ending: list[Source] = []

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise unknown_name("a StreamExecutionEnvironment", name, [each for each in dir(type(self)) if not each.startswith("_")], _HINTS)

    @staticmethod
    def get_execution_environment(configuration: Any = None) -> StreamExecutionEnvironment:
        """An environment."""
        return StreamExecutionEnvironment()

    # -- settings --------------------------------------------------------------------------------------------------------------------

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> StreamExecutionEnvironment:
        """BATCH, STREAMING (the default), AUTOMATIC, or REAL_TIME."""
        if not isinstance(execution_mode, RuntimeExecutionMode):
            raise DefinitionError(
                f"set_runtime_mode: {arguments.shown(execution_mode)} is no mode",
                fix="give one: RuntimeExecutionMode.BATCH",
                where=user_line(),
            )
        self._mode = execution_mode
        return self

    def set_parallelism(self, parallelism: int) -> StreamExecutionEnvironment:
        """How many tasks a broadcast has. How many others have is Spark's `spark.sql.shuffle.partitions`."""
        self._parallelism = self._positive("set_parallelism", parallelism)
        return self

    set_max_parallelism = set_parallelism

    def get_parallelism(self) -> int:
        """How many tasks a broadcast has."""
        return self._parallelism

    def enable_checkpointing(self, interval: int, mode: Any = None) -> StreamExecutionEnvironment:
        """How often it saves, in milliseconds: each micro-batch is saved. State is exactly-once always."""
        self._trigger = f"{self._positive('enable_checkpointing', interval)} milliseconds"
        return self

    def set_checkpoint_directory(self, directory: str | Path) -> StreamExecutionEnvironment:
        """Where it saves: a directory, instead of one in the user's data directory."""
        self._checkpoint = directory
        return self

    def add_jars(self, *jars_path: str) -> None:
        """Nothing: what headrace needs comes with it."""

    def _positive(self, at: str, number: Any) -> int:
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise DefinitionError(f"{at}: {arguments.shown(number)} is no number above 0", fix="give a whole number", where=user_line())
        return number

    # -- sources ---------------------------------------------------------------------------------------------------------------------

    def from_collection(self, collection: Iterable[Any], type_info: TypeInformation | None = None) -> DataStream:
        """The values of a collection, which is the end of it too."""
        kind = declared("from_collection: type_info", type_info)
        if isinstance(collection, str | Mapping) or not isinstance(collection, Iterable):
            raise DefinitionError(
                f"from_collection: {arguments.shown(collection)} is no list", fix="give a list of values", where=user_line()
            )
        write = kind.writing()
        try:
            rows = [(write(value), None) for value in collection]
        except TypeError as error:
            raise DefinitionError(f"from_collection: {error}", fix="give values of that type", where=user_line()) from None
        stream = read.memory(_schema(kind), rows)
        return DataStream(self, Parts((Part(stream, kind),)))

    def from_elements(self, *elements: Any, type_info: TypeInformation | None = None) -> DataStream:
        """These values: `from_collection` without a list."""
        return self.from_collection(list(elements), type_info)

    def from_batches(self, *collections: Iterable[Any], type_info: TypeInformation | None = None) -> DataStream:
        """Values that come one collection after the other: each is a micro-batch, so the watermark goes on between them. For tests."""
        kind = declared("from_batches: type_info", type_info)
        write = kind.writing()
        stream = read.memory(_schema(kind), *[[(write(value), None) for value in collection] for collection in collections])
        return DataStream(self, Parts((Part(stream, kind),)))

    def from_source(
        self, source: Any, watermark_strategy: WatermarkStrategy, source_name: str = "source", type_info: TypeInformation | None = None
    ) -> DataStream:
        """A `KafkaSource`, or a `Stream` of headrace's, whose columns are then the fields of a Row (`type_info` may say which)."""
        arguments.text("from_source: source_name", source_name)
        strategy = times.strategy("from_source", watermark_strategy)
        part = source._part(type_info) if isinstance(source, KafkaSource) else bridging.part(source, type_info)
        if isinstance(source, KafkaSource) and source.bounded:
            self._ending += part.stream.step.sources()
        gives_time = strategy.assigner is not None or (strategy.delay is not None and part.has_time)
        return DataStream(self, Parts((timed(part, strategy) if gives_time else part,)))

    def from_stream(self, stream: Any, type_info: TypeInformation | None = None) -> DataStream:
        """A `Stream` of headrace's: each record is a Row of its columns."""
        return DataStream(self, Parts((bridging.part(stream, type_info),)))

    # -- the ends --------------------------------------------------------------------------------------------------------------------

    def _add_print(self, stream: DataStream, prefix: str | None) -> None:
        part, number = stream._made(), len(self._outputs)
        read_value, start = part.type.reading(), f"{prefix}> " if prefix else ""

        def print_rows(rows: DataFrame, batch: int) -> None:  # noqa: ARG001 - called with the number of the batch
            for row in rows.select("value").toLocalIterator():
                sys.stdout.write(start + written(part.type, read_value(_plain(row["value"]))) + "\n")

        self._outputs.append(part.stream.to.callback(print_rows, name=f"print-{number}"))

    def _add_sink(self, stream: DataStream, sink: Any) -> None:
        part, number = stream._made(), len(self._outputs)
        if isinstance(sink, KafkaSink):
            self._outputs.append(sink._output(part, f"sink-{number}"))
            return
        if not callable(sink):
            raise DefinitionError(
                f"sink_to: {arguments.shown(sink)} is no sink", fix="give a KafkaSink, or a function of a value", where=user_line()
            )
        read_value = part.type.reading()

        def call(rows: DataFrame, batch: int) -> None:  # noqa: ARG001 - called with the number of the batch
            for row in rows.select("value").toLocalIterator():
                sink(read_value(_plain(row["value"])))

        self._outputs.append(part.stream.to.callback(call, name=f"sink-{number}"))

    def _collect(self, stream: DataStream, name: str) -> list[Any]:
        values = self._collected(stream, name, self._outputs)
        self._outputs = []
        return values

    def _collected(
        self, stream: DataStream, name: str, others: list[Output], at: str = "execute_and_collect", checkpoint: str | None = None
    ) -> list[Any]:
        part = stream._made()
        output = part.stream.select("value").to.memory(f"collect-{len(others)}")
        self._refuse_endless([*others, output], at)
        self._run(name, [*others, output], checkpoint)
        read_value = part.type.reading()
        return [read_value(_plain(row["value"])) for row in output.sink.rows]  # type: ignore[attr-defined]

    # -- running ---------------------------------------------------------------------------------------------------------------------

    def execute(self, job_name: str = "flink") -> JobExecutionResult:
        """Run the program: to the end if its sources have one, else until it fails or is stopped."""
        outputs, self._outputs = self._outputs, []
        self._run(job_name, outputs)
        return JobExecutionResult(job_name)

    def execute_async(self, job_name: str = "flink") -> JobClient:
        """Start it, and return. Not as BATCH, which runs to its end."""
        outputs, self._outputs = self._outputs, []
        with pointing_at(user_line()):
            return JobClient(self._job(job_name, outputs).start(self._chosen(outputs)))

    def _run(self, name: str, outputs: list[Output], checkpoint: str | None = None) -> None:
        with pointing_at(user_line()):
            self._job(name, outputs, checkpoint).run(self._chosen(outputs))

    def _job(self, name: str, outputs: list[Output], checkpoint: str | None = None) -> Job:
        if not outputs:
            raise DefinitionError("execute: no stream goes anywhere", fix="end one: stream.print(), stream.sink_to(…)", where=user_line())
        ends = self._chosen(outputs) == "micro-batch" and self._bounded(outputs)
        trigger = finish if ends else self._trigger
        return Job(
            "".join(each if each.isalnum() else "-" for each in name).strip("-") or "flink",
            *outputs,
            trigger=trigger,
            checkpoint=checkpoint or self._checkpoint,
        )

    def _chosen(self, outputs: list[Output]) -> Mode:
        if self._mode is RuntimeExecutionMode.AUTOMATIC:
            return "batch" if self._bounded(outputs) else "micro-batch"
        mode: Mode = self._mode.value
        return mode

    def _bounded(self, outputs: Iterable[Output]) -> bool:
        """Whether all sources have an end."""
        return all(source.kind == "memory" or source in self._ending for output in outputs for source in output.step.sources())

    def _refuse_endless(self, outputs: list[Output], at: str) -> None:
        if self._mode is not RuntimeExecutionMode.BATCH and not self._bounded(outputs):
            raise DefinitionError(
                f"{at}: a source of the program has no end", where=user_line(),
                fix="give the source one, set_bounded(KafkaOffsetsInitializer.latest()), or 'scan.bounded.mode' = 'latest-offset'; or "
                "run it as BATCH; else sink_to(…) and execute(), of a table INSERT INTO",
            )  # fmt: skip


_HINTS = {
    "add_source": "from_source(KafkaSource.builder()…build(), WatermarkStrategy.no_watermarks(), 'name')",
    "fromElements": "from_elements", "fromCollection": "from_collection",
    "set_stream_time_characteristic": "leave it out: assigners say by which time they go",
    "socket_text_stream": "from_stream(hr.read.socket(host, port))",
    "read_text_file": "from_stream(hr.read.files(path, format='text'))",
}  # fmt: skip


def _schema(kind: TypeInformation) -> Any:
    return T.StructType([T.StructField("value", kind.spark), TIME])


def _plain(value: Any) -> Any:
    """What the driver gets of Spark, as a worker gets it."""
    if isinstance(value, SparkRow):
        return {name: _plain(each) for name, each in value.asDict(recursive=False).items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return bytes(value) if isinstance(value, bytearray) else value
