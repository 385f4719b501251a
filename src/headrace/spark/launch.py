"""Start Spark's JVM: what its launcher reads from the environment, and what it says when it fails.

PySpark starts the JVM as a child that writes to this process's standard error. While it starts, that output is held back: if it fails, the
reason is in there, between stack traces that nobody wants on a terminal. Once it runs, the output (such as what a Python function prints on
a worker) is passed on.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.embedded import java, places

_TELLING = re.compile(r"(?:Exception in thread \"\w+\" )?(?:[\w.$]+(?:Exception|Error)(?:: |$))|^Error: ")

# With room for Spark's classes from the start: to make more, this collector stops everything, four times until a session is ready.
_COLLECTOR = "-XX:+UseParallelGC -XX:MetaspaceSize=192m"
_NAMED = re.compile(r"-XX:\+Use\w*GC\b")
# Variables of the environment that Java, and the last that Spark's launcher, reads itself.
OPTIONS = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")


def log() -> Path:
    """Where Spark's own log of this machine is."""
    return places.data() / "spark.log"


def with_collector(options: str, also: str = "") -> str:
    """Java's options, with the collector of garbage that takes least of the processor.

    Not if one is named, here, in what Java is told `also`, or in the environment: with two it does not start.
    """
    return options if _NAMED.search(java_options(options, also)) else f"{options} {_COLLECTOR}"


def java_options(*options: str) -> str:
    """All that Java will be told, in these options and in the environment."""
    return " ".join((*options, *(os.environ.get(name, "") for name in OPTIONS)))


@contextmanager
def environment(*, one_machine: bool) -> Iterator[None]:
    """Java and, on one machine, this Python and the loopback interface: set for the launcher, then as before."""
    wanted = {"JAVA_HOME": str(java.find().for_spark())}
    if one_machine:
        # Spark would run workers with `python3` of the PATH, which need not be the one with the user's packages.
        wanted |= {"PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable), "SPARK_LOCAL_IP": "127.0.0.1"}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits for the end of the block: PySpark, interrupted while it waits for its JVM, would leave the JVM behind for ever."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield
        return
    asked = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: asked.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if asked.is_set():
        raise KeyboardInterrupt


class Held:
    """Standard error of the processes that are started inside `with Held() as held`."""

    def __init__(self) -> None:
        self._text = bytearray()
        self._passing = False
        self._lock = threading.Lock()

    def __enter__(self) -> Held:
        read, write = os.pipe()
        self._own = os.dup(2)
        os.dup2(write, 2)
        os.close(write)
        self._reader = threading.Thread(target=self._read, args=(read,), name="headrace-spark-stderr", daemon=True)
        self._reader.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        os.dup2(self._own, 2)
        os.close(self._own)
        if kind is None:
            with self._lock:
                self._passing = True
                self._write(bytes(self._text))
        else:  # the JVM is ending, and with it what it has to say
            self._reader.join(timeout=5)

    def reason(self) -> str | None:
        """What the launcher said of its failure, in one line."""
        before = ""
        for line in self._text.decode(errors="replace").splitlines():
            if not line.startswith("\tat ") and (reason := _TELLING.search(line)):
                # Java says what is wrong with its options, and then that it is an error.
                return before or line if "Could not create the Java" in line else line[reason.end() :].strip() or line.strip()
            before = line.strip()
        return None

    def _read(self, pipe: int) -> None:
        while data := os.read(pipe, 65536):
            with self._lock:
                if self._passing:
                    self._write(data)
                else:
                    self._text += data
        os.close(pipe)

    @staticmethod
    def _write(data: bytes) -> None:
        with contextlib.suppress(OSError):  # nobody reads any more
            os.write(2, data)
