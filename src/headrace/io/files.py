"""Files in a directory: JSON lines, CSV, Parquet.

Read   each file once, oldest first and of the same time by name; files must appear whole (write elsewhere, then rename) and must not
       change. As Spark has it, a name that begins with `.` or `_` is no file to read.
Write  exactly-once for readers that honour the directory's log (Spark does): a file counts when the batch that wrote it is in
       `_spark_metadata`, and a batch that is there is not written again. A log of which an entry is damaged is refused. An output that a
       job is given later holds the rows from then on. A batch run writes into a new directory, or replaces one. JSON lines and CSV are as
       `read.files` takes them: times to the microsecond, CSV with doubled quotes and all blanks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StringType, StructType

from headrace.decoding import encoding
from headrace.definitions import damages
from headrace.definitions.guarantees import Guarantee, Modes, Yes
from headrace.errors import DefinitionError, JobError, user_line
from headrace.io import file_system, files_log
from headrace.io.connectors import NEW, Calls, Run, Sink, Source, Writer, consume, struct
from headrace.kernel.expressions import first_line

FORMATS = ("json", "csv", "parquet", "text")

# Spark's CSV writer trims blanks and puts a backslash before quotes; both its writers of text cut times at the millisecond.
_WRITING: dict[str, dict[str, str]] = {
    "json": encoding.TIME_FORMATS,
    "csv": {**encoding.TIME_FORMATS, "escape": '"', "ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"},
}

# Spark would skip, and never see again, a file that is a week older than the newest one it has read.
_ANY_AGE = "36500d"


def _known(format: str) -> str:
    if format not in FORMATS:
        raise DefinitionError(f"files of format {format!r} are not known", fix=f"use one of {', '.join(FORMATS)}", where=user_line())
    return format


def _as_pattern(file: str) -> str:
    """A pattern that only this file matches: Spark takes the path of a stream for that of a directory, but not a pattern's."""
    directory, slash, name = file.rpartition("/")
    return directory + slash + re.sub(r"\w", r"[\g<0>]", name, count=1)


@dataclass(frozen=True, eq=False)
class FilesSource(Source):
    """Rows of Parquet files, or lines of the others. Lines that are to be decoded come with their file, as their `topic`."""

    path: str
    format: str
    columns: StructType | None = None
    per_batch: int = 1000
    line_separator: str | None = None
    separator: str = ","
    kind: ClassVar[str] = "files"
    modes: ClassVar[Modes] = {"batch": Yes("all files"), "micro-batch": Yes("replayed after a crash")}

    def __post_init__(self) -> None:
        _known(self.format)
        if self.columns is None and self.decoded:
            # An inferred schema changes with the files that happen to be there, and a restart would read other columns.
            raise DefinitionError(
                f"the schema of the {self.format} files in {self.path} is not given", fix='give schema="name type, …"', where=user_line()
            )

    @property
    def decoded(self) -> bool:
        """Whether lines are what is read, and not yet records."""
        return self.format in ("json", "csv")

    def schema(self) -> StructType:
        if self.format != "parquet":
            return struct("value string, topic string" if self.decoded else "value string")
        if self.columns is not None:
            return self.columns
        self.check()
        return SparkSession.active().read.parquet(self.path).schema

    def check(self) -> None:
        if not file_system.exists(self.path):
            raise JobError(f"there is no {self.path}", fix="create the directory, or give the path of one that exists")

    def table(self) -> DataFrame:
        reader = SparkSession.active().read
        return reader.schema(self.schema()).parquet(self.path) if self.format == "parquet" else self._lines(self._text(reader, self.path))

    def stream(self, *, real_time: bool) -> DataFrame:
        reader = SparkSession.active().readStream.option("maxFilesPerTrigger", self.per_batch).option("maxFileAge", _ANY_AGE)
        place = _as_pattern(self.path) if file_system.is_file(self.path) else self.path
        return reader.schema(self.schema()).parquet(place) if self.format == "parquet" else self._lines(self._text(reader, place))

    def _text(self, reader: Any, place: str) -> DataFrame:
        return reader.text(place, lineSep=self.line_separator)  # type: ignore[no-any-return] # a reader of tables or of streams

    def _lines(self, frame: DataFrame) -> DataFrame:
        if not self.decoded:
            return frame.select("value")
        place = F.col("_metadata.file_path").alias("topic")
        if self.format != "csv":
            return frame.select("value", place)
        # A column of its own: it must see every line, and a condition need not be looked at to its end.
        placed = frame.select("value", place, first_line.first(frame.sparkSession).alias("first"))
        return placed.where(~(F.col("first") & F.col("value").rlike(self._header()))).drop("first")

    def _header(self) -> str:
        """A line with just the names of the fields, each in quotes or not, as a regular expression of Java's."""
        assert self.columns is not None
        return rf"\A{re.escape(self.separator).join(self._heading(name) for name in self.columns.fieldNames())}\r?\z"

    def _heading(self, name: str) -> str:
        quoted = re.escape('"' + name.replace('"', '""') + '"')
        return quoted if '"' in name or self.separator in name else f"(?:{quoted}|{re.escape(name)})"

    def identity(self) -> dict[str, Any]:
        return {"kind": self.kind, "path": self.path, "format": self.format}


