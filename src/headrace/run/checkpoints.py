"""Where a job remembers how far it is, and the note beside it that says whose it is.

    <data>/jobs/<job>/<query>/checkpoint    Spark's own
    <data>/jobs/<job>/<query>/job.json      what the checkpoint belongs to

A checkpoint is a set of positions in sources and a table of states. Read by a job with other sources, other keys or another state, it gives
wrong answers or a Java trace; so it is compared with the note first. It may be on any file system that Spark's Hadoop client knows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from headrace.embedded import places
from headrace.errors import JobError
from headrace.run import failures


@dataclass(frozen=True)
class Checkpoint:
    """The place of one query's progress."""

    spark: SparkSession
    directory: str

    @property
    def location(self) -> str:
        return f"{self.directory}/checkpoint"

    @property
    def begun(self) -> bool:
        """Whether a batch has been planned from it."""
        try:
            return bool(self._files(f"{self.location}/offsets", lambda fs, path: fs.exists(path) and len(fs.listStatus(path)) > 0))
        except Py4JJavaError as error:
            raise self._unusable(error) from None

    def claim(self, note: dict[str, Any]) -> None:
        """Make it this job's; JobError if it is another's."""
        note = json.loads(json.dumps(note))  # as it will be read: lists, not tuples
        try:
            written = self._read()
            if written is None:
                self._write(note)
        except Py4JJavaError as error:
            raise self._unusable(error) from None
        if written is not None and written != note:
            changed = next(key for key in note if written.get(key) != note[key])
            raise JobError(
                f"the checkpoint in {self.directory} belongs to another job: its {changed} is {_short(written.get(changed))}"
                f" there and {_short(note[changed])} here",
                fix="give this job another name, or move that directory away to start anew",
            )

    def _read(self) -> dict[str, Any] | None:
        def read(fs: Any, path: Any) -> str | None:
            if not fs.exists(path):
                return None
            stream = fs.open(path)
            try:
                return bytes(stream.readAllBytes()).decode()
            finally:
                stream.close()

        text = self._files(f"{self.directory}/job.json", read)
        return None if text is None else json.loads(text)

    def _write(self, note: dict[str, Any]) -> None:
        def write(fs: Any, path: Any) -> None:
            stream = fs.create(path)
            try:
                stream.write(json.dumps(note, indent=1).encode())
            finally:
                stream.close()

        self._files(f"{self.directory}/job.json", write)

    def _files(self, where: str, action: Any) -> Any:
        jvm: Any = self.spark._jvm
        path = jvm.org.apache.hadoop.fs.Path(where)
        return action(path.getFileSystem(self.spark._jsparkSession.sessionState().newHadoopConf()), path)

    def _unusable(self, error: Py4JJavaError) -> JobError:
        return JobError(
            f"the checkpoint directory {self.directory} cannot be used: {failures.first_line(error)}",
            fix="make it writable, or give the job another one: Job(…, checkpoint=…)",
        )


def place(spark: SparkSession, job: str, query: str, root: str | None) -> Checkpoint:
    """The checkpoint of a query of a job, below `root` or the user's data directory."""
    return Checkpoint(spark, f"{root or places.data() / 'jobs' / job}/{query}")


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 120 else text[:117] + "…"
