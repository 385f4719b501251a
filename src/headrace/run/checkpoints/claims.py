"""A checkpoint has one run at a time: two would both take the records that come next.

The lock is the operating system's, on the file `job.lock` beside the checkpoint. Spark's JVM holds it: the JVM runs the queries, and it may
outlive the program by some seconds. The lock ends with the JVM, however that ends, so one that is held is held by someone alive. What the
file says, whose it is, is for people only.

That holds on the file systems of this machine, and on those of a network that have locks (NFS 4). In HDFS and object stores there are none:
there Spark ends one of two runs when both log the same batch, but both may have written it by then.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from headrace.errors import JobError, user_line

_LOCK = "job.lock"
_PATIENCE = 30.0  # seconds for the JVM of a program that is dead to end, too

# The lock files of this process, by their real path. None is opened twice: when one is closed, the lock of the other would go with it.
_held: dict[Path, Claim] = {}
_guard = threading.RLock()


@dataclass(frozen=True)
class Holder:
    """Who has a checkpoint."""

    pid: int = field(default_factory=os.getpid)
    host: str = field(default_factory=socket.gethostname)
    since: str = field(default_factory=lambda: datetime.now(UTC).isoformat(sep=" ", timespec="seconds"))

    @property
    def ended(self) -> bool:
        """Whether this process is known to have ended: not if it is on another machine, or if its pid is another's by now."""
        import psutil  # here, for few jobs find another one's lock

        return self.host == socket.gethostname() and not psutil.pid_exists(self.pid)

    def words(self) -> tuple[str, str]:
        """Who it is, and how to have it end."""
        if (self.pid, self.host) == (os.getpid(), socket.gethostname()):
            return f"in this process, since {self.since}", "stop it first: running.stop()"
        return f"in process {self.pid} on {self.host}, since {self.since}", f"stop that first (kill {self.pid})"


class Claim:
    """The checkpoints of one run, until it ends; `active` tells whether it goes on."""

    def __init__(self, job: str) -> None:
        self.job = job
        self.active: Callable[[], bool] = lambda: True
        self._files: dict[Path, Any] = {}
        self._holder = Holder()

    def take(self, directory: Path) -> None:
        """Have the checkpoint in this directory alone; JobError if another run has it."""
        deadline = time.monotonic() + _PATIENCE
        while not self._attempt(file := directory.resolve() / _LOCK):
            holder = _read(file)
            if time.monotonic() > deadline or (holder is not None and not holder.ended):
                who, stop = ("in another process", "stop that first") if holder is None else holder.words()
                raise JobError(
                    f"job {self.job!r} runs already, {who}: a checkpoint, here {directory}, can have one run at a time",
                    fix=f"{stop}, or give this job another name",
                    where=user_line(),
                )
            time.sleep(0.1)

    def _attempt(self, file: Path) -> bool:
        with _guard:
            if (other := _held.get(file)) is not None:
                if other.active():
                    return False
                other.release()  # it ended by itself, and nobody looked
            opened = _locked(file)
            if opened is None:
                return False
            self._files[file], _held[file] = opened, self
            opened.setLength(0)
            opened.writeBytes(json.dumps(asdict(self._holder)))
            return True

    @property
    def successor(self) -> Holder | None:
        """Another run that has taken one of them meanwhile, as it can where there are no locks. This one is not to be started again then:
        it would take them back."""
        with _guard:
            return next((holder for file in self._files if (holder := _read(file)) not in (None, self._holder)), None)

    def release(self) -> None:
        """Let others have them. Twice is as good as once."""
        with _guard:
            while self._files:
                file, opened = self._files.popitem()
                del _held[file]
                with suppress(Py4JError, OSError):  # with the JVM gone there is no lock
                    opened.setLength(0)
                    opened.close()


def _locked(file: Path) -> Any | None:
    """The file, opened and locked until it is closed; None if another process has it locked."""
    jvm: Any = SparkSession.active()._jvm
    jvm.java.io.File(str(file.parent)).mkdirs()
    opened = jvm.java.io.RandomAccessFile(str(file), "rw")
    try:
        if opened.getChannel().tryLock() is not None:
            return opened
    except Py4JJavaError as error:
        if error.java_exception.getClass().getName() == "java.io.IOException":  # the file system has no locks
            return opened
        raise
    opened.close()
    return None


def _read(file: Path) -> Holder | None:
    """Who holds it; None while they are about to write that."""
    try:
        return Holder(**json.loads(file.read_text()))
    except (OSError, ValueError, TypeError):
        return None
