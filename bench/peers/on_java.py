"""A system in Java: a program of `programs/` and the jars of its lock, fetched as headrace's own are."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.peers.systems import PROGRAMS, MissingError, Work, program
from headrace.embedded import jars, java
from headrace.errors import SetupError

_OPENED = ("java.base/java.lang", "java.base/java.util", "java.base/java.util.concurrent", "java.base/java.time")  # for Flink


@dataclass(frozen=True)
class OnJava:
    """`options`: of Java's own command line."""

    name: str
    lock: str
    meaning: str
    options: tuple[str, ...] = ()

    def prepare(self) -> None:
        self._jars()
        self._compiler()

    @contextmanager
    def started(self, work: Work, source: str, result: str) -> Iterator[None]:
        classpath = [str(jar) for jar in self._jars()]
        with tempfile.TemporaryDirectory(prefix="headrace-peer-") as classes:
            sources = [str(PROGRAMS / f"{name}.java") for name in ("Work", self.name)]
            subprocess.run([self._compiler(), "-cp", os.pathsep.join(classpath), "-d", classes, *sources], check=True)
            opened = [f"--add-opens={name}=ALL-UNNAMED" for name in _OPENED]
            options = ["-Xmx2g", "-XX:+UseParallelGC", *opened, *self.options, "-cp", os.pathsep.join([classes, *classpath])]
            with program(java.find().command(*options, self.name), work, source, result):
                yield

    def _jars(self) -> list[Path]:
        return jars_of(self.lock, self.meaning)

    def _compiler(self) -> str:
        compiler = shutil.which("javac")
        if compiler is None:
            raise MissingError("there is no javac on the PATH")
        return compiler


def jars_of(lock: str, meaning: str) -> list[Path]:
    try:
        return jars.fetched(PROGRAMS / lock, meaning)
    except SetupError as error:
        raise MissingError(str(error)) from error
