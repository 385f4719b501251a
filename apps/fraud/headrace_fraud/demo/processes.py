"""Child processes of the demo: each with a group of its own, watched, and gone when the demo is."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

_PATIENCE = 20.0


class Child:
    """A Python module that tells what it does as JSON lines, each of which goes to `hear`; its standard error goes to a file.

    Its standard input stays open for as long as this process lives: that is how it knows when to end.
    """

    def __init__(
        self, module: str, arguments: Sequence[str], log: Path, hear: Callable[[dict[str, Any]], None], env: Mapping[str, str]
    ) -> None:
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, process_group=0, env={**os.environ, **env},
            )  # fmt: skip
        self._hear = hear
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with contextlib.suppress(json.JSONDecodeError):  # Spark's JVM may print to the same place
                if isinstance(report := json.loads(line), dict):
                    self._hear(report)

    @property
    def pid(self) -> int:
        return self._process.pid

    def poll(self) -> int | None:
        """Its exit code, once it has ended and all that it told was heard."""
        code = self._process.poll()
        if code is not None:
            self._reader.join(timeout=1)
        return code

    def ask_to_end(self) -> None:
        self._signal(signal.SIGTERM, whole_group=False)

    def kill(self) -> None:
        """-9, with all its own children: a driver dies with its JVM."""
        self._signal(signal.SIGKILL, whole_group=True)

    def wait(self) -> None:
        """Until it has ended, by force if it takes too long."""
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self.kill()  # what it may have left behind
            self._process.wait()
            self._reader.join(timeout=1)

    def _signal(self, signum: signal.Signals, *, whole_group: bool) -> None:
        with contextlib.suppress(ProcessLookupError):
            if whole_group:
                os.killpg(self._process.pid, signum)
            elif self._process.poll() is None:
                self._process.send_signal(signum)


class Memory:
    """The most memory that this process and all below it held at once, in megabytes, looked at once a second."""

    def __init__(self) -> None:
        self.peak_mb = 0
        self._end = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def close(self) -> None:
        self._end.set()

    def _watch(self) -> None:
        while True:
            self.peak_mb = max(self.peak_mb, _megabytes(psutil.Process()))
            if self._end.wait(1):
                return


def _megabytes(root: psutil.Process) -> int:
    resident = 0
    for process in (root, *root.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended meanwhile
            resident += process.memory_info().rss
    return resident // 1_000_000


def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Look until it is so, at most so long; whether it is."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True
