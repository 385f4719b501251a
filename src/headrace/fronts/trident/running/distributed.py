"""Batches on Spark: tuples as RDDs. What is done with a partition is the code of in-process."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import RDD, SparkContext, StorageLevel
from pyspark.errors import PySparkException

from headrace.fronts.trident.running.partitions import Local, Partitions
from headrace.fronts.trident.running.places import Emitted, InProcess, Reading
from headrace.fronts.trident.running.work import Work
from headrace.fronts.trident.tuples import FailedException, Row

_FAILED = re.compile(
    rf"^{re.escape(FailedException.__module__)}\.{FailedException.__qualname__}: (.*)$", re.MULTILINE
)  # in a task's traceback


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


class OnSpark:
    """Spark's tasks."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._kept: list[RDD[Any]] = []

    @contextmanager
    def batch(self) -> Iterator[None]:
        """What was computed is let go afterwards. Of what a task raises only the text comes back."""
        try:
            yield
        except (Py4JJavaError, PySparkException) as error:
            if failed := _FAILED.search(str(error)):
                raise FailedException(failed[1]) from None
            raise
        finally:
            while self._kept:
                self._kept.pop().unpersist()

    def tuples(self, rdd: RDD[Any]) -> Distributed:
        """An RDD of tuples, as those of a node."""
        return Distributed(rdd, self._kept)

    def put(self, rows: list[list[Row]]) -> Emitted:
        """Sent to the tasks, a partition each."""
        return Emitted(self.tuples(self._context.parallelize(rows, len(rows)).flatMap(_same)), any(rows))

    def read(self, readings: Sequence[Reading]) -> Emitted:
        """Of a spout that any process can open, in the tasks; else here."""
        if not readings or not readings[0].spout.remote:
            here = InProcess().read(readings)
            return Emitted(self.put(here.tuples.here().rows).tuples, here.filled, here.metas)
        answers = self._context.parallelize(readings, len(readings)).map(Reading.alone)
        answers.persist(StorageLevel.MEMORY_AND_DISK)  # read once: a spout may give something else the next time
        self._kept.append(answers)
        metas = answers.map(_counted).collect()
        return Emitted(self.tuples(answers.flatMap(_rows)), any(count for count, _ in metas), [meta for _, meta in metas])


def _same(rows: list[Row]) -> list[Row]:
    return rows


def _rows(answer: tuple[list[Row], Any]) -> list[Row]:
    return answer[0]


def _counted(answer: tuple[list[Row], Any]) -> tuple[int, Any]:
    return len(answer[0]), answer[1]
