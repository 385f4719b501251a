"""What a connector is: a `Source` that can be read as a table and as a stream, a `Sink` that can be written in every way a mode needs.

A connector is a frozen description. It opens nothing until a job runs, and `check` is its chance to refuse before anything has started.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from threading import Event
from typing import Any, ClassVar, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructType

from headrace.errors import DefinitionError, user_line

Option = str | bool | int | float

NEW = range(-1, 0)
"""What a job that has no batch yet may have written last."""


class Remote(Protocol):
    """Something elsewhere that a running job cannot do without."""

    title: str
    """What people are told it is called; two of the same title are the same."""

    def questions(self, over: Event) -> AbstractContextManager[Callable[[], bool]]:
        """What asks it whether it is there, and waits for the answer, at most a few seconds and not beyond `over`."""


class Source(ABC):
    """Where a stream begins."""

    kind: ClassVar[str]
    """Its row in the support table."""

    @property
    def home(self) -> str | None:
        """A directory that goes with the process, if the source does: a position in it is worth nothing afterwards."""
        return None

    @abstractmethod
    def schema(self) -> StructType:
        """The columns, known without reading a record."""

    @abstractmethod
    def stream(self, *, real_time: bool) -> DataFrame:
        """All there is and will be, as a streaming DataFrame."""

    def table(self) -> DataFrame:
        """All there is now, as a batch DataFrame that gives the same rows however often it is evaluated."""
        raise TypeError(f"a {self.kind} source has no end")

    def check(self) -> None:
        """Raise JobError if the source is not there."""

    def resume(self, checkpoint: str) -> None:
        """Raise JobError if it cannot go on from where this checkpoint is."""

    def partitions(self) -> int:
        """How many tasks read it at once."""
        return SparkSession.active().sparkContext.defaultParallelism

    def remote(self) -> Remote | None:
        """What must answer while a job reads from it, if there is such a thing."""
        return None

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """What a checkpoint's offsets refer to: a job that reads something else must not go on from them. No secrets."""


class Sink(ABC):
    """Where a stream ends."""

    kind: ClassVar[str]
    """Its row in the support table."""

    name: str
    """How progress, errors and the checkpoint call it; unique in a job."""

    @property
    def home(self) -> str | None:
        """A directory that goes with the process, if the rows do."""
        return None

    @property
    def place(self) -> str | None:
        """Where no other output of the job may write, if there is such a place."""
        return None

    def remote(self) -> Remote | None:
        """What must answer while a job writes to it, if there is such a thing."""
        return None

    def shape(self, frame: DataFrame) -> DataFrame:
        """The rows as they will be written; applied when the stream is defined too, so that an unknown column is found there."""
        return frame

    def check(self, *, ends: range | None) -> None:
        """Raise JobError if the sink cannot take rows. `ends`: the batches of which one is the last that the job has written; NEW if it has
        none yet, two if it may have stopped before or after it wrote the last. None in a batch run."""

    def prepare(self) -> None:
        """Make what the rows go to, where that is to be made: after all checks of the job, and before its first record."""

    @abstractmethod
    def save(self, frame: DataFrame) -> None:
        """Batch: write all rows."""

    @abstractmethod
    def add(self, frame: DataFrame, batch: int) -> None:
        """Micro-batch: write the rows of one batch, which may be one that was written before a crash."""

    def adder(self) -> Callable[[DataFrame, int], None]:
        """`add`, for all batches of one start: what need not be looked up with each is looked up here."""
        return self.add

    def writer(self, frame: DataFrame) -> DataStreamWriter | None:
        """Spark's own streaming sink for it, where that is better than `add` for each batch, or the only way."""
        return None

    @property
    def company(self) -> object | None:
        """What outputs have in common that one real-time query can write; None if it can write no other beside this one."""
        return None

    def routed(self, frame: DataFrame) -> DataFrame:
        """For a sink that has company: the rows, each saying itself where it goes."""
        raise TypeError(f"a {self.kind} sink has no company")

    def write_routed(self, frame: DataFrame) -> DataStreamWriter:
        """For a sink that has company: Spark's own streaming sink for the rows of all."""
        raise TypeError(f"a {self.kind} sink has no company")


def struct(schema: str | StructType) -> StructType:
    """A schema as Spark has it, from `name type, …`."""
    structure = StructType.fromDDL(schema) if isinstance(schema, str) else schema
    assert isinstance(structure, StructType)
    return structure


def texts(options: Mapping[str, Option] | None) -> dict[str, str]:
    """Options as Spark and Kafka take them: true and 10 are "true" and "10". DefinitionError for what has no such text."""
    # Of what is wrong only the type is told: it may be a secret, or hold one.
    if not isinstance(options, Mapping | None):
        kind = type(options).__name__
        raise DefinitionError(f"options is of type {kind}, and no dict", fix='give a dict: {"kafka.linger.ms": 5}', where=user_line())
    for name, value in (options or {}).items():
        if not isinstance(value, Option):
            raise DefinitionError(f"option {name} is of type {type(value).__name__}", fix="write it as text, in quotes", where=user_line())
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in (options or {}).items()}


def positive(**numbers: int) -> None:
    """Raise DefinitionError if one of them is no whole number from 1 on."""
    for name, number in numbers.items():
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise DefinitionError(f"{name}={number!r} is no whole number from 1 on", fix=f"give {name}=1 or more", where=user_line())


@contextmanager
def computed(frame: DataFrame) -> Iterator[DataFrame]:
    """The rows of a batch, all of them computed, and kept while they are used.

    State is saved only where rows were read: what looks at some of them, or at none, must not undo that.
    """
    ours = not frame.is_cached  # else it is kept for other outputs, too
    frame = frame.persist() if ours else frame
    try:
        frame.write.format("noop").mode("overwrite").save()
        yield frame
    finally:
        if ours:
            frame.unpersist()
