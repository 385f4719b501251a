"""Samza in its own words: tasks, stores, streams and windows, in Python, on Spark. See docs/guide/samza.md.

The names are Java's: Samza has no Python API, and its documentation, books and programs are written in these.
"""

from headrace.fronts.samza.applications.descriptors import (
    GenericSystemDescriptor,
    InMemorySystemDescriptor,
    InMemoryTableDescriptor,
    InputDescriptor,
    KafkaSystemDescriptor,
    OffsetType,
    OutputDescriptor,
    RocksDbTableDescriptor,
)  # fmt: skip
from headrace.fronts.samza.applications.programs import StreamApplication, TaskApplication, TaskApplicationDescriptor
from headrace.fronts.samza.applications.streams import MessageStream, OutputStream, StreamApplicationDescriptor, Table
from headrace.fronts.samza.applications.windows import AccumulationMode, FiringType, Triggers, WindowKey, WindowPane, Windows
from headrace.fronts.samza.messages import (
    KV,
    Entry,
    IncomingMessageEnvelope,
    MessageCollector,
    OutgoingMessageEnvelope,
    Partition,
    RequestScope,
    SamzaException,
    SystemStream,
    SystemStreamPartition,
    TaskCoordinator,
)  # fmt: skip
from headrace.fronts.samza.running.memory import StreamAssert, TestRunner
from headrace.fronts.samza.running.runner import ApplicationStatus, LocalApplicationRunner
from headrace.fronts.samza.serdes import (
    ByteSerde,
    DoubleSerde,
    IntegerSerde,
    JsonSerde,
    JsonSerdeV2,
    KVSerde,
    LongSerde,
    NoOpSerde,
    Serde,
    StringSerde,
)  # fmt: skip
from headrace.fronts.samza.stores import KeyValueIterator, KeyValueStore, ReadWriteTable
from headrace.fronts.samza.tasks import (
    AsyncStreamTask,
    ClosableTask,
    Config,
    Context,
    EndOfStreamListenerTask,
    InitableTask,
    StreamTask,
    TaskCallback,
    TaskContext,
    WindowableTask,
)  # fmt: skip

__all__ = [  # noqa: RUF022 - in reading order
    "StreamTask", "AsyncStreamTask", "InitableTask", "WindowableTask", "ClosableTask", "EndOfStreamListenerTask",
    "IncomingMessageEnvelope", "OutgoingMessageEnvelope", "SystemStream", "SystemStreamPartition", "Partition",
    "MessageCollector", "TaskCoordinator", "RequestScope", "TaskCallback", "Context", "TaskContext", "Config", "SamzaException",
    "KeyValueStore", "KeyValueIterator", "Entry", "ReadWriteTable",
    "Serde", "StringSerde", "IntegerSerde", "LongSerde", "DoubleSerde", "JsonSerde", "JsonSerdeV2", "ByteSerde",
    "NoOpSerde", "KVSerde", "KV",
    "StreamApplication", "StreamApplicationDescriptor", "TaskApplication", "TaskApplicationDescriptor",
    "MessageStream", "OutputStream", "Table",
    "KafkaSystemDescriptor", "GenericSystemDescriptor", "InMemorySystemDescriptor", "InputDescriptor", "OutputDescriptor", "OffsetType",
    "RocksDbTableDescriptor", "InMemoryTableDescriptor",
    "Windows", "WindowPane", "WindowKey", "Triggers", "AccumulationMode", "FiringType",
    "LocalApplicationRunner", "ApplicationStatus", "TestRunner", "StreamAssert",
]  # fmt: skip
