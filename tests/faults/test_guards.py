"""A guard that is taken away is missed: the same fault is then seen in the rows. (Those of a single sink have tests of their own, without
Spark: tests/kafka/test_transactions.py, tests/io/database.)"""

from __future__ import annotations

import pytest
from bench.faults.injections import FAILPOINT
from bench.faults.world import World

SEED = 77


# what is taken away, where the driver dies -> in which sinks rows are there twice
MISSED = [
    ("number", "batch: written:2", {"kafka", "database"}),
    ("transaction", "database: rows written:3", {"database"}),
    ("Kafka's transaction", "kafka: rows written:3", {"kafka"}),
]


@pytest.mark.faults
@pytest.mark.parametrize(("guard", "point", "sinks"), MISSED)
def test_without_a_guard_the_harness_sees_rows_twice(guard: str, point: str, sinks: set[str]) -> None:
    world = World(SEED)
    try:
        world.begin().kill()
        world.without = guard
        assert world.start(env={FAILPOINT: point}).wait(120) == -9
        _, differences, _ = world.finish()
        assert {sink for sink in ("kafka", "database", "files") if differences[sink].twice} == sinks
    finally:
        for driver in world.drivers:
            driver.kill()
        world.end()
