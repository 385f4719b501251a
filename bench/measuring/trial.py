"""A headrace job in real-time mode, its reader, and records that are sent through them: each a process of its own (`load.py`)."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from multiprocessing.connection import Connection

from pyspark.sql import DataFrame

import headrace as hr
from bench.measuring import load, processes
from bench.work import rules
from headrace.embedded import kafka
from headrace.planning.triggers import Trigger

Way = Callable[..., DataFrame]
_PATIENCE = 60.0
_LINGER = {"kafka.linger.ms": str(load.LINGER_MS)}


def serve(talk: Connection, bootstrap: str, source: str, result: str, interval: str | None, way: Way) -> list[float]:
    """The job, until told to stop; the ends of its batches (seconds since 1970). Without an interval, headrace's own."""
    hr.session(master="local[8]", conf={"spark.sql.shuffle.partitions": "2"})
    records = hr.read.kafka(source, schema=load.SCHEMA, servers=bootstrap)
    # At the end of each line stands when it was due: that is all that the reader has to parse.
    out = records.then(way, "due").to.kafka(result, key="customer", servers=bootstrap, options=_LINGER)
    ends: dict[int, float] = {}
    with tempfile.TemporaryDirectory(prefix="headrace-bench-", ignore_cleanup_errors=True) as checkpoint:
        job = hr.Job("bench", out, trigger=Trigger(interval), checkpoint=checkpoint)
        with job.start("real-time") as running:
            talk.send("started")
            while not talk.poll():
                running.wait(0.2)
                for batch in running.progress():
                    ends[batch.batch] = datetime.fromisoformat(batch.at).timestamp() + batch.seconds
    hr.session().stop()
    return sorted(ends.values())


class Outside:
    """Records go into one topic, what comes out of another is read: whatever is between them."""

    def __init__(self, result: str, *, keep: bool, source: str) -> None:
        self._bootstrap, self._source = kafka.ensure(), source
        self._sent = 0
        self._reader = processes.Started(load.receive, result, keep, talks=True)

    def send(self, rate: int, seconds: int) -> load.Sent:
        sent = processes.run(load.send, self._bootstrap, self._source, self._sent, rate, rate * seconds).value
        self._sent += sent.records
        return sent

    def take(self, records: int) -> load.Read:
        """What came out, once it is so many records or none have come for long."""
        whole, deadline = self._ask(), time.monotonic() + _PATIENCE
        while len(whole.read) < records and time.monotonic() < deadline:
            time.sleep(0.5)
            more = self._ask()
            whole = load.Read(whole.due + more.due, whole.read + more.read, whole.values + more.values)
        return whole

    def _ask(self) -> load.Read:
        self._reader.send(True)
        read: load.Read = self._reader.recv(_PATIENCE)
        return read

    def close(self) -> None:
        self._reader.send(False)
        self._reader.result()


class Trial(Outside):
    """With a job between them."""

    def __init__(self, interval: str | None, *, keep: bool, source: str, result: str, way: Way = rules.flagged) -> None:
        super().__init__(result, keep=keep, source=source)
        self._job = processes.Started(serve, self._bootstrap, source, result, interval, way, talks=True)
        self._job.recv(120)

    def end(self) -> processes.Done[list[float]]:
        self.close()
        self._job.send("stop")
        return self._job.result()
