"""Rows that are kept in this process: tests, notebooks, first steps.

Read   each `add` is one micro-batch, in order; kept on disk until the process ends, so a job that is restarted goes on where it was.
Write  exactly-once as long as the process lives: a repeated batch takes the place of what it wrote before. A batch run writes anew. A
       micro-batch run goes on from its checkpoint, with the rows of the micro-batches before it and without those of batch runs.

Nothing of it outlives the process. Neither does the checkpoint of a job that reads from memory, or that writes to nothing else, unless the
job was given a place for one.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import StructType

from headrace.definitions import arguments
from headrace.definitions.guarantees import Guarantee, Modes, Yes, promised
from headrace.errors import DefinitionError, user_line
from headrace.io.connectors import Calls, Run, Sink, Source, Writer


class MemorySource(Source):
    """Rows that the program itself adds.

    Spark's file source does the work: it orders files by their time of modification, which is set here to be the order of the calls.
    """

    kind: ClassVar[str] = "memory"
    modes: ClassVar[Modes] = {"batch": Yes("all rows"), "micro-batch": Yes("replayed while the process lives")}

    def __init__(self, schema: StructType) -> None:
        self._schema = schema
        self._home = _home()
        self._directory = self._home / "rows"
        self._directory.mkdir()
        self._numbers = count()

    @property
    def home(self) -> str:
        return str(self._home)

    def add(self, rows: Iterable[Sequence[Any] | Mapping[str, Any]]) -> None:
        """Append rows, as tuples or dicts. They are one micro-batch."""
        from pyarrow import parquet  # here, for it would be a fifth of what every command takes to start

        if not isinstance(rows, Iterable) or isinstance(rows, str | Mapping):
            raise self._unfit(f"the rows are {arguments.shown(rows)}")
        table = self._arrow([self._named(row) for row in rows])
        number = next(self._numbers)
        hidden = self._directory / f".{number:08}.parquet"
        parquet.write_table(table, hidden)
        os.utime(hidden, (number + 1, number + 1))
        hidden.rename(self._directory / f"{number:08}.parquet")

    def _named(self, row: Sequence[Any] | Mapping[str, Any]) -> Mapping[str, Any]:
        names = self._schema.fieldNames()
        if isinstance(row, Mapping):
            if unknown := [name for name in row if name not in names]:
                raise self._unfit(f"a row has {unknown[0]!r}")
            return row
        if not isinstance(row, Sequence) or isinstance(row, str) or len(row) != len(names):
            raise self._unfit(f"a row is {row!r}")
        return dict(zip(names, row, strict=True))

    def _arrow(self, records: list[Mapping[str, Any]]) -> Any:
        from pyarrow import ArrowException, Table
        from pyspark.sql.pandas.types import to_arrow_schema

        for column in self._schema:
            if not column.nullable and any(record.get(column.name) is None for record in records):
                raise self._unfit(f"a row has no value for {column.name!r}, which cannot be null")
        try:
            return Table.from_pylist(records, to_arrow_schema(self._schema, timezone="UTC"))
        except (ArrowException, TypeError, ValueError, OverflowError) as error:
            raise self._unfit(str(error)) from None

    def _unfit(self, what: str) -> DefinitionError:
        return DefinitionError(
            f"{what}, but the columns are {self._schema.simpleString()[7:-1]}",
            fix="give a list of rows, each a tuple of values in that order, or a dict",
            where=user_line(),
        )

    def schema(self) -> StructType:
        return self._schema

    def table(self) -> DataFrame:
        from pyarrow import concat_tables, parquet

        # Not `SparkSession.active().read.parquet`: that packs files into tasks by size, and the order of the rows would be lost.
        tables = [parquet.read_table(file) for file in sorted(self._directory.glob("[!.]*.parquet"))]
        filled = [table for table in tables if table.num_rows > 0]  # Spark takes one without rows for the end
        return SparkSession.active().createDataFrame(concat_tables(filled or [self._arrow([])]), self._schema)

    def stream(self, *, real_time: bool) -> DataFrame:
        return SparkSession.active().readStream.schema(self._schema).option("maxFilesPerTrigger", 1).parquet(str(self._directory))

    def identity(self) -> dict[str, Any]:
        return {"kind": self.kind, "directory": str(self._directory)}


@dataclass(eq=False)
class MemorySink(Sink):
    """Rows by batch number. In complete mode each batch is the whole result, so the last one is what counts.

    The rule: after a batch run it holds what that run gave, and nothing else. As soon as a micro-batch run starts, it holds what the job's
    micro-batches have written since the first, whatever batch runs were between them. So it has no row twice, and lacks none.

    >>> import headrace as hr
    >>> numbers = hr.read.memory("n int", [(1,)])
    >>> kept = numbers.to.memory()
    >>> job = hr.Job("kept", kept, trigger=hr.once)
    >>> job.run("micro-batch")
    >>> numbers.add([(2,)])
    >>> job.run("batch")
    >>> job.run("micro-batch")
    >>> kept.sink.rows
    [Row(n=1), Row(n=2)]
    """

    name: str
    batches: dict[int, list[Row]] = field(default_factory=dict)
    _micro_batches: dict[int, list[Row]] = field(default_factory=dict, repr=False)
    kind: ClassVar[str] = "memory"
    modes: ClassVar[Modes] = {
        "batch": Yes("anew"),
        "micro-batch": promised(Guarantee.EXACTLY_ONCE, "while the process lives, after the rows of earlier micro-batches"),
    }

    @cached_property
    def _home(self) -> Path:
        return _home()

    @property
    def home(self) -> str:
        return str(self._home)

    @property
    def rows(self) -> list[Row]:
        """Every row so far, in the order of the batches."""
        return [row for batch in sorted(self.batches) for row in self.batches[batch]]

    def open(self, run: Run) -> Writer:
        if run.mode == "batch":
            return Calls(self._replace)
        self.batches = self._micro_batches
        return Calls(self._add)

    def _replace(self, frame: DataFrame, batch: int) -> None:
        self.batches = {batch: frame.collect()}

    def _add(self, frame: DataFrame, batch: int) -> None:
        rows = frame.collect()
        if batch == 0:  # a job without a checkpoint begins: what is here is another one's
            self._micro_batches.clear()
        self._micro_batches[batch] = rows


def _home() -> Path:
    """A directory that goes with the process."""
    made = Path(tempfile.mkdtemp(prefix="headrace-memory-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made
