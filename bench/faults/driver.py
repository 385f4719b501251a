"""The job in a process of its own, as `headrace run` starts it, and what its checkpoint tells from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

PROGRAM = Path(__file__).with_name("program.py")
ROOT = Path(__file__).parents[2]
GLANCE = 0.01
# Two threads, few partitions, and only Java's first compiler: a driver lives for seconds, and most of them are its start.
CONF = {"spark.master": "local[2]", "spark.sql.shuffle.partitions": "2", "spark.default.parallelism": "2", "spark.driver.memory": "1g"}
JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"


class StuckError(Exception):
    """Something did not come in time, or the driver ended before it came."""


class Driver:
    def __init__(self, settings: Mapping[str, str], servers: str, log: Path, *how: str, env: Mapping[str, str] | None = None) -> None:
        command = [sys.executable, "-c", "from headrace.cli import app; app()", "run", str(PROGRAM), "--json"]
        command += [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
        command += [part for name, value in CONF.items() for part in ("--conf", f"{name}={value}")] + [*how]
        path = os.pathsep.join(str(ROOT / part) for part in ("src", "apps/fraud", ""))
        whole = os.environ | {"HEADRACE_KAFKA": servers, "PYTHONPATH": path, "SPARK_SUBMIT_OPTS": JAVA, **(env or {})}
        self.log, self.began = log, time.monotonic()
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                command, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True, env=whole
            )

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def signal(self, signum: signal.Signals) -> None:
        """To Python and Spark's JVM at once."""
        os.killpg(self.process.pid, signum)

    def kill(self) -> None:
        if not self.ended:
            self.signal(signal.SIGKILL)
            self.process.wait()

    def wait(self, seconds: float) -> int:
        """Its exit status."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise StuckError(f"the driver has not ended in {seconds:.0f} s; its log: {self.log}") from None

    def until(self, condition: Callable[[], bool], what: str, seconds: float = 120) -> None:
        """StuckError if it does not come."""
        deadline = time.monotonic() + seconds
        while not condition():
            if self.ended:
                raise StuckError(f"the driver ended with {self.process.returncode} before {what}: {self.words()}")
            if time.monotonic() > deadline:
                raise StuckError(f"{seconds:.0f} s without {what}; the driver's log: {self.log}")
            time.sleep(GLANCE)

    @property
    def log_text(self) -> str:
        return self.log.read_text(errors="replace")

    def words(self) -> str:
        """The last of what it said."""
        return "\n".join(self.log_text.splitlines()[-6:])


def batches(place: Path, log: str) -> int:
    """The last batch that Spark has in one of its two logs, `offsets` (it was begun) and `commits` (it is done); -1 if none."""
    with suppress(FileNotFoundError):
        names = os.listdir(_checkpoint(place) / log)  # noqa: PTH208 - a hundred times a second, beside the job on two cores
        return max((int(name) for name in names if name.isdigit()), default=-1)
    return -1


def positions(place: Path, batch: int) -> int:
    """How many records a batch has come to, in all partitions."""
    topics = json.loads((_checkpoint(place) / "offsets" / str(batch)).read_text().splitlines()[-1])
    return sum(offset for topic in topics.values() for offset in topic.values())


def _checkpoint(place: Path) -> Path:
    """Of the query with the state."""
    main = next((output for output in ("kafka", "database") if (place / "checkpoint" / output).exists()), "")
    return place / "checkpoint" / main / "checkpoint"
