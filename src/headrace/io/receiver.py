"""A source of the user's own, written in Python.

Read   as good as the receiver: records are asked for by position, and after a crash the same positions are asked for again. One that gives
       the same records for the same positions is replayed exactly; one that cannot loses or changes what was under way.

    class Readings(Receiver):
        schema = "sensor string, celsius double"

        def end(self) -> int:
            return api.count()

        def read(self, start: int, end: int) -> Iterable[tuple]:
            return ((reading.sensor, reading.celsius) for reading in api.page(start, end))

    hr.read.receiver(Readings())

Back-pressure: a batch takes at most `cap` records, and no more are asked for before it is done.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from headrace.definitions import arguments, pickles, schemas
from headrace.definitions.guarantees import Modes, Yes
from headrace.errors import DefinitionError, user_line
from headrace.io.connectors import Source, positive

_numbers = itertools.count()


class Receiver(ABC):
    """A log of records that are numbered from `first()` on. It is copied to other processes, so it must pickle."""

    schema: str
    """The columns of a record: `name type, …`."""

    def name(self) -> str:
        """Which log it is: a job that is started again goes on at its position only in the log of the same name. No secrets.

        The class's own name, as long as all its receivers are alike; one that is told what to read says here what that is."""
        if vars(self):
            raise DefinitionError(
                f"{type(self).__qualname__} has {', '.join(vars(self))}, and a checkpoint would not know one such log from another",
                fix="say which it is: def name(self) -> str: return self.…", where=user_line(),
            )  # fmt: skip
        return type(self).__qualname__

    def first(self) -> int:
        """The position of the oldest record that can be had; where a new job begins."""
        return 0

    @abstractmethod
    def end(self) -> int:
        """The position after the newest record there is now. Called on the driver, again and again."""

    @abstractmethod
    def read(self, start: int, end: int) -> Iterable[tuple[Any, ...]]:
        """The records from `start` up to, and without, `end`: the same ones whenever it is called. Called in tasks."""

    def done(self, end: int) -> None:
        """All records before `end` have been processed and will not be asked for again."""


@dataclass(frozen=True, eq=False)
class ReceiverSource(Source):
    receiver: Receiver
    cap: int
    tasks: int
    format: str = field(default_factory=lambda: f"headrace-receiver-{next(_numbers)}")
    kind: ClassVar[str] = "receiver"
    modes: ClassVar[Modes] = {"batch": Yes("up to its newest record"), "micro-batch": Yes("replayed after a crash")}

    def __post_init__(self) -> None:
        positive(cap=self.cap, tasks=self.tasks)
        if not isinstance(self.receiver, Receiver):
            raise DefinitionError(
                f"read.receiver: {arguments.shown(self.receiver)} is no receiver",
                fix="give an object of a class of yours: class Readings(Receiver): …, then read.receiver(Readings())", where=user_line(),
            )  # fmt: skip
        self.receiver.name()
        pickles.check(f"read.receiver: {type(self.receiver).__qualname__}", self.receiver)

    def schema(self) -> StructType:
        of = type(self.receiver)
        return schemas.structure(f"read.receiver: the schema of {of.__qualname__}", getattr(self.receiver, "schema", None))

    def table(self) -> DataFrame:
        # The end is fixed here, so that every evaluation reads the same records.
        return self._registered().read.format(self.format).option("end", self.receiver.end()).load()

    def stream(self, *, real_time: bool) -> DataFrame:
        return self._registered().readStream.format(self.format).load()

    def partitions(self) -> int:
        return self.tasks

    def identity(self) -> dict[str, Any]:
        return {"kind": self.kind, "class": type(self.receiver).__qualname__, "name": self.receiver.name()}

    def _registered(self) -> SparkSession:
        spark = SparkSession.active()
        spark.dataSource.register(_data_source(self.format, self.receiver, self.cap, self.tasks))
        return spark


class Positions(InputPartition):
    """What one task reads."""

    def __init__(self, start: int, end: int) -> None:
        self.start, self.end = start, end


def _split(start: int, end: int, tasks: int) -> list[Positions]:
    """At most `tasks` parts of nearly the same size, in order."""
    step = -(-(end - start) // tasks) or 1
    return [Positions(at, min(at + step, end)) for at in range(start, end, step)]


def _data_source(format: str, receiver: Receiver, cap: int, tasks: int) -> type[DataSource]:
    class Source(DataSource):
        @classmethod
        def name(cls) -> str:
            return format

        def schema(self) -> str:
            return receiver.schema

        def reader(self, schema: StructType) -> DataSourceReader:
            return Table(int(self.options["end"]))

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
            return Stream()

    class Table(DataSourceReader):
        def __init__(self, end: int) -> None:
            self.end = end

        def partitions(self) -> list[Positions]:
            return _split(receiver.first(), self.end, tasks)

        def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
            assert isinstance(partition, Positions)
            return iter(receiver.read(partition.start, partition.end))

    class Stream(DataSourceStreamReader, SupportsTriggerAvailableNow):
        last: int | None = None

        def initialOffset(self) -> dict[str, int]:  # noqa: N802
            return {"position": receiver.first()}

        def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
            return ReadMaxRows(cap)

        def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
            self.last = receiver.end()

        def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
            end = receiver.end() if self.last is None else self.last
            most = start["position"] + limit.max_rows if isinstance(limit, ReadMaxRows) else end
            return {"position": max(start["position"], min(end, most))}

        def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802
            return {"position": receiver.end()}

        def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Positions]:
            return _split(start["position"], end["position"], tasks)

        def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
            assert isinstance(partition, Positions)
            return iter(receiver.read(partition.start, partition.end))

        def commit(self, end: dict[str, int]) -> None:
            receiver.done(end["position"])

    return Source
