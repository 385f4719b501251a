"""A topology on Spark, in real time or micro-batch: submitted, watched, started again when a process of it dies, and stopped."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from pyspark import SparkContext, cloudpickle
from pyspark.sql import SparkSession

from headrace.definitions.seals import secret_of
from headrace.embedded import kafka as broker
from headrace.embedded import places
from headrace.errors import DefinitionError, JobError, ModeError, user_line
from headrace.fronts.storm.graph.layout import Layout
from headrace.fronts.storm.graph.reliability import MODE, Reliability
from headrace.fronts.storm.spark import query, states
from headrace.fronts.storm.spark.feeder import Orders
from headrace.fronts.storm.spark.metrics import Metrics
from headrace.fronts.storm.spark.stages import LOST
from headrace.fronts.storm.spark.topics import Topics, has_state
from headrace.fronts.storm.topologies.topology import layout
from headrace.io.kafka.administration import KafkaTopics
from headrace.io.kafka.topics import Topic
from headrace.job import Job
from headrace.planning.table import Mode
from headrace.planning.triggers import Trigger, every
from headrace.run import signals
from headrace.run.checkpoints.places import Place
from headrace.run.running import Running
from headrace.spark.session import session

_DIED = ("Python process of a function ended", "the writer task likely failed", LOST)
"""What is said of a query one of whose processes has died: by the task that asked it, by one that read from that, or by the process that
took its place."""
_GLANCE = 0.1
_PROMPT = {"spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "1"}
"""Each level is a shuffle: in what they wait for company it adds up. With 5 ms, headrace's default, a tuple takes three levels 15 ms."""
_HOUR: dict[str, Any] = {"retention.ms": 3_600_000}
_COMPACT: dict[str, Any] = {"cleanup.policy": "compact"}


def submit(
    topology: Any,
    name: str | None = None,
    *,
    mode: Mode = "real-time",
    config: Mapping[str, Any] | None = None,
    reliability: Reliability | None = None,
    trigger: Trigger | str | None = None,
    checkpoint: str | Path | None = None,
    restarts: int = 10,
) -> RunningTopology:
    """Run a topology on Spark until it is stopped.

    name         of the topology and its topics, `storm.NAME.…`; submitted again under it, it goes on where it was
    mode         "real-time" or "micro-batch"; for tests there is `complete_topology`
    config       settings of Storm's on top of the topology's own: `topology.workers` (processes for each level),
                 `topology.max.spout.pending`, `topology.message.timeout.secs`, `topology.acker.executors`
    reliability  one of `Reliability`, which goes before the number of ackers, and before `topology.reliability.mode`
    trigger      as a job's. In real time: how often it saves where it is (default 10 seconds, or Heron's setting
                 `topology.stateful.checkpoint.interval.seconds`), and so how much is done again after a crash
    checkpoint   as a job's: on a cluster, a directory that all machines see
    restarts     how often the query may be started again because a bolt's process died, without a minute of peace between
    """
    settings = {**(config or {}), **({} if reliability is None else {MODE: reliability})}
    made = layout(topology, config=settings, name=name)
    if mode not in ("real-time", "micro-batch"):
        raise ModeError(
            f"a topology does not run as {mode}", fix="run it to its end within a test: complete_topology(…)", where=user_line()
        )
    servers = broker.ensure()
    made = made.with_config({"headrace.kafka": servers})
    made.secret = secret_of(made.name, places.data() / "storm")
    if SparkContext._active_spark_context is None:
        session(master=f"local[{max(8, query.slots(made) + 2)}]", conf=_PROMPT)
    topics = Topics(made.name)
    _prepare(made, topics, servers)
    saves = every(f"{made.checkpoint_seconds:g} seconds") if mode == "real-time" else None
    try:
        return RunningTopology(made, topics, mode, servers, trigger or saves, None if checkpoint is None else str(checkpoint), restarts)
    except DefinitionError as error:
        error.where = error.where or user_line()
        raise


def _prepare(made: Layout, topics: Topics, servers: str) -> None:
    config = {topics.tuples: {}, topics.acks: _HOUR, topics.metrics: _HOUR}
    if made.reliability is Reliability.EFFECTIVELY_ONCE:
        config |= {topics.state: _HOUR, topics.spouts: _COMPACT}
    elif has_state(made):
        config |= {topics.state: _COMPACT}
    cluster = KafkaTopics(servers)
    for topic in config.keys() - cluster.names():
        cluster.create([topic], Topic(partitions=1, config=config[topic]))


