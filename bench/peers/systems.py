"""The systems that are compared: how each is started, and what it needs."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from bench.trial import Outside, Trial
from headrace.embedded import jars, java, kafka
from headrace.errors import SetupError
from headrace.kernel.scan import scan

_HERE = Path(__file__).parent


class MissingError(Exception):
    """What a system needs cannot be had here."""


class System(Protocol):
    def running(self, given: str, result: str) -> AbstractContextManager[Outside]:
        """From a topic to another, as long as the context lasts."""


@dataclass(frozen=True)
class Headrace:
    interval: str | None

    @contextmanager
    def running(self, given: str, result: str) -> Iterator[Outside]:
        trial = Trial(self.interval, keep=True, given=given, result=result, way=counted)
        yield trial
        trial.end()


def counted(decoded: DataFrame, *also: str) -> DataFrame:
    n = F.coalesce(F.col("state.n"), F.lit(0)) + 1
    return scan(decoded, keys="customer", state={"n": "bigint"}, update={"n": n}, output=["customer", n.alias("n"), *also])


@dataclass(frozen=True)
class OnJava:
    """A program of this directory and the jars of its lock."""

    program: str
    lock: str
    meaning: str
    options: tuple[str, ...] = ()

    @contextmanager
    def running(self, given: str, result: str) -> Iterator[Outside]:
        classpath = [str(jar) for jar in self._jars()]
        with tempfile.TemporaryDirectory(prefix="headrace-peer-", ignore_cleanup_errors=True) as place:
            classes, state, said = (Path(place) / name for name in ("classes", "state", "said"))
            state.mkdir()
            self._compile(classpath, classes)
            command = java.find().command(
                "-Xmx2g", "-XX:+UseParallelGC", *self.options, "-cp", ":".join([str(classes), *classpath]), self.program
            )
            with said.open("wb") as log:
                process = subprocess.Popen([*command, kafka.ensure(), given, result, str(state)], stdout=log, stderr=log, cwd=place)
            outside = Outside(result, keep=True, given=given)
            try:
                yield outside
                if process.poll() is not None:
                    raise SystemExit(f"{self.program} has ended by itself:\n{said.read_text()[-2000:]}")
            finally:
                process.terminate()
                process.wait()
                outside.close()

    def _jars(self) -> list[Path]:
        try:
            return jars.fetched(_HERE / self.lock, self.meaning)
        except SetupError as error:
            raise MissingError(str(error)) from error

    def _compile(self, classpath: list[str], classes: Path) -> None:
        compiler = shutil.which("javac")
        if compiler is None:
            raise MissingError("there is no javac on the PATH")
        source = _HERE / f"{self.program}.java"
        subprocess.run([compiler, "-cp", os.pathsep.join(classpath), "-d", str(classes), str(source)], check=True)


_OPENED = ("java.base/java.lang", "java.base/java.util", "java.base/java.util.concurrent", "java.base/java.time")

SYSTEMS: dict[str, System] = {
    "headrace": Headrace(None),
    "headrace, 10 s": Headrace("10 seconds"),
    "flink": OnJava("FlinkCount", "flink.lock", "Apache Flink", tuple(f"--add-opens={name}=ALL-UNNAMED" for name in _OPENED)),
    "kafka-streams": OnJava("KafkaStreamsCount", "kafka-streams.lock", "Kafka Streams"),
}
