"""Applications on Kafka: one job, whose queries are the stages. Topics between stages, changelogs and the control stream are made here."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property, partial
from itertools import groupby
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.errors import HeadraceError, JobError, ModeError, pointing_at, user_line
from headrace.fronts import read
from headrace.fronts.samza.applications.programs import Application, Stage, application
from headrace.fronts.samza.config import Input, refused
from headrace.fronts.samza.messages import RequestScope
from headrace.fronts.samza.running import stages
from headrace.fronts.samza.running.host import StreamSpec
from headrace.fronts.stream import Stream
from headrace.io.kafka.administration import KafkaTopics
from headrace.io.kafka.connector import DEFAULT_CAP, Cluster, KafkaSink
from headrace.io.kafka.topics import Topic
from headrace.job import Job
from headrace.planning import recipe
from headrace.planning.recipe import Output
from headrace.planning.table import Mode
from headrace.planning.triggers import Trigger, every
from headrace.run.running import Running


class ApplicationStatus(Enum):
    """How an application is."""

    New = "new"
    Running = "running"
    SuccessfulFinish = "finished"
    UnsuccessfulFinish = "failed"


class LocalApplicationRunner:
    """Runs a task or an application on the topics of a Kafka cluster, in any mode.

        runner = LocalApplicationRunner(WordCountTask, config)
        runner.run()              # micro-batch; or run("batch"), run("real-time")
        runner.waitForFinish()

    The cluster is `systems.<name>.consumer.bootstrap.servers`, HEADRACE_KAFKA, or the broker that headrace brings. `checkpoint` and
    `trigger` are those of a headrace job.
    """

    def __init__(
        self,
        program: Any,
        config: Mapping[str, Any] | None = None,
        *,
        checkpoint: str | Path | None = None,
        trigger: Trigger | str | None = None,
    ) -> None:
        self._app = application(program, config)
        assert self._app.config.job  # it has a name
        self._checkpoint, self._trigger = checkpoint, trigger
        self._running: Running | None = None
        self._control: _Control | None = None
        self._error: HeadraceError | None = None

    def run(self, mode: Mode = "micro-batch") -> None:
        """Start it, and return; as a batch, run to the end of all streams."""
        with pointing_at(user_line()):
            if mode == "batch":
                for job in _Cluster(self._app).batch_jobs():
                    job.run("batch")
                return
            cluster = _Cluster(self._app)
            job = cluster.job(mode, self._checkpoint, self._trigger)
            self._control = _Control(cluster)
            self._running = job.start(mode)
        self._control.follow(self._running)

    def waitForFinish(self, seconds: float | None = None) -> bool:
        """Wait until it ends, at most so long; whether it has. JobError if it failed."""
        if self._running is None:
            return True
        try:
            return self._running.wait(seconds)
        except JobError as error:
            self._error = error
            raise

    def kill(self) -> None:
        """Stop it: the batch under way is completed and saved."""
        if self._control is not None:
            self._control.stop()
        if self._running is not None:
            self._running.stop()

    def status(self) -> ApplicationStatus:
        """New, Running, or how it ended."""
        if self._running is None:
            return ApplicationStatus.New
        states = {
            "running": ApplicationStatus.Running,
            "stopping": ApplicationStatus.Running,
            "failed": ApplicationStatus.UnsuccessfulFinish,
        }
        return states.get(self._running.state, ApplicationStatus.SuccessfulFinish)

    @property
    def running(self) -> Running | None:
        """The headrace job that runs: its progress, its notices."""
        return self._running

    def __enter__(self) -> LocalApplicationRunner:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


class _Cluster:
    """An application on a cluster: its topics, and the jobs that read and write them."""

    def __init__(self, app: Application) -> None:
        self.app, self.config, self.servers = app, app.config, app.config.servers()
        self.topics = KafkaTopics(self.servers)
        outside = [name for stage in app.stages for name in stage.inputs if name not in app.intermediates]
        self.topics.require(self.config.physical(name) for name in outside)
        counts = self.topics.partitions()
        self.partitions = {name: counts[self.config.physical(name)] for name in outside}
        most = max((self.partitions[name] for name in outside), default=1)
        between = self.config.number("job.intermediate.stream.partitions", most)
        self.partitions.update({name: 1 if stream.broadcast else between for name, stream in app.intermediates.items()})
        self._make(counts)

    def _make(self, there: Mapping[str, int]) -> None:
        """The topics that the framework itself needs."""
        compacted = {"cleanup.policy": "compact"}
        wanted = {name: Topic(self.partitions[name]) for name in self.app.intermediates} | {self.control: Topic(1)}
        for stage in self.app.stages:
            wanted.update({log: Topic(self.tasks(stage), config=compacted) for store in stage.stores if (log := store.changelog)})
        for name, how in wanted.items():
            if name not in there:
                self.topics.create([name], how)
            elif how.partitions is not None and there[name] < how.partitions:
                raise refused(f"the topic {name!r} has {there[name]} partitions, and there are {how.partitions} tasks", "make it anew")

    @property
    def control(self) -> str:
        return f"{self.config.job}-samza-coordinator"

    def tasks(self, stage: Stage) -> int:
        """As many as the most partitions of its streams."""
        own = [self.partitions[name] for name, stream in stage.inputs.items() if stream.broadcast is None and not self._broadcast(name)]
        return max(own or self.partitions.values())

    def _broadcast(self, name: str) -> bool:
        return name in self.app.intermediates and self.app.intermediates[name].broadcast

    @cached_property
    def outputs(self) -> dict[str, StreamSpec]:
        """Every topic that there is, by the name that the program has for it."""
        names = {self.config.physical(name): name for name in self.app.described}
        return {
            (name := names.get(topic, topic)): StreamSpec(self.app.system(name), *self.app.serdes(name), count)
            for topic, count in self.topics.partitions().items()
        }

    # -- jobs --------------------------------------------------------------------------------------------------------------------------

    def job(self, mode: Mode, checkpoint: str | Path | None, trigger: Trigger | str | None) -> Job:
        if self.config.number("task.commit.ms", 60_000) < 0:
            raise refused("task.commit.ms=-1: a commit only when a task asks for it", "leave it out: every batch is a commit, and no less")
        if mode == "real-time":
            for stage in self.app.stages:
                if first := [name for name, stream in stage.inputs.items() if stream.bootstrap and name not in self.app.intermediates]:
                    raise ModeError(
                        f"the bootstrap stream {first[0]!r}: not in real-time mode, where no stream is held back for another",
                        fix="run it as micro-batch", where=self.app.where,
                    )  # fmt: skip
            if trigger is None and "task.commit.ms" in self.config.values:
                trigger = every(f"{self.config.number('task.commit.ms', 60_000)} milliseconds")
        outputs = [self._output(stage, number, bounded=False) for number, stage in enumerate(self.app.stages)]
        return Job(self.config.job, *outputs, trigger=trigger, checkpoint=checkpoint)

    def batch_jobs(self) -> Iterator[Job]:
        """One a stage, each to be run before the next is asked for: it reads what the ones before have sent, and nothing older."""
        begin = {name: self._ends(name) for name in self.app.intermediates}
        for number, stage in enumerate(self.app.stages):
            if loops := [name for name in stage.feeds if name in stage.inputs]:
                raise ModeError(
                    f"the stream {loops[0]!r} leads back to the tasks that write it: not in a batch, which cannot wait for it",
                    fix="run it as micro-batch, or use a table on one side of partitionBy only", where=self.app.where,
                )  # fmt: skip
            yield Job(f"{self.config.job}-{number}", self._output(stage, number, bounded=True, begin=begin))

    def _ends(self, topic: str) -> dict[int, int]:
        (description,) = self.topics.describe([topic], config=False)
        return {partition.number: partition.end for partition in description.partitions}

    def _output(self, stage: Stage, number: int, *, bounded: bool, begin: Mapping[str, Any] | None = None) -> Output:
        what = stages.spec(self.app, stage, outputs=self.outputs, control=self.control)
        inputs = {
            name: replace(stream, broadcast=frozenset()) if self._broadcast(name) else stream for name, stream in stage.inputs.items()
        }
        initial = stages.restored(self._changelogs(stage), stage)
        messages = self._messages(stage, bounded=bounded, begin=begin or {})
        tasks = partial(stages.run, what=what, inputs=inputs, tasks=self.tasks(stage), initial=initial)
        physical = {name: self.config.physical(name) for name in self.outputs}
        sent = messages.then(tasks).select(_renamed("stream", physical).alias("topic"), "partition", "key", "message")
        cluster, topics = Cluster(self.servers), tuple(physical.values())
        return recipe.end(sent.step, KafkaSink(topics, "key", "message", f"stage-{number}", cluster, partition="partition", route="topic"))

    def _messages(self, stage: Stage, *, bounded: bool, begin: Mapping[str, Any]) -> Stream:
        """All streams of a stage together. Of bootstrap streams a batch takes all there is, so that they are at their end before others."""

        def how(stream: Input) -> tuple[bool, bool, bool]:
            return stream.bootstrap, stream.oldest or bounded, stream.name in begin

        streams = sorted(stage.inputs.values(), key=how)
        logical = {self.config.physical(name): name for name in stage.inputs}
        parts = []
        for (bootstrap, oldest, after), group in groupby(streams, key=how):
            names = [stream.name for stream in group]
            start: Any = {name: begin[name] for name in names} if after else "earliest" if oldest else "latest"
            cap = 2**31 - 1 if bootstrap else DEFAULT_CAP
            records = read.kafka(*map(self.config.physical, names), start=start, servers=self.servers, cap=cap)
            parts.append(
                records.select(
                    _renamed("topic", logical).alias("stream"), "partition", "offset", "key", F.col("value").alias("message"), "timestamp",
                    F.lit(0).cast("bigint").alias("turn"),
                )
            )  # fmt: skip
        messages = parts[0]
        for part in parts[1:]:
            messages = messages.union(part)
        return messages

    def _changelogs(self, stage: Stage) -> dict[str, DataFrame]:
        """The changelogs that hold something: what a job without a checkpoint begins with."""
        logs = [store.changelog for store in stage.stores if store.changelog is not None]
        return {log: read.kafka(log, servers=self.servers).step.source.table() for log in logs}  # type: ignore[union-attr]


def _renamed(column: str, names: Mapping[str, str]) -> Column:
    """The other name of a stream, where it has one."""
    others = {name: other for name, other in names.items() if name != other}
    renamed = F.col(column)
    for name, other in others.items():
        renamed = F.when(F.col(column) == name, F.lit(other)).otherwise(renamed)
    return renamed


@dataclass
class _Wish:
    """Who has asked for the end."""

    tasks: set[str]
    everyone: bool = False


class _Control:
    """Ends the job when its tasks ask for it, which they do through a topic: they run elsewhere."""

    def __init__(self, cluster: _Cluster) -> None:
        from confluent_kafka import Consumer, TopicPartition

        self._stages = len(cluster.app.stages)
        self._needed = max(cluster.tasks(stage) for stage in cluster.app.stages)
        self._over = threading.Event()
        self._consumer = cluster.topics.client.make(Consumer, group_id="headrace-samza", enable_auto_commit=False)
        ends = cluster._ends(cluster.control)
        self._consumer.assign([TopicPartition(cluster.control, number, end) for number, end in ends.items()])

    def follow(self, running: Running) -> None:
        threading.Thread(target=self._follow, args=[running], name="samza-control", daemon=True).start()

    def stop(self) -> None:
        self._over.set()

    def _follow(self, running: Running) -> None:
        wish = _Wish(set())
        while not self._over.is_set() and running.active:
            message = self._consumer.poll(0.2)
            if message is None or message.error() is not None:
                continue
            wish.tasks.add((message.key() or b"").decode())
            wish.everyone |= message.value() == RequestScope.ALL_TASKS_IN_CONTAINER.value.encode()
            if wish.everyone or len(wish.tasks) >= self._needed:
                running.stop()
                break
        self._consumer.close()
