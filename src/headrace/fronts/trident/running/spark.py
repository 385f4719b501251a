"""Topologies on Spark. Their streams are headrace's, or begin with spouts in Python.

Headrace's streams are read by a micro-batch query. It logs the offsets of a batch before it runs, so a txid, which is the number of the
micro-batch counted from 1, always has the same records: such a stream is a transactional spout.

Spouts are asked by the driver, which keeps a journal of their positions as `LocalCluster` does; what they give is computed in Spark's
tasks. So a replayed txid has what the spout promises. Spark's own log has no room for that: it is written before a batch, and what it says
is read again as it was. An opaque spout, whose replay may hold other tuples, cannot be one of Spark's sources.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark import RDD
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.definitions import pickles
from headrace.errors import DefinitionError, JobError, pointing_at, user_line
from headrace.fronts.stream import Stream as HeadraceStream
from headrace.fronts.trident.nodes import Graph, Source
from headrace.fronts.trident.operations import TransactionAttempt
from headrace.fronts.trident.running import drpc, replays
from headrace.fronts.trident.running.batches import Batches
from headrace.fronts.trident.running.distributed import OnSpark
from headrace.fronts.trident.running.journal import Journal
from headrace.fronts.trident.running.local import INTERVAL, RunningTopology, check_conf
from headrace.fronts.trident.running.partitions import Partitions
from headrace.fronts.trident.topology import TridentTopology
from headrace.fronts.trident.tuples import FailedException
from headrace.job import Job
from headrace.planning.triggers import Trigger
from headrace.run.running import Running

_SOURCE = "_source"
_GLANCE = 0.05  # seconds between two looks at whether it is to stop


class StormSubmitter:
    """Runs a topology on Spark, in batches. Its streams are headrace's, or all of them begin with spouts in Python."""

    @staticmethod
    def submitTopology(
        name: str,
        conf: Mapping[str, Any],
        topology: TridentTopology,
        *,
        trigger: Trigger | str | None = None,
        checkpoint: str | Path | None = None,
    ) -> Running | RunningTopology:
        """Start it under this name. Of headrace streams it is a job, as `Job.start` gives it; of spouts a RunningTopology, as LocalCluster
        has it. Both have `process_all()`, `stop()` and `with`.

        DRPC functions answer from the driver; those of a job also when it has stopped, until another topology answers them.

        trigger     as of a Job; `topology.trident.batch.emit.interval.millis` in the settings says the same. Not with spouts.
        checkpoint  as of a Job: where it remembers how far it is. With spouts a directory of this machine; without it, what is remembered
                    ends with the process.
        """
        check_conf(conf)
        graph = topology.build().graph
        streams, spouts = _sources(graph)
        for node in graph.nodes:
            with pointing_at(node.where):
                pickles.check(node.label, [getattr(node, "process", None), getattr(node, "route", None), node.operations])
        if spouts:
            return _of_spouts(name, conf, topology, spouts, trigger, checkpoint)
        spark = SparkSession.active()
        batches = Batches(graph, conf, default=spark.sparkContext.defaultParallelism)
        batches.open()
        runner = _Runner(name, graph.below(streams), streams, batches, OnSpark(spark.sparkContext))
        when = trigger or (f"{conf[INTERVAL]} milliseconds" if INTERVAL in conf else None)
        job = Job(name, _together(streams).to.callback(runner, name=name), trigger=when, checkpoint=checkpoint)
        end = drpc.serve(graph, batches)
        try:
            runner.job = job.start("micro-batch")
        except BaseException:
            end()
            raise
        return runner.job

    submit_topology = submitTopology


def _sources(graph: Graph) -> tuple[list[Source], list[Source]]:
    """The streams that Spark reads, and those of spouts: a topology has one kind of them."""
    sources = [node for node in graph.nodes if isinstance(node, Source) and not node.asked]
    streams = [source for source in sources if isinstance(source.origin, HeadraceStream)]
    spouts = [source for source in sources if source not in streams]
    if streams and spouts:
        raise DefinitionError(
            f"{spouts[0].label} has a spout, and {streams[0].label} is read by Spark: their batches cannot go in step",
            fix="make two topologies, or let one of them write to a topic that the other reads", where=user_line(),
        )  # fmt: skip
    if not sources:
        raise DefinitionError("the topology has no stream of its own", fix='newStream("id", hr.read.kafka(…))', where=user_line())
    return streams, spouts


