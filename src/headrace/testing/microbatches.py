"""A query under test, driven one micro-batch at a time."""

from __future__ import annotations

import functools
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession

from headrace.kernel.jvm import java_class
from headrace.run import finishing
from headrace.spark.session import session
from headrace.testing.clocks import ManualClock
from headrace.testing.memory import STREAMING, FedSource
from headrace.testing.results import Result
from headrace.testing.tables import Rows, Schema

Operator = Callable[[DataFrame], DataFrame]
OutputMode = Literal["append", "update", "complete"]

_SETTINGS = {
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # A test's batches are tiny and its checkpoint is local: what follows saves a third of the time. Spark's usual manager starts a process
    # for each file that it renames there, and without a change log each batch uploads its whole state.
    "spark.sql.streaming.checkpointFileManagerClass": f"{STREAMING}.checkpointing.FileSystemBasedCheckpointFileManager",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}


class MicroBatches:
    """An operator that runs as a streaming query, one micro-batch for each `feed`, with a clock that stands still.

        with MicroBatches(operator, "customer string, amount double") as stream:
            assert_table(stream.feed([("ann", 1.0)]), '''...''')
            stream.restart()                                     # from the checkpoint, as a new process would
            assert_table(stream.feed([("ann", 2.0)]), '''...''')

    `feed` gives what that batch put out. Watermarks and timers that a batch makes due take effect in the next one: `tick` runs an empty
    batch. Spark's own extra batches without data are off, so a batch is never run that the test did not ask for.
    """

    def __init__(
        self,
        operator: Operator,
        schema: Schema,
        *,
        spark: SparkSession | None = None,
        clock: ManualClock | None = None,
        output_mode: OutputMode = "update",
        partitions: int = 2,
    ) -> None:
        self._spark = spark or session()
        self._operator, self._mode, self._partitions = operator, output_mode, partitions
        self.clock = clock or ManualClock()
        self.source = FedSource(self._spark, schema)
        self.checkpoint = new_checkpoint()
        self._query: Any = None
        self._sink: Any = None
        self._seen = -1
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def feed(self, rows: Rows) -> Result:
        """Run one micro-batch over these rows (none is allowed) and give what it put out."""
        self.push(self.source.java(rows))
        return self.output()

    def push(self, rows: Any) -> None:
        """Run one micro-batch over rows that `source.java` made, and leave what it puts out for `output`."""
        self.source.add_java(rows)
        self._query.processAllAvailable()

    def output(self) -> Result:
        """What was put out since this was last asked, or since the last start."""
        data = self._class("scala.jdk.javaapi.CollectionConverters").asJava(self._sink.dataSinceBatch(self._seen))
        latest = self._sink.latestBatchId()
        self._seen = latest.get() if latest.isDefined() else -1
        structure = self._spark._jsparkSession.parseDataType(self._schema.json())
        frame = DataFrame(self._spark._jsparkSession.createDataFrame(data, structure), self._spark)
        return Result(self._schema, tuple(frame.collect()))

    def tick(self) -> Result:
        """Run one empty micro-batch: timers that are due and windows behind the watermark come out."""
        return self.feed([])

    def restart(self, *, crashed: bool = False) -> Result:
        """Stop, and start again from the checkpoint with the operator applied anew, as in a new process.

        With `crashed` the last batch's commit is taken back first, as if the process had been killed after the sink wrote and before Spark
        took note: the batch runs again, and its rows are given. A deterministic operator gives the same rows as the first time.
        """
        self._query.stop()
        if crashed:
            commits = self.checkpoint / "commits"
            last = max(int(file.name) for file in commits.iterdir() if file.name.isdigit())
            for file in commits.glob(f"*{last}*"):
                if file.name.strip(".").split(".")[0] == str(last):
                    file.unlink()
        return self._again()

    def finish(self) -> Result:
        """End the input, as the trigger `finish` does, and give what comes out: windows close, alarms ring, records need not wait."""
        self._query.stop()
        finishing.plan(self._spark, str(self.checkpoint))
        return self._again()

    def _again(self) -> Result:
        self._start()
        self._query.processAllAvailable()  # until then nothing could have come out, whether it should or not
        return self.output()

    @property
    def progress(self) -> list[dict[str, Any]]:
        """Spark's report on each micro-batch since the last start."""
        reports = [json.loads(report.json()) for report in self._query.recentProgress()]
        return [report for report in reports if "addBatch" in report["durationMs"]]  # the others only say that the query is idle

    @property
    def nothing(self) -> Result:
        """A result of the query's columns and no rows."""
        return Result(self._schema, ())

    def close(self) -> None:
        """Stop the query and delete its checkpoint."""
        if self._query is not None:
            self._query.stop()
        shutil.rmtree(self.checkpoint, ignore_errors=True)

    def __enter__(self) -> MicroBatches:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        option, modes = self._class("scala.Option"), self._class("org.apache.spark.sql.streaming.OutputMode")
        with configured(self._spark, _SETTINGS | {"spark.sql.shuffle.partitions": str(self._partitions)}):
            df = self._operator(self.source.df)
            self._schema, self._seen = df.schema, -1
            self._sink = self._class(f"{STREAMING}.sources.MemorySink")()
            none = option.empty()
            # Spark's public writer takes no clock, and its memory sink will not start from a checkpoint: this is what both end in
            self._query = self._spark._jsparkSession.streams().startQuery(
                none,  # name
                none,  # name of the sink
                option.apply(str(self.checkpoint)),
                df._jdf,
                self._class("org.apache.spark.api.python.PythonUtils").toScalaMap({}),
                self._sink,
                getattr(modes, self._mode.capitalize())(),
                False,  # no temporary checkpoint
                True,  # recover from the checkpoint
                self._class("org.apache.spark.sql.streaming.Trigger").ProcessingTime(0),
                self.clock.of(self._spark),
                none,
                none,
            )

    def _class(self, name: str) -> Any:
        return java_class(self._spark, name)


def new_checkpoint() -> Path:
    """An empty directory, for the caller to delete. Spark saves state in the background: what it puts there meanwhile goes at exit."""
    return Path(tempfile.mkdtemp(dir=_checkpoints().name))


@functools.cache
def _checkpoints() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="headrace-test-", ignore_cleanup_errors=True)


@contextmanager
def configured(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    """The session with these settings for a while, then with those it had."""
    before = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, was in before.items():
            if was is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, was)
