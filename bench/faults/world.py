"""One round: a broker, a topic that payments come to, a job with its sinks, all in one directory that goes with it."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic  # type: ignore[attr-defined]

from bench.faults import oracle, sinks
from bench.faults.driver import Driver, StuckError, batches, positions
from bench.faults.oracle import Difference
from bench.faults.records import Payments, Sending

PARTITIONS = 3
TOPIC = "payments"
SMALL = "64m"
RATE = 40.0  # payments a second


class World:
    """Made in a directory of its own; `end` removes it."""

    def __init__(self, seed: int, *, kafka: bool = True, small: bool = False, real_time: bool = False) -> None:
        from headrace.embedded import kafka as broker
        from headrace.embedded import places

        self.kafka, self._real_time = kafka, real_time
        self.chance = random.Random(seed)
        self.home = Path(tempfile.mkdtemp(prefix="headrace-faults-"))
        (self.home / "cache").symlink_to(places.cache(), target_is_directory=True)  # nothing is fetched or compiled twice
        self._before = os.environ.get("HEADRACE_HOME")
        os.environ["HEADRACE_HOME"] = str(self.home)
        self.place = self.home / "place"
        self.place.mkdir()
        self._mounted = small and mounted(self.place)
        self.servers = broker.ensure()
        self._admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        topics = [
            NewTopic(TOPIC, PARTITIONS),
            NewTopic(f"{TOPIC}-decisions", 2),
            *(NewTopic(f"{TOPIC}-{name}", 1) for name in ("again", "dead")),
        ]
        for made in self._admin.create_topics(topics).values():
            made.result(60)
        self.payments = Payments(self.chance, PARTITIONS, orderly=real_time)
        self.acknowledged = self.home / "acknowledged"
        self.sending = Sending(self.servers, TOPIC, self.payments, self.acknowledged, RATE)
        self.without = ""
        """The guard that the job is to do without."""
        self.drivers: list[Driver] = []

    def start(self, *how: str, env: Mapping[str, str] | None = None) -> Driver:
        """Another driver."""
        settings = {"topic": TOPIC, "place": str(self.place), "kafka": str(self.kafka).lower()}
        if self.without:
            settings["without"] = self.without
        if self._real_time:
            settings, how = settings | {"real_time": "true"}, ("--mode", "real-time", "--conf", "spark.master=local[8]", *how)
        self.drivers.append(driver := Driver(settings, self.servers, self.home / f"driver-{len(self.drivers)}.log", *how, env=env))
        return driver

    def begin(self) -> Driver:
        """Payments come, and the first driver is at work. Late ones come when time has gone on."""
        self.sending.start()
        driver = self.start()
        driver.until(lambda: self.done >= 2, "a third batch")
        self.payments.late = True
        return driver

    def add_partition(self) -> int:
        """One more to the topic, with customers of its own."""
        number = PARTITIONS + len(self.payments.added)
        self._admin.create_partitions([NewPartitions(TOPIC, number + 1)])[TOPIC].result(60)
        while not self.sending.sees(number):
            time.sleep(0.05)
        self.payments.added.append(number)
        return number

    @property
    def planned(self) -> int:
        return batches(self.place, "offsets")

    @property
    def done(self) -> int:
        return batches(self.place, "commits")

    @property
    def behind(self) -> int:
        """How many payments were acknowledged that no batch has begun to read."""
        return self.sending.acknowledged - positions(self.place, self.planned)

    @property
    def files(self) -> int:
        """How many there are in the directory of decisions."""
        return sum(1 for _ in (self.place / "decisions").glob("part-*"))

    def finish(self) -> tuple[int, dict[str, Difference], Mapping[str, int]]:
        """Send no more, let the job come to the end of its input, and compare: how many payments were acknowledged, what differs in each
        sink, and where they are."""
        self.sending.end()
        last = self.start("--trigger", "finish")
        if (status := last.wait(300)) != 0:
            raise StuckError(f"the job did not come to its end: {status}: {last.words()}")
        return self.sending.acknowledged, *self.compare()

    def compare(self) -> tuple[dict[str, Difference], Mapping[str, int]]:
        """What differs, now that the job has come to its end."""
        with self.acknowledged.open() as log:
            expected = oracle.answer(log)
        there = sinks.answers(self.servers, TOPIC, self.place, kafka=self.kafka)
        differences = {sink: oracle.compare(expected.decided, answer.decided, sink) for sink, answer in there.items()}
        first = next(iter(there.values()))
        differences["again"] = oracle.compare(expected.again, first.again, "again")
        differences["late"] = oracle.compare(expected.late, first.late, "late")
        differences["dead letters"] = oracle.compare(expected.dead, first.dead, "dead letters")
        sums: dict[str, Counter[Any]] = {"decided": first.decided, "again": first.again, "late": first.late, "dead letters": first.dead}
        return differences, {name: rows.total() for name, rows in sums.items()}

    def end(self, *, keep: bool = False) -> None:
        from headrace.embedded import kafka

        kafka.down()
        if self._mounted and not keep:
            subprocess.run(["umount", str(self.place)], check=True)
        if self._before is None:
            del os.environ["HEADRACE_HOME"]
        else:
            os.environ["HEADRACE_HOME"] = self._before
        if not keep:
            shutil.rmtree(self.home, ignore_errors=True)


def mounted(place: Path) -> bool:
    """A disk of so many bytes there, which is full soon."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs", str(place)], check=True)
    return True


def seconds_since(moment: float) -> float:
    return round(time.monotonic() - moment, 2)