class RunningTopology:
    """A topology that runs: wait for it, look at it, stop it.

        with submit(WordCount, "words") as running:
            running.wait(60)
            print(running.metrics())

    Leaving the block stops it, and raises JobError if it has failed.
    """

    def __init__(
        self,
        made: Layout,
        topics: Topics,
        mode: Mode,
        servers: str,
        trigger: Trigger | str | None,
        checkpoint: str | None,
        restarts: int,
    ) -> None:
        self.layout, self.topics, self.mode = made, topics, mode
        self.restarted: list[str] = []
        self._servers, self._trigger, self._checkpoint = servers, trigger, checkpoint
        self._orders = Orders(made, topics, servers, metrics_seconds=1.0)
        self._restarts = self._left = restarts
        self._failed: Exception | None = None
        self._stopping = threading.Event()
        self._metrics = Metrics(made, topics, servers)
        self.running = self._start()
        self.feeder = self._feed()
        self._thread = threading.Thread(target=self._supervise, name=f"supervisor of {made.name}", daemon=True)
        self._thread.start()

    def metrics(self) -> Metrics:
        """Counts of all tasks, as of about a second ago."""
        return self._metrics.read()

    def wait(self, seconds: float | None = None) -> bool:
        """Block until it has ended, at most so long; whether it has. JobError if it failed."""
        deadline = None if seconds is None else time.monotonic() + seconds
        with signals.deferred() as interrupt:  # PySpark's own way with Ctrl-C would cancel the query
            while self._thread.is_alive() and (deadline is None or time.monotonic() < deadline):
                interrupt()
                self._thread.join(_GLANCE)
        self._raise()
        return not self._thread.is_alive()

    def stop(self) -> None:
        """End it: first the spouts, then the query, when it has done and saved what it has."""
        self._stopping.set()
        self._thread.join()
        _end(self.feeder)
        self.running.stop()
        self._metrics.close()

    def _supervise(self) -> None:
        """Start again what dies."""
        since = time.monotonic()
        while not self._stopping.wait(_GLANCE):
            if self.feeder.poll() is not None:
                self.restarted.append("feeder")
                _end(self.feeder)  # what is left of it here
                if not self._again(since):
                    self._failed = JobError(
                        f"the spouts' process of {self.layout.name} ends again and again (exit code {self.feeder.returncode})",
                        fix="mend the spout: what it raised is on standard error",
                    )
                    return
                since, self.feeder = time.monotonic(), self._feed()
            try:
                self.running.wait(0)
            except JobError as error:
                self.restarted.append("query")
                if not any(sign in error.what for sign in _DIED) or not self._again(since):
                    self._failed = error
                    _end(self.feeder)
                    return
                since, self.running = time.monotonic(), self._start()

    def _again(self, since: float) -> bool:
        """Whether it may be started again, after so long."""
        self._left = (self._restarts if time.monotonic() - since > 60 else self._left) - 1
        return self._left >= 0

    def _start(self) -> Running:
        name, exact = self.layout.name, self.layout.reliability is Reliability.EFFECTIVELY_ONCE
        restored = states.restored(Place(name, self._checkpoint), query.NAME, self.topics, self._servers) if exact else None
        job = Job(name, query.output(self.layout, self.topics, restored), trigger=self._trigger, checkpoint=self._checkpoint)
        with _partitions(query.partitions(self.layout)):
            return job.start(self.mode)

    def _feed(self) -> subprocess.Popen[bytes]:
        query.travelling(self.layout)
        orders = cloudpickle.dumps(self._orders)  # type: ignore[no-untyped-call]
        path = os.pathsep.join(filter(None, sys.path))
        command = [sys.executable, "-c", "from headrace.fronts.storm.spark.feeder import main; main()"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path})
        assert process.stdin is not None
        process.stdin.write(len(orders).to_bytes(8, "big") + orders)
        process.stdin.flush()
        return process

    def _raise(self) -> None:
        if self._failed is not None:
            raise self._failed

    def __enter__(self) -> RunningTopology:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
        if error is None:
            self._raise()


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(BrokenPipeError):
        if process.stdin is not None:
            process.stdin.close()  # by which it ends
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def _partitions(ackers: int) -> Iterator[None]:
    """While the query starts, which takes the number over, state has so many partitions."""
    conf, name = SparkSession.active().conf, "spark.sql.shuffle.partitions"
    before = conf.get(name)
    if ackers:
        conf.set(name, str(ackers))
    try:
        yield
    finally:
        conf.set(name, str(before))
