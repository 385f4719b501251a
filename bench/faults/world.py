"""One round: a broker, a topic that payments come to, a job with its sinks, all in one directory that goes with it."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from bench.faults import oracle, sinks
from bench.faults.driver import Driver, StuckError, batches
from bench.faults.oracle import Difference
from bench.faults.records import Payments, Sending

PARTITIONS = 3
TOPIC = "payments"
RATE = 40.0  # payments a second


class World:
    """Made in a directory of its own; `end` removes it."""

    def __init__(self, seed: int, *, kafka: bool = True) -> None:
        from headrace.embedded import kafka as broker
        from headrace.embedded import places

        self.kafka = kafka
        self.chance = random.Random(seed)
        self.home = Path(tempfile.mkdtemp(prefix="headrace-faults-"))
        (self.home / "cache").symlink_to(places.cache(), target_is_directory=True)  # nothing is fetched or compiled twice
        self._before = os.environ.get("HEADRACE_HOME")
        os.environ["HEADRACE_HOME"] = str(self.home)
        self.place = self.home / "place"
        self.place.mkdir()
        self.servers = broker.ensure()
        admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        topics = [NewTopic(TOPIC, PARTITIONS), NewTopic(f"{TOPIC}-decisions", 2), NewTopic(f"{TOPIC}-dead", 1)]
        for made in admin.create_topics(topics).values():
            made.result(60)
        self.payments = Payments(self.chance, PARTITIONS)
        self.acknowledged = self.home / "acknowledged"
        self.sending = Sending(self.servers, TOPIC, self.payments, self.acknowledged, RATE)
        self.drivers: list[Driver] = []

    def start(self, *how: str, env: Mapping[str, str] | None = None) -> Driver:
        """Another driver."""
        settings = {"topic": TOPIC, "place": str(self.place), "kafka": str(self.kafka).lower()}
        self.drivers.append(driver := Driver(settings, self.servers, self.home / f"driver-{len(self.drivers)}.log", *how, env=env))
        return driver

    def begin(self) -> Driver:
        """Payments come, and the first driver is at work. Late ones come when time has gone on."""
        self.sending.start()
        driver = self.start()
        driver.until(lambda: self.done >= 2, "a third batch")
        self.payments.late = True
        return driver

    @property
    def planned(self) -> int:
        return batches(self.place, "offsets")

    @property
    def done(self) -> int:
        return batches(self.place, "commits")

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
        return differences, {name: found.total() for name, found in sums.items()}

    def end(self, *, keep: bool = False) -> None:
        from headrace.embedded import kafka

        kafka.down()
        if self._before is None:
            del os.environ["HEADRACE_HOME"]
        else:
            os.environ["HEADRACE_HOME"] = self._before
        if not keep:
            shutil.rmtree(self.home, ignore_errors=True)


def seconds_since(moment: float) -> float:
    return round(time.monotonic() - moment, 2)
