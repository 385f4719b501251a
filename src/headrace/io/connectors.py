"""What a connector is: a `Source` that can be read as a table and as a stream, a `Sink` that can be written in every way a mode needs.

A connector is a frozen description. It opens nothing until a job runs, and `check` is its chance to refuse before anything has started.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from threading import Event
from typing import Any, ClassVar, Literal, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructType

from headrace.definitions.guarantees import Guarantee, Mode, Modes, No, Yes, cell
from headrace.errors import DefinitionError, user_line

Option = str | bool | int | float

NEW = range(-1, 0)
"""What a job that has no batch yet may have written last."""


_MICRO = "run it as micro-batch"
_ENDLESS = No("it has no end", _MICRO)
_KAFKA_FIRST = No("only Kafka gives records one at a time", f"bring the records to a Kafka topic first, or {_MICRO}")
_KAFKA_LAST = No("it takes whole batches, not single rows", f"write to Kafka, and from there with a micro-batch job; or {_MICRO}")
_NO_BATCH = No("it does not say what it does there", _MICRO)


class Remote(Protocol):
    """Something elsewhere that a running job cannot do without."""

    title: str
    """What people are told it is called; two of the same title are the same."""

    def questions(self, over: Event) -> AbstractContextManager[Callable[[], bool]]:
        """What asks it whether it is there, and waits for the answer, at most a few seconds and not beyond `over`."""


class Source(ABC):
    """Where a stream begins."""

    kind: ClassVar[str]
    """What it is called in the table of modes, and in errors: `read.kind`."""

    modes: ClassVar[Modes] = {}
    """How it works in which mode, and with which guarantee: exactly-once if it gives every record again after a crash."""

    @classmethod
    def support(cls, mode: Mode) -> Yes | No:
        """What it states for a mode, or why it has nothing there."""
        return cell(cls.modes, mode, _ENDLESS if mode == "batch" else _KAFKA_FIRST)

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


@dataclass(frozen=True)
class Run:
    """Whose rows a sink is opened for.

    job, output  the names of both: with the checkpoint, what the sink may remember them by
    mode         "batch", "micro-batch" or "real-time"
    epoch        which start of the job it is, counted with the checkpoint: a later one has a greater number. 0 in a batch run
    checkpoint   what tells this checkpoint from any other, also one that the job had under this name before; "" in a batch run
    ends         the batches of which one is the last that the job has written: NEW, (-1,), if it has none yet; two if it may have stopped
                 before or after it wrote the last. None in a batch run
    guarantee    what the job is to have
    output_mode  "append": rows that stay as they are; "update": a row may be a newer one of its key; "complete": each batch is all rows
    over         set when the run has ended: who waits for something then gives up
    """

    job: str
    output: str
    mode: Mode
    epoch: int = 0
    checkpoint: str = ""
    ends: range | None = None
    guarantee: Guarantee = Guarantee.EXACTLY_ONCE
    output_mode: Literal["append", "update", "complete"] = "append"
    over: Event = field(default_factory=Event, repr=False)


class Writer(ABC):
    """A sink that was opened for one run."""

    committed: int | None = None
    """The last batch of this output that is in the sink, with all of its rows, as the sink itself says; -1 if it knows of none; None if it
    does not know. A batch up to it that comes again is computed, for the state's sake, and not written. One that does not fit the job's
    checkpoint stops the job before it begins: rows would be missing, or there twice."""

    @abstractmethod
    def write(self, frame: DataFrame, batch: int) -> None:
        """Write the rows of a batch, and read all of them: with the rows that are read goes the state. In a batch run there is one, 0.

        A batch that was begun before a crash comes again, with the same number and the same rows."""

    def close(self) -> None:
        """The run is over. May be called twice, and while a batch is being written."""


class Sink(ABC):
    """Where a stream ends: `stream.to.sink(…)` takes one of your own.

    At least `kind`, `name`, `modes` and `open` are to be given; the rest has defaults.
    """

    kind: ClassVar[str]
    """What it is called in the table of modes, and in errors: `to.kind`."""

    name: str
    """How progress, errors and the checkpoint call it; unique in a job."""

    modes: ClassVar[Modes] = {}
    """The modes that it works in, and with which guarantee: `{"micro-batch": Guarantee.AT_LEAST_ONCE}`."""

    origins: bool = False
    """Whether the rows, as `shape` gives them, have a place for what each was made of: `kernel.origins.column()`."""

    output_modes: tuple[tuple[str, ...], str] | None = None
    """The output modes that it can have, the best first, and why no other; None if it can have all."""

    @classmethod
    def support(cls, mode: Mode) -> Yes | No:
        """What it states for a mode, or why it has nothing there."""
        return cell(cls.modes, mode, _NO_BATCH if mode == "batch" else _KAFKA_LAST)

    @abstractmethod
    def open(self, run: Run) -> Writer:
        """Begin to write for a run: after all checks, before its first record. JobError if it cannot be."""

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
        """Raise JobError if the sink cannot take rows; nothing is changed yet. `ends` as in `Run`."""

    def prepare(self) -> None:
        """Make what the rows go to, where that is to be made: after all checks of the job, and before it is opened."""

    def spark_writer(self, frame: DataFrame) -> DataStreamWriter | None:
        """Spark's own streaming sink for it, which is at-least-once: the only way in real time, and the way of an output that is alone in a
        micro-batch query and has no more to promise."""
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


@dataclass
class Calls(Writer):
    """A writer that is one function, of the rows and the number of their batch."""

    function: Callable[[DataFrame, int], object]

    def write(self, frame: DataFrame, batch: int) -> None:
        self.function(frame, batch)


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


def consume(frame: DataFrame) -> None:
    """Compute all rows, for the sake of the state that goes with them, and write none."""
    frame.write.format("noop").mode("overwrite").save()


@contextmanager
def computed(frame: DataFrame) -> Iterator[DataFrame]:
    """The rows of a batch, all of them computed, and kept while they are used.

    State is saved only where rows were read: what looks at some of them, or at none, must not undo that.
    """
    ours = not frame.is_cached  # else it is kept for other outputs, too
    frame = frame.persist() if ours else frame
    try:
        consume(frame)
        yield frame
    finally:
        if ours:
            frame.unpersist()