@dataclass(frozen=True, eq=False)
class FilesSink(Sink):
    path: str
    format: str
    name: str
    partition_by: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    replace: bool = False
    files: int | None = None
    kind: ClassVar[str] = "files"
    modes: ClassVar[Modes] = {"batch": Yes("a directory anew"), "micro-batch": Guarantee.EXACTLY_ONCE}
    output_modes = (("append",), "a row in a file cannot be changed")

    def __post_init__(self) -> None:
        _known(self.format)

    @property
    def place(self) -> str:
        # Two outputs would share one log, and the second find each of its batches there already.
        scheme, _, path = self.path.rpartition(":")
        return str(Path("/" + path.lstrip("/") if scheme else path).resolve()) if scheme in ("", "file") else self.path.rstrip("/")

    def shape(self, frame: DataFrame) -> DataFrame:
        frame.select(*self.partition_by)
        written = {column.name: column.dataType for column in frame.schema if column.name not in self.partition_by}
        if self.format == "text" and [type(kind) for kind in written.values()] != [StringType]:
            columns = ", ".join(f"{name} {kind.simpleString()}" for name, kind in written.items())
            raise DefinitionError(
                f"to.files: a line of text is one column of text, and there are {columns}",
                fix="make one of them: select(F.concat_ws(' ', 'name', 'amount').alias('line')); or write csv or json",
                where=user_line(),
            )
        return self._cells(frame) if self.format == "csv" else frame

    def check(self, *, ends: range | None) -> None:
        there = file_system.names(self.path)
        move = "write to another directory, or move this one away"
        if ends is None:
            if there and not self.replace:
                raise JobError(f"{self.path} is not empty", fix=f"{move}, or give replace=True to write over it")
            return
        end, new = files_log.end(self.path), ends == NEW
        if end >= 0 and new:
            # The log there says which batches are written, and the first batches of a new job would be skipped.
            raise JobError(f"{self.path} holds the output of a job with another checkpoint", fix=move)
        if end >= 0 and end not in ends:
            gone, back = f"offsets/{end} of the job's checkpoint", "put it back from a backup"
            if end < ends[0]:
                back = damages.way_on(gone := files_log.following(f"{self.path}/{files_log.DIRECTORY}", end))
            raise JobError(
                f"{self.path} holds the batches up to {end}, and this job has come to {ends[-1]}: rows would be missing there",
                fix=f"if {gone} was there and is gone, {back}. Otherwise {move}",
            )
        files_log.check(self.path, end)
        # A job that was stopped in its first batch leaves a log without one.
        if end < 0 and (new or files_log.DIRECTORY not in there) and set(there) - {files_log.DIRECTORY}:
            raise JobError(f"{self.path} holds files that no streaming job wrote, and readers would no longer see them", fix=move)
        if end < 0 <= ends[0]:
            files_log.begin(self.path, ends[0])

    def open(self, run: Run) -> Writer:
        return Calls(self._save if run.mode == "batch" else self._add)

    def _save(self, frame: DataFrame, batch: int) -> None:
        writer = self._together(frame).write.format(self.format).options(**self._options()).partitionBy(*self.partition_by)
        writer.mode("overwrite" if self.replace else "append").save(self.path)

    def _add(self, frame: DataFrame, batch: int) -> None:
        if files_log.end(self.path) >= batch:
            consume(frame)  # it was written, but the job ended before Spark took note
            return
        # Spark's file sink itself: it writes the batch's files, then the batch's line in the log.
        jvm = frame.sparkSession._jvm
        assert jvm is not None
        formats = jvm.org.apache.spark.sql.execution.datasources
        file_format = {
            "json": formats.json.JsonFileFormat,
            "csv": formats.csv.CSVFileFormat,
            "parquet": formats.parquet.ParquetFileFormat,
            "text": formats.text.TextFileFormat,
        }[self.format]()
        convert = jvm.PythonUtils
        columns, options = convert.toSeq(list(self.partition_by)), convert.toScalaMap(self._options())
        sink = jvm.org.apache.spark.sql.execution.streaming.sinks.FileStreamSink(
            frame.sparkSession._jsparkSession, file_system.qualified(self.path), file_format, columns, options
        )
        sink.addBatch(batch, self._together(frame)._jdf)

    def _together(self, frame: DataFrame) -> DataFrame:
        """The rows, in as many parts as there may be files."""
        shaped = self.shape(frame)
        return shaped if self.files is None else shaped.repartition(self.files, *(f"`{name}`" for name in self.partition_by))

    @property
    def _given(self) -> set[str]:
        """Options of the user's; Spark does not mind how they are spelt."""
        return {name.lower() for name in self.options}

    def _options(self) -> dict[str, str]:
        """What makes the files say what the rows said, unless the user has other wishes."""
        return {name: value for name, value in _WRITING.get(self.format, {}).items() if name.lower() not in self._given} | {**self.options}

    def _cells(self, frame: DataFrame) -> DataFrame:
        """Columns as CSV can have them: bytes in base64, as they are read again; a line of one cell cannot be null."""
        cells = {field.name: F.base64(F.col(f"`{field.name}`")) for field in frame.schema if isinstance(field.dataType, BinaryType)}
        written = [name for name in frame.columns if name not in self.partition_by]
        if len(written) == 1 and "nullvalue" not in self._given:  # Spark would leave out the line
            (name,) = written
            cell = cells.get(name, F.col(f"`{name}`"))
            wrong = F.raise_error(F.lit(f"{name} is null, and CSV has no line for a row of one null"))
            cells[name] = F.when(cell.isNull(), wrong).otherwise(cell)
        return frame.withColumns(cells) if cells else frame
