"""How far the times of two partitions come apart while a backlog is read: a batch takes from each in proportion to what waits there, as
Spark has it. What comes apart by more than the job's delay is late, and the oracle does not know. Without Spark and Kafka."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from itertools import islice

import pytest
from bench.faults import oracle
from bench.faults.records import BEHIND, STEP, WAITING, Payments

DELAY = 300  # steps: the job's
BATCH = 200


def latest(seed: int, behind: int, number: int = 25_000) -> float:
    """By how many steps a payment comes after what batches before its own had, at most, if so many always wait."""
    logs: tuple[list[datetime | None], ...] = ([], [])
    order: list[int] = []
    for partition, text in islice(Payments(random.Random(seed), 3), number):
        read = oracle._read(text)
        logs[partition].append(read and read["at"])
        order.append(partition)
    sent, taken, newest, most = [0, 0], [0, 0], datetime.min.replace(tzinfo=UTC), 0.0
    while sum(taken) < number:
        for partition in order[sum(sent) : sum(taken) + behind]:
            sent[partition] += 1
        waiting, before = [there - done for there, done in zip(sent, taken, strict=True)], newest
        for partition, log in enumerate(logs):
            share = min(waiting[partition], max(1, waiting[partition] * BATCH // max(BATCH, sum(waiting))))
            for at in filter(None, log[taken[partition] : taken[partition] + share]):
                most, newest = max(most, (before - at) / STEP), max(newest, at)
            taken[partition] += share
    return most


@pytest.mark.parametrize("seed", range(6))
def test_no_payment_is_late_by_accident_while_the_longest_backlog_is_read(seed: int) -> None:
    assert latest(seed, BEHIND) + WAITING < DELAY


def test_of_a_much_longer_one_some_are() -> None:
    assert max(latest(seed, 11_000) for seed in range(6)) > DELAY
