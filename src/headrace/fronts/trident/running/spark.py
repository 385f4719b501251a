"""Topologies on Spark: the batches of a headrace stream, as RDDs of Python tuples. What is done with a partition is the code of in-process.

A micro-batch logs its offsets before it runs, so batch N always has the same records: a headrace stream is a transactional spout, and its
txid is the number of the micro-batch, counted from 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import RDD, StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.definitions import pickles
from headrace.errors import DefinitionError, pointing_at, user_line
from headrace.fronts.stream import Stream as HeadraceStream
from headrace.fronts.trident.nodes import Graph, Source
from headrace.fronts.trident.operations import TransactionAttempt
from headrace.fronts.trident.running import drpc
from headrace.fronts.trident.running.batches import Batches
from headrace.fronts.trident.running.local import INTERVAL, check_conf
from headrace.fronts.trident.running.partitions import Local, Partitions
from headrace.fronts.trident.running.work import Work
from headrace.fronts.trident.topology import TridentTopology
from headrace.fronts.trident.tuples import FailedException, Row
from headrace.job import Job
from headrace.planning.triggers import Trigger
from headrace.run.running import Running

_SOURCE = "_source"
_FAILED = re.compile(rf"^{re.escape(FailedException.__module__)}\.{FailedException.__qualname__}\b", re.MULTILINE)  # in a task's traceback


@dataclass(frozen=True)
class Distributed:
    """The tuples of a node as an RDD. `kept` are those of the batch that were computed, to be let go when it is over."""

    rdd: RDD[Any]
    kept: list[RDD[Any]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many partitions."""
        return self.rdd.getNumPartitions()

    def process(self, work: Work) -> Distributed:
        """In Spark's tasks."""
        return self._with(self.rdd.mapPartitionsWithIndex(lambda number, rows: work.alone(number, list(rows)), True))

    def exchange(self, work: Work, count: int) -> Distributed:
        """Through a shuffle."""
        placed = self.rdd.mapPartitionsWithIndex(lambda number, rows: work.alone(number, list(rows)))
        return self._with(placed.partitionBy(count, _itself).values())

    def beside(self, others: Sequence[Partitions], work: Work) -> Partitions:
        """Partitions of the same number come together through a shuffle."""
        if any(isinstance(other, Local) for other in others):
            return self.here().beside(others, work)
        sides = [self.rdd, *(other.rdd for other in others if isinstance(other, Distributed))]
        marked = [rdd.mapPartitionsWithIndex(_marked(side)) for side, rdd in enumerate(sides)]
        together = self.rdd.context.union(marked).partitionBy(self.count, _itself).values()
        return self._with(together.mapPartitionsWithIndex(_by_side(len(sides), work), True))

    def computed(self) -> Distributed:
        """Once, now: a state that is updated on the way is updated once."""
        self.rdd.persist(StorageLevel.MEMORY_AND_DISK)  # not dropped, which would update a state again
        self.kept.append(self.rdd)
        self.rdd.count()
        return self

    def here(self) -> Local:
        """Brought to the driver."""
        return Local([list(rows) for rows in self.rdd.glom().collect()])

    def _with(self, rdd: RDD[Any]) -> Distributed:
        return Distributed(rdd, self.kept)


def _itself(place: int) -> int:
    return place


def _marked(side: int) -> Callable[[int, Iterable[Row]], Iterator[tuple[int, tuple[int, Row]]]]:
    return lambda number, rows: ((number, (side, row)) for row in rows)


def _by_side(sides: int, work: Work) -> Callable[[int, Iterable[tuple[int, Row]]], list[Row]]:
    def run(number: int, rows: Iterable[tuple[int, Row]]) -> list[Row]:
        parts: list[list[Row]] = [[] for _ in range(sides)]
        for side, row in rows:
            parts[side].append(row)
        return work.alone(number, *parts)

    return run


class StormSubmitter:
    """Runs a topology whose streams are headrace's, on Spark as micro-batches."""

    @staticmethod
    def submitTopology(
        name: str,
        conf: Mapping[str, Any],
        topology: TridentTopology,
        *,
        trigger: Trigger | str | None = None,
        checkpoint: str | Path | None = None,
    ) -> Running:
        """Start it as the job `name`, and return the job as `Job.start` does: `with … as running: running.process_all()`.

        Its DRPC functions answer from the driver, also when the job has stopped, until another topology answers them.

        trigger     as of a Job; `topology.trident.batch.emit.interval.millis` in the settings says the same
        checkpoint  as of a Job: where it remembers how far it is
        """
        check_conf(conf)
        graph = topology.build().graph
        sources = _sources(graph)
        spark = SparkSession.active()
        batches = Batches(graph, conf, default=spark.sparkContext.defaultParallelism)
        for node in graph.nodes:
            with pointing_at(node.where):
                pickles.check(node.label, [getattr(node, "process", None), getattr(node, "route", None), node.operations])
        batches.open()
        runner = _Runner(graph.below(sources), sources, batches)
        when = trigger or (f"{conf[INTERVAL]} milliseconds" if INTERVAL in conf else None)
        job = Job(name, _together(sources).to.callback(runner, name=name), trigger=when, checkpoint=checkpoint)
        end = drpc.serve(graph, batches)
        try:
            return job.start("micro-batch")
        except BaseException:
            end()
            raise

    submit_topology = submitTopology


def _sources(graph: Graph) -> list[Source]:
    sources = [node for node in graph.nodes if isinstance(node, Source) and not node.asked]
    if wrong := [source for source in sources if not isinstance(source.origin, HeadraceStream)]:
        raise DefinitionError(
            f"{wrong[0].label} has a spout of this process: {type(wrong[0].origin).__name__}",
            fix='run it with LocalCluster; or let Spark read: newStream("id", hr.read.kafka("topic", schema=…))', where=user_line(),
        )  # fmt: skip
    if not sources:
        raise DefinitionError("the topology has no stream that Spark reads", fix='newStream("id", hr.read.kafka(…))', where=user_line())
    return sources


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


@dataclass(frozen=True, eq=False)
class _Runner:
    """What the job calls with each micro-batch."""

    graph: Graph
    sources: Sequence[Source]
    batches: Batches

    def __call__(self, rows: DataFrame, batch: int) -> None:
        attempt = 0
        while not self._committed(rows, TransactionAttempt(batch + 1, attempt)):
            attempt += 1

    def _committed(self, rows: DataFrame, batch: TransactionAttempt) -> bool:
        kept: list[RDD[Any]] = []
        given: dict[Source, Partitions] = {
            source: Distributed(_records(rows, number if len(self.sources) > 1 else None), kept)
            for number, source in enumerate(self.sources)
        }
        try:
            self.batches.run(self.graph, batch, given)
        except FailedException:
            return False
        except (Py4JJavaError, PySparkException) as error:
            if _FAILED.search(str(error)):
                return False
            raise
        finally:
            for rdd in kept:
                rdd.unpersist()
        return True


def _records(rows: DataFrame, number: int | None) -> RDD[Any]:
    if number is None:
        return rows.rdd.map(tuple)
    return rows.where(F.col(_SOURCE) == number).select(f"_{number}.*").rdd.map(tuple)
