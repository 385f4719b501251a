"""Effectively once: whatever dies, every tuple counts once in every state, and a record that is written again is known by its id."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from confluent_kafka import Consumer
from tests.fronts.storm.spark import exactly_counted
from tests.fronts.storm.spark.exactly_counted import LAST


class Sums:
    """The records of a topic by their id, as they come; one that is there already must be the same."""

    def __init__(self, servers, topic):
        self.consumer = Consumer({"bootstrap.servers": servers, "group.id": topic, "auto.offset.reset": "earliest", "log_level": 0})
        self.consumer.subscribe([topic])
        self.by_id, self.pid = {}, None

    def until(self, count, running=None, seconds=120):
        deadline = time.monotonic() + seconds
        while len(self.by_id) < count:
            assert time.monotonic() < deadline, f"{len(self.by_id)} records; {running and running.restarted}"
            if running is not None:
                assert not running.wait(0)
            for message in self.consumer.consume(500, 0.1):
                if message.error() is None:
                    record = json.loads(message.value())
                    self.pid = record.pop("pid")
                    assert self.by_id.setdefault(dict(message.headers())["storm-id"], record) == record

    def counts(self):
        return {rest: sorted(each["count"] for each in self.by_id.values() if each["rest"] == rest) for rest in range(7)}

    def sums(self):
        return {rest: max((each["count"], each["sum"]) for each in self.by_id.values() if each["rest"] == rest)[1] for rest in range(7)}


EXPECTED = Counter()
for number in range(LAST):
    EXPECTED[number % 7] += number
ONE_BY_ONE = {rest: list(range(1, 1 + len(range(rest, LAST, 7)))) for rest in range(7)}


def killed(running, pid):
    """The process is killed, and the query begins again."""
    before = len(running.restarted)
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while len(running.restarted) == before:
        assert time.monotonic() < deadline
        running.wait(0.05)


@pytest.mark.faults
@pytest.mark.usefixtures("spark", "short_batches")
def test_no_tuple_counts_twice_when_driver_bolt_and_feeder_are_killed(kafka, topic, tmp_path):
    """The driver in a micro-batch; the others in real time, in which it goes on."""
    name, died = topic(), tmp_path / "died"
    command = [sys.executable, exactly_counted.__file__, name, str(died)]
    environment = {**os.environ, "HEADRACE_KAFKA": kafka}
    assert subprocess.Popen(command, start_new_session=True, env=environment).wait(timeout=180) == -signal.SIGKILL
    assert died.exists()
    sums = Sums(kafka, name)
    with exactly_counted.start(name, died, "real-time", trigger="500 milliseconds") as running:
        sums.until(LAST // 2, running)
        killed(running, sums.pid)
        sums.until(LAST * 2 // 3, running)
        killed(running, running.feeder.pid)
        assert running.restarted == ["query", "feeder"]
        sums.until(LAST, running)
    assert (sums.counts(), sums.sums()) == (ONE_BY_ONE, EXPECTED)
