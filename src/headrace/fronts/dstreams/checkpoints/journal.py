"""The checkpoint of a StreamingContext: the program, pickled once at the start, and a small file of JSON for each batch.

    <directory>/dstreams/graph            interval, streams, functions (pickled), Spark's settings
                         batches/<ms>     {"parts": {input: …}, "saved": {stream: {time: file}}, "done": false}
                         rdds/…           the RDDs of streams with state, saved by Spark's tasks
                         received-…/…     the write-ahead log of receivers

A batch's file is there before the batch runs, and is written again when it is done. What is pickled here is run when it is read, so the
directory must be this user's alone (`storage.check_private`).
"""

from __future__ import annotations

import fcntl
import json
import pickle
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import IO, Any

from pyspark import SparkContext, cloudpickle

from headrace.errors import DefinitionError, JobError, user_line
from headrace.fronts.dstreams.checkpoints import storage

_FOLDER = "dstreams"


@dataclass
class Entry:
    """What is known of a batch."""

    parts: dict[str, Any] = field(default_factory=dict)
    saved: dict[str, dict[str, str]] = field(default_factory=dict)
    done: bool = False


class Journal:
    def __init__(self, directory: str) -> None:
        self.directory = directory.rstrip("/") or "/"
        self.home = f"{self.directory}/{_FOLDER}"
        self.entries: dict[int, Entry] = {}
        self._lock: IO[str] | None = None

    def place(self, name: str) -> str:
        return f"{self.home}/{name}"

    def graph(self) -> dict[str, Any] | None:
        """What was running here; None if nothing was."""
        storage.check_private(self.home)
        content = storage.read(self.place("graph"))
        if content is None:
            return None
        try:
            graph: dict[str, Any] = pickle.loads(content)
        except Exception as error:  # a module is gone, or the pickle is of another Python
            raise JobError(
                f"the functions in the checkpoint {self.directory} cannot be read: {type(error).__name__}: {error}",
                fix="run it with the modules and the Python that it was written with, or begin anew in another directory",
            ) from error
        names = [name for name in storage.names(self.place("batches")) if name.isdigit()]
        contents = {int(name): storage.read(self.place(f"batches/{name}")) for name in names}
        self.entries = {time: Entry(**json.loads(text)) for time, text in sorted(contents.items()) if text}
        return graph

    def prepare(self, sc: SparkContext) -> None:
        """Make the directories, and have Spark save RDDs here."""
        for folder in (self.home, self.place("batches")):
            storage.make_private(folder)
        storage.check_private(self.home)
        sc.setCheckpointDir(self.place("rdds"))

    def claim(self) -> None:
        """Have the directory alone until `release`; JobError if another process has it."""
        here = storage.local(self.home)
        if here is None or self._lock is not None:
            return
        self._lock = (here / "lock").open("a")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.release()
            raise JobError(
                f"another process uses the checkpoint {self.directory}", fix="stop it first, or take another directory", where=user_line()
            ) from None

    def release(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def pickled(self, graph: dict[str, Any]) -> bytes:
        """The program as it will be written; DefinitionError if it cannot be."""
        return _pickled(graph)

    def begin(self, content: bytes, sc: SparkContext) -> None:
        """Write the program down, in place of what was here."""
        storage.write(self.place("graph"), content)
        self.entries = {}
        for name in storage.names(self.place("batches")):
            storage.delete(self.place(f"batches/{name}"))
        current = str(sc.getCheckpointDir()).rstrip("/").rpartition("/")[2]
        for name in storage.names(self.place("rdds")):
            if name != current:
                storage.delete(self.place(f"rdds/{name}"))

    def log(self, time: int, parts: dict[str, Any]) -> None:
        """Before a batch runs."""
        self._write(time, Entry(parts))

    def finish(self, time: int, *, done: bool) -> None:
        """After a batch ran. One that failed is not done."""
        entry = self.entries.setdefault(time, Entry())
        entry.done = done
        self._write(time, entry)

    def save(self, time: int, stream: str, files: dict[int, str]) -> None:
        """With the batch of this time, RDDs of a stream were saved."""
        self.entries.setdefault(time, Entry()).saved.setdefault(stream, {}).update({str(at): file for at, file in files.items()})

    def forget(self, now: int, remember: int, patience: int) -> None:
        """Let go of batches that no recovery needs: those before all that is remembered, also by a batch that is not done and not too
        old."""
        waiting = [time for time, entry in self.entries.items() if not entry.done and time > now - patience]
        limit = min([now, *waiting]) - remember
        newest = {stream: time for time, entry in sorted(self.entries.items()) for stream in entry.saved}
        for time in [time for time in self.entries if time <= limit and time not in newest.values()]:
            self._delete(time)

    def _delete(self, time: int) -> None:
        for files in self.entries.pop(time).saved.values():
            for file in files.values():
                storage.delete(file)
        storage.delete(self.place(f"batches/{time}"))

    def _write(self, time: int, entry: Entry) -> None:
        self.entries[time] = entry
        storage.write(self.place(f"batches/{time}"), json.dumps(vars(entry)).encode())


def _pickled(graph: dict[str, Any]) -> bytes:
    try:
        return bytes(cloudpickle.dumps(graph))  # type: ignore[no-untyped-call]
    except Exception as error:  # whatever the things themselves raise
        node, reason = _guilty([*graph["streams"], *graph["outputs"]], error)
        raise DefinitionError(
            f"{_name(node)} cannot be written to the checkpoint: {reason}",
            fix="a function in a checkpoint must not use a SparkContext, an RDD, a lock or a connection from outside: take rdd.context, "
            "make such things inside it, or leave out ssc.checkpoint(…)",
            where=getattr(node, "line", None) or getattr(node, "_line", None) or user_line(),
        ) from error  # fmt: skip


def _name(part: Any) -> str:
    return str(part.name) if hasattr(part, "run") else part._words() if part is not None else "the program"


def _guilty(parts: Iterable[Any], error: Exception) -> tuple[Any, str]:
    """Which of the streams and outputs it is. Each holds those before it, so the first that fails is the one."""
    for part in parts:
        try:
            cloudpickle.dumps(part)  # type: ignore[no-untyped-call]
        except Exception as its_error:
            return part, str(its_error).strip().split("\n")[0]
    return None, str(error).strip().split("\n")[0]
