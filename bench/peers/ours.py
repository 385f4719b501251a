"""headrace: the count in real-time mode, the rules in micro-batches."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import headrace as hr
from bench.measuring import processes, trial
from bench.peers.programs.work import LINGER
from bench.peers.systems import Work
from bench.work import rules
from headrace.embedded import kafka
from headrace.kernel.scan import scan

BATCH = 500_000


@dataclass(frozen=True)
class Headrace:
    """`interval`: how long a real-time batch is; headrace's own default if not given."""

    interval: str | None = None

    def prepare(self) -> None:
        kafka.ensure()

    @contextmanager
    def started(self, work: Work, source: str, result: str) -> Iterator[None]:
        servers = kafka.ensure()
        if work == "count":
            job = processes.Started(trial.serve, servers, source, result, self.interval, counted, talks=True)
        else:
            job = processes.Started(serve, servers, source, result, talks=True)
        job.recv(120)
        yield
        job.send("stop")
        job.result()


def counted(decoded: DataFrame, *also: str) -> DataFrame:
    n = F.coalesce(F.col("state.n"), F.lit(0)) + 1
    return scan(decoded, keys="customer", state={"n": "bigint"}, update={"n": n}, output=["customer", n.alias("n"), *also])


def serve(talk: Connection, servers: str, source: str, result: str) -> list[float]:
    """The rules as a job in micro-batches, until told to stop."""
    hr.session(master="local[2]", conf={"spark.sql.shuffle.partitions": "2"})
    records = hr.read.kafka(source, schema=rules.SCHEMA, servers=servers, cap=BATCH)
    out = records.then(rules.flagged).to.kafka(result, key="customer", servers=servers, options={"kafka.linger.ms": str(LINGER["rules"])})
    place = tempfile.TemporaryDirectory(prefix="headrace-bench-", ignore_cleanup_errors=True)
    with place as checkpoint, hr.Job("bench", out, checkpoint=checkpoint).start("micro-batch") as running:
        talk.send("started")
        while not talk.poll():
            running.wait(0.2)
    hr.session().stop()
    return []
