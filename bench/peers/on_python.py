"""A system in Python: a program of `programs/` in an environment of its own, which is made on first use, by a lock with hashes."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.peers.on_java import jars_of
from bench.peers.systems import PROGRAMS, MissingError, Work, program
from headrace.embedded import java, locks, places

_CHECKOUT = PROGRAMS.parents[2]
_JARS = ("flink-connector-base", "flink-connector-kafka", "kafka-clients")  # what PyFlink does not bring


@dataclass(frozen=True)
class OnPython:
    """`lock`: a program's jars, if it needs some."""

    name: str
    lock: str | None = None

    def prepare(self) -> None:
        self._python()
        self._jars()

    @contextmanager
    def started(self, work: Work, source: str, result: str) -> Iterator[None]:
        environment = os.environ | {"PYTHONPATH": str(_CHECKOUT), "JAVA_HOME": str(java.find().home), "PEER_JARS": self._jars()}
        command = [str(self._python()), "-m", f"bench.peers.programs.on_{self.name}"]
        with program(command, work, source, result, environment):
            yield

    def _jars(self) -> str:
        all_ = jars_of(self.lock, "the Java of PyFlink") if self.lock else []
        return os.pathsep.join(str(jar) for jar in all_ if jar.name.startswith(_JARS))

    def _python(self) -> Path:
        """The Python of the environment; a directory for each content of the lock."""
        lock = PROGRAMS / f"{self.name}.lock"
        home = places.cache() / "peers" / f"{self.name}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}"
        done, python = home / "done", home / "bin" / "python"
        home.parent.mkdir(parents=True, exist_ok=True)
        with locks.exclusive(home.with_suffix(".lock")):
            if not done.exists():
                _uv("venv", "--allow-existing", "--python", sys.executable, str(home))
                _uv("pip", "install", "--python", str(python), "--require-hashes", "-r", str(lock))
                done.touch()
        return python


def _uv(*arguments: str) -> None:
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.exists() else shutil.which("uv")
    if uv is None:
        raise MissingError("there is no uv to make its environment with")
    done = subprocess.run([uv, "--quiet", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise MissingError(f"its environment cannot be made: {done.stderr.strip()[-500:]}")
