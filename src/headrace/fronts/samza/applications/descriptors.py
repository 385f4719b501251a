"""What an application declares: systems, streams and tables, in Samza's descriptors."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from headrace.fronts.samza.config import refused
from headrace.fronts.samza.messages import SystemStream
from headrace.fronts.samza.serdes import KVSerde, NoOpSerde, Serde

AnySerde = Serde | KVSerde | None


class OffsetType(Enum):
    """Where a stream begins for a job that has no checkpoint."""

    OLDEST = "oldest"
    UPCOMING = "upcoming"


@dataclass
class StreamDescriptor:
    """A stream of a system: its name there, and its serde. A `KVSerde` makes its messages `KV`s."""

    streamId: str
    system: str
    serde: AnySerde = None

    @property
    def keyed(self) -> bool:
        """Whether its messages are KVs."""
        return isinstance(self.serde, KVSerde)

    def serdes(self) -> tuple[Serde | None, Serde | None]:
        """Those of key and message; None for bytes as they are."""
        if isinstance(self.serde, KVSerde):
            return self.serde.key, self.serde.value
        return None, None if isinstance(self.serde, NoOpSerde) else self.serde

    def getStreamId(self) -> str:
        """Its name."""
        return self.streamId

    @property
    def place(self) -> SystemStream:
        """System and name."""
        return SystemStream(self.system, self.streamId)


@dataclass
class InputDescriptor(StreamDescriptor):
    """A stream to read."""

    bootstrap: bool = False
    priority: int = -1
    offset: OffsetType | None = None

    def withBootstrap(self, bootstrap: bool = True) -> InputDescriptor:
        """Read it to its end before any other stream gives a message."""
        self.bootstrap = bootstrap
        return self

    isBootstrap = withBootstrap

    def withPriority(self, priority: int) -> InputDescriptor:
        """A higher one first."""
        self.priority = priority
        return self

    def withOffsetDefault(self, offset: OffsetType) -> InputDescriptor:
        """Where it begins without a checkpoint."""
        self.offset = offset
        return self


@dataclass
class OutputDescriptor(StreamDescriptor):
    """A stream to write."""


@dataclass(frozen=True)
class SystemDescriptor:
    """A system by name, which gives the descriptors of its streams."""

    name: str = "kafka"

    def getInputDescriptor(self, streamId: str, serde: AnySerde = None) -> InputDescriptor:
        """A stream to read."""
        return InputDescriptor(_name("getInputDescriptor", streamId), self.name, _serde("getInputDescriptor", serde))

    def getOutputDescriptor(self, streamId: str, serde: AnySerde = None) -> OutputDescriptor:
        """A stream to write."""
        return OutputDescriptor(_name("getOutputDescriptor", streamId), self.name, _serde("getOutputDescriptor", serde))


class KafkaSystemDescriptor(SystemDescriptor):
    """A Kafka cluster, by the name that the program has for it."""


class GenericSystemDescriptor(SystemDescriptor):
    """Any system: here it is a Kafka cluster, too."""


class InMemorySystemDescriptor(SystemDescriptor):
    """Streams in memory, for a test."""


@dataclass(frozen=True)
class TableDescriptor:
    """A table: a local store of its own name. `changelog` is the topic that its writes go to."""

    tableId: str
    serde: KVSerde
    changelog: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.serde, KVSerde):
            raise refused(f"table {self.tableId!r} has no KVSerde", "give KVSerde.of(StringSerde(), JsonSerde()) or the like")

    def withChangelogStream(self, changelog: str) -> TableDescriptor:
        """Write every change to this topic, too, and restore the table from it."""
        return type(self)(self.tableId, self.serde, changelog)


class RocksDbTableDescriptor(TableDescriptor):
    """A local table."""


class InMemoryTableDescriptor(TableDescriptor):
    """A local table. It is kept as the other kind is: in the state."""


def _name(call: str, name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise refused(f"{call}: {name!r} is no name of a stream", 'name it as text: "page-views"')
    return name


def _serde(call: str, serde: Any) -> AnySerde:
    if serde is not None and not isinstance(serde, Serde | KVSerde):
        raise refused(f"{call}: {serde!r} is no serde", "give an instance: StringSerde(), JsonSerde(), KVSerde.of(…)")
    return serde
