"""The same in real time: rows go out at once and come again after a crash, so each has an id, and readers take each id once."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from bench.faults import oracle, sinks
from bench.faults.driver import Driver, StuckError
from bench.faults.injections import Injection
from bench.faults.oracle import Difference
from bench.faults.world import TOPIC, World, seconds_since

QUIET = 5.0  # seconds without a decision: all are made
LONGEST = 12.0  # seconds until a kill: more than the ten after which the job saves


class Deciding:
    """What the job decides, as it comes."""

    def __init__(self, servers: str) -> None:
        self._consumer = Consumer({"bootstrap.servers": servers, "group.id": "deciding", "enable.auto.commit": False, "log_level": 0})
        self._consumer.assign([TopicPartition(f"{TOPIC}-decisions", partition, 0) for partition in range(2)])
        self.newest = -1
        self.seen = 0

    def past(self, payment: int) -> bool:
        """Whether there is a decision on this payment or on a later one."""
        for message in self._consumer.consume(1000, timeout=0.01):
            if message.error() is None:
                self.seen += 1
                self.newest = max(self.newest, json.loads(message.value() or b"")["id"])
        return self.newest >= payment


def begin(world: World) -> tuple[Driver, Deciding]:
    world.sending.start()
    driver, deciding = world.start(), Deciding(world.servers)
    driver.until(lambda: deciding.past(0), "the first decision")
    return driver, deciding


def killed(world: World, driver: Driver, deciding: Deciding, chance: Random) -> tuple[Driver, Injection]:
    """kill -9 at a random moment; how long until a payment that was sent after it is decided on."""
    after = chance.uniform(0.1, LONGEST)
    time.sleep(after)
    driver.kill()
    began, next_id = time.monotonic(), world.payments.next_id
    driver = world.start()
    driver.until(lambda: deciding.past(next_id), "a decision on a payment that came after the kill")
    return driver, Injection("realtime", "kill -9 of the driver, real time", f"{after:.0f} s after it was at work", seconds_since(began))


def finish(world: World, driver: Driver, deciding: Deciding) -> tuple[int, dict[str, Difference], Mapping[str, int], int]:
    """As `World.finish`, and how many rows came again."""
    world.sending.end()
    seen, since = deciding.seen, time.monotonic()
    while time.monotonic() - since < QUIET:
        deciding.past(0)
        if deciding.seen > seen:
            seen, since = deciding.seen, time.monotonic()
    driver.process.terminate()  # Python alone, which ends the job in order
    if (status := driver.wait(60)) != 0:
        raise StuckError(f"the job did not stop in order: {status}: {driver.words()}")
    with world.acknowledged.open() as log:
        expected = oracle.answer(log)
    outputs = {name: sinks.named(world.servers, f"{TOPIC}-{name}") for name in ("decisions", "again", "dead")}
    repeated = sum(again for _, again in outputs.values())
    there: dict[str, Counter[Any]] = {
        "decided": Counter({sinks.decision(value): number for value, number in outputs["decisions"][0].items()}),
        "again": Counter({sinks.decision(value): number for value, number in outputs["again"][0].items()}),
        "dead letters": Counter({value.decode(): number for value, number in outputs["dead"][0].items()}),
    }
    wanted: dict[str, Counter[Any]] = {"decided": expected.decided, "again": expected.again, "dead letters": expected.dead}
    differences = {name: oracle.compare(wanted[name], rows, name) for name, rows in there.items()}
    return world.sending.acknowledged, differences, {name: rows.total() for name, rows in there.items()}, repeated