def _of_spouts(
    name: str, conf: Mapping[str, Any], topology: TridentTopology, spouts: Sequence[Source], trigger: Any, checkpoint: str | Path | None
) -> RunningTopology:
    if trigger is not None:
        raise DefinitionError(
            f"trigger={trigger!r}, but {spouts[0].label} has a spout, which is asked again as soon as a batch is done",
            fix=f"leave it out; for a pause between batches set {INTERVAL!r}", where=user_line(),
        )  # fmt: skip
    if "://" in str(checkpoint):
        raise DefinitionError(
            f"checkpoint={str(checkpoint)!r}: what is remembered of spouts is a file of the driver's",
            fix="give a directory of this machine", where=user_line(),
        )  # fmt: skip
    for source in spouts:
        if source.origin.remote:
            with pointing_at(source.where):
                pickles.check(source.label, source.origin)
    context, journal = SparkSession.active().sparkContext, Journal(checkpoint, name)
    try:
        return RunningTopology(name, dict(conf), topology, journal, place=OnSpark(context), partitions=context.defaultParallelism)
    except BaseException:
        journal.close()
        raise


def _together(sources: Sequence[Source]) -> HeadraceStream:
    """One stream of all, so that their batches go in step: each record in a column of its stream."""
    if len(sources) == 1:
        return sources[0].origin  # type: ignore[no-any-return]
    types = [source.origin.schema for source in sources]

    def record(number: int) -> Callable[[DataFrame], DataFrame]:
        def columns(df: DataFrame) -> DataFrame:
            whole = F.struct(*(F.col(f"`{name}`") for name in df.columns))
            parts = [(whole if place == number else F.lit(None)).cast(kind).alias(f"_{place}") for place, kind in enumerate(types)]
            return df.select(F.lit(number).alias(_SOURCE), *parts)

        return columns

    streams = [source.origin.then(record(number)) for number, source in enumerate(sources)]
    together: HeadraceStream = streams[0]
    for stream in streams[1:]:
        together = together.union(stream)
    return together


class _Runner:
    """What the job calls with each micro-batch."""

    def __init__(self, name: str, graph: Graph, sources: Sequence[Source], batches: Batches, place: OnSpark) -> None:
        self._name, self._graph, self._sources, self._batches, self._place = name, graph, sources, batches, place
        self.job: Running | None = None

    def __call__(self, rows: DataFrame, batch: int) -> None:
        failures = 0
        while reason := self._failed(rows, TransactionAttempt(batch + 1, failures)):
            failures += 1
            until = time.monotonic() + replays.pause(self._name, batch + 1, failures, reason)
            while not self._stopping and (left := until - time.monotonic()) > 0:
                time.sleep(min(left, _GLANCE))
            if self._stopping:
                raise JobError(
                    f"batch {batch + 1} has failed {failures} times until the topology was stopped, the last time of this: {reason}",
                    fix="mend what it fails of: when the topology is started again, it begins with this batch",
                )

    @property
    def _stopping(self) -> bool:
        return self.job is not None and self.job.state != "running"

    def _failed(self, rows: DataFrame, batch: TransactionAttempt) -> str | None:
        """Why the attempt failed, if it did."""
        several = len(self._sources) > 1
        sources: dict[Source, Partitions] = {
            source: self._place.tuples(_records(rows, number if several else None)) for number, source in enumerate(self._sources)
        }
        try:
            with self._place.batch():
                self._batches.run(self._graph, batch, sources)
        except FailedException as failure:
            return str(failure) or "FailedException"
        return None


def _records(rows: DataFrame, number: int | None) -> RDD[Any]:
    if number is None:
        return rows.rdd.map(tuple)
    return rows.where(F.col(_SOURCE) == number).select(f"_{number}.*").rdd.map(tuple)
