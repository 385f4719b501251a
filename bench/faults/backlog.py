"""A backlog of many records and a small heap: batches of the usual size, one as long as the other, and all of the rows."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from statistics import median

import psutil

from bench.faults.driver import Driver, StuckError
from bench.faults.injections import Injection
from bench.faults.oracle import Difference
from bench.faults.records import Sending
from bench.faults.world import TOPIC, World, seconds_since

DELAY = "10 minutes"  # 12,000 payments: partitions of so many records are not read in step
CAP = 100_000  # records in a batch
WAITING = 50_000


@dataclass(frozen=True)
class Batches:
    seconds: list[float]
    java_mb: int

    def words(self) -> str:
        full = self.seconds[1:-3] or self.seconds  # the first has Spark's start in it; the last ones are short
        worst, usual = max(full), median(full)
        return f"{len(self.seconds)} batches, median {usual:.1f} s, worst {worst:.1f} s, {self.java_mb} MB resident in Java"


def play(world: World, number: int) -> tuple[Injection, int, dict[str, Difference], dict[str, int]]:
    sending = Sending(world.servers, TOPIC, world.payments, world.acknowledged, float("inf"), WAITING)
    sending.start()
    while sending.acknowledged < number:
        time.sleep(0.1)
    sending.end()
    began = time.monotonic()
    driver = world.start("--trigger", "finish", "--set", f"delay={DELAY}", "--set", f"cap={CAP}")
    peak = _peak(driver)
    if (status := driver.wait(1800)) != 0:
        raise StuckError(f"the job did not come to its end: {status}: {driver.words()}")
    reports = (json.loads(line) for line in driver.log.read_text(errors="replace").splitlines() if line.startswith("{"))
    seconds = [batch["seconds"] for batch in reports if batch.get("query", "").startswith("kafka+")]
    injection = Injection("backlog", "backlog, heap of 1 GB", Batches(seconds, peak[0]).words(), seconds_since(began))
    differences, sums = world.compare()
    return injection, sending.acknowledged, differences, dict(sums)


def _peak(driver: Driver) -> list[int]:
    """The most that Spark's JVM holds, in MB, kept up to date as long as it runs."""
    peak = [0]

    def watch() -> None:
        while not driver.ended:
            for child in psutil.Process(driver.process.pid).children():
                try:
                    peak[0] = max(peak[0], child.memory_info().rss >> 20)
                except psutil.Error:
                    continue
            time.sleep(1)

    threading.Thread(target=watch, daemon=True).start()
    return peak
