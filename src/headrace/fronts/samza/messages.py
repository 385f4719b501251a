"""What travels: envelopes, the names of streams, and what a task is handed to send and to ask with.

Nothing here needs headrace or Spark: it runs in Spark's Python workers, which get it by value.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple


class SamzaException(Exception):  # noqa: N818 - Samza's own name
    """A mistake in the use of Samza's API that shows only while a task runs: what, at which line of the program, and what to do."""

    def __init__(self, what: str, fix: str) -> None:
        self.what, self.fix, self.line = what, fix, _user_line()
        super().__init__(f"{what}\n  at   {self.line}\n  fix  {fix}" if self.line else f"{what}\n  fix  {fix}")


SamzaException.__module__ = "headrace.errors"  # so a failed job tells it as it tells headrace's own errors


def _user_line() -> str | None:
    frame: Any = sys._getframe(2)
    while frame is not None and "headrace/fronts/samza/" in frame.f_code.co_filename:
        frame = frame.f_back
    file = "" if frame is None else frame.f_code.co_filename
    return None if not file or "headrace/kernel/python/worker/" in file else f"{file}:{frame.f_lineno}"


def _is(thing: Any, kind: type) -> bool:
    """Whether it is of a class of this name. A worker may have two of a name: that which came with the job, and that of the module, for a
    program that says `samza.SystemStream`."""
    return any(each.__name__ == kind.__name__ for each in type(thing).__mro__)


class KV(NamedTuple):
    """A key and a value: a message of a stream whose serde is a `KVSerde`."""

    key: Any
    value: Any

    @staticmethod
    def of(key: Any, value: Any) -> KV:
        """The pair."""
        return KV(key, value)

    def getKey(self) -> Any:
        """The key."""
        return self.key

    def getValue(self) -> Any:
        """The value."""
        return self.value


class Entry(KV):
    """A key and its value in a store."""


@dataclass(frozen=True)
class SystemStream:
    """A stream by name: `SystemStream("kafka", "wordcount")` is the topic wordcount of the system kafka."""

    system: str
    stream: str

    def getSystem(self) -> str:
        """The name of the system."""
        return self.system

    def getStream(self) -> str:
        """The name of the stream."""
        return self.stream


@dataclass(frozen=True)
class Partition:
    """A partition of a stream. A task has the same number."""

    id: int

    def getPartitionId(self) -> int:
        """Its number, from 0 on."""
        return self.id


@dataclass(frozen=True)
class SystemStreamPartition(SystemStream):
    """A partition of a stream, by name and number."""

    partition: Partition

    def getPartition(self) -> Partition:
        """The partition."""
        return self.partition

    def getSystemStream(self) -> SystemStream:
        """The stream that it belongs to."""
        return SystemStream(self.system, self.stream)


@dataclass(frozen=True)
class IncomingMessageEnvelope:
    """A message that came: `getKey()`, `getMessage()`, and its place. `getArrivalTime()` is when the log got it, in milliseconds."""

    place: SystemStreamPartition
    offset: str
    key: Any
    message: Any
    arrival: int = 0

    def getSystemStreamPartition(self) -> SystemStreamPartition:
        """System, stream and partition that it came from."""
        return self.place

    def getOffset(self) -> str:
        """Its offset in the partition, as text."""
        return self.offset

    def getKey(self) -> Any:
        """Its key, decoded by the stream's key serde; None if it has none."""
        return self.key

    def getMessage(self) -> Any:
        """The message, decoded by the stream's message serde."""
        return self.message

    def getArrivalTime(self) -> int:
        """When the log got it, in milliseconds since 1970."""
        return self.arrival


class OutgoingMessageEnvelope:
    """A message to send: `OutgoingMessageEnvelope(SystemStream("kafka", "out"), message)`, `(stream, key, message)`, or
    `(stream, partitionKey, key, message)`."""

    def __init__(self, stream: SystemStream, *parts: Any) -> None:
        if not _is(stream, SystemStream) or not 1 <= len(parts) <= 3:
            raise SamzaException(
                f"OutgoingMessageEnvelope: {(stream, *parts)!r} is no message for a stream",
                'OutgoingMessageEnvelope(SystemStream("kafka", "out"), message), with a key before the message, or partition key and key',
            )
        self.stream, self.message = stream, parts[-1]
        self.key = parts[-2] if len(parts) > 1 else None
        self.partitionKey = parts[0] if len(parts) == 3 else None

    def getSystemStream(self) -> SystemStream:
        """Where it goes."""
        return self.stream


class MessageCollector:
    """Where a task sends messages. It is valid during the call that it was handed to, and not after."""

    def __init__(self, send: Any) -> None:
        self._send = send

    def send(self, envelope: OutgoingMessageEnvelope) -> None:
        """Send it to the stream that it names."""
        if self._send is None:
            raise SamzaException(
                "a collector was used after the call that it was handed to", "keep nothing of it: use the one of each process and window"
            )
        if not _is(envelope, OutgoingMessageEnvelope):
            raise SamzaException(
                f"send: {envelope!r} is no envelope", 'send OutgoingMessageEnvelope(SystemStream("kafka", "out"), message)'
            )
        self._send(envelope)


class RequestScope(Enum):
    """For whom a coordinator is asked."""

    CURRENT_TASK = "current"
    ALL_TASKS_IN_CONTAINER = "all"


class TaskCoordinator:
    """What a task may ask of the job.

    `commit` is done with the batch that the message is in, and not before: state, positions and outputs are saved together there.
    `shutdown` ends the job after that batch, all of whose messages are processed; for `CURRENT_TASK` when every task has asked for it.
    """

    def __init__(self) -> None:
        self.shutdowns: set[RequestScope] = set()

    def commit(self, scope: RequestScope = RequestScope.CURRENT_TASK) -> None:
        """Ask that what was done is saved. It is, when the batch ends, as it would be unasked."""
        _scope("commit", scope)

    def shutdown(self, scope: RequestScope = RequestScope.CURRENT_TASK) -> None:
        """Ask that the job ends."""
        self.shutdowns.add(_scope("shutdown", scope))


def _scope(call: str, scope: Any) -> RequestScope:
    if not _is(scope, RequestScope):
        raise SamzaException(f"{call}: {scope!r} is no scope", "give RequestScope.CURRENT_TASK or RequestScope.ALL_TASKS_IN_CONTAINER")
    return RequestScope(scope.value)


def java_hash(value: Any) -> int:
    """What Java's `hashCode` gives for text and whole numbers, so that partition keys go where Samza would send them.

    >>> java_hash("hello"), java_hash(7), java_hash(-1), java_hash(2**40)
    (99162322, 7, -1, 256)
    """
    if value is None:
        return 0
    if isinstance(value, bool):
        return 1231 if value else 1237
    if isinstance(value, int):
        return value if -(2**31) <= value < 2**31 else _signed(value ^ ((value % 2**64) >> 32))
    text = value if isinstance(value, str) else repr(value)
    units = text.encode("utf-16-be")
    total = 0
    for i in range(0, len(units), 2):
        total = (31 * total + (units[i] << 8 | units[i + 1])) & 0xFFFFFFFF
    return _signed(total)


def _signed(bits: int) -> int:
    bits &= 0xFFFFFFFF
    return bits - 2**32 if bits >= 2**31 else bits


def partition_of(key: Any, partitions: int) -> int:
    """The partition of a partition key, as Samza computes it."""
    return abs(java_hash(key)) % partitions
