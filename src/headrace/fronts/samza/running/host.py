"""What runs in Spark's Python workers: the tasks of a stage, each with its stores, called by the kernel's scan with one message at a time.

A task is a key of the scan. Its state is a row: its fields, its clock, the time of its next `window` and when to wake it; its stores are
maps beside that row. So state and positions are saved together, whatever happens to a process.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from headrace.fronts.samza.messages import (
    IncomingMessageEnvelope,
    MessageCollector,
    OutgoingMessageEnvelope,
    Partition,
    RequestScope,
    SamzaException,
    SystemStreamPartition,
    TaskCoordinator,
    partition_of,
)  # fmt: skip
from headrace.fronts.samza.running import fields
from headrace.fronts.samza.serdes import Serde
from headrace.fronts.samza.stores import KeyValueStore, StoreSpec
from headrace.fronts.samza.tasks import AsyncStreamTask, Config, Context, TaskContext

State = dict[str, Any]
Rows = list[dict[str, Any]]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_THE_END = datetime(9999, 1, 1, tzinfo=UTC)
"""When a batch wakes a task: after its last message, as the kernel's alarms ring at the end of the input."""


@dataclass(frozen=True)
class StreamSpec:
    """A stream as a task sees it: its serdes (None: bytes, or in memory the object), and how many partitions it has, if that is known."""

    system: str
    key: Serde | None = None
    value: Serde | None = None
    partitions: int | None = None


@dataclass(frozen=True)
class TaskSpec:
    """What a worker needs to run the tasks of a stage.

    factory    makes a task
    inputs     the streams that it reads, by name
    outputs    the streams that it may send to, by name
    control    the stream that tells of a task that asks for the end
    bounded    a batch: its clock is the arrival of the messages, and it has an end
    memory     a test, whose streams are lists
    """

    factory: Callable[[], Any]
    config: Mapping[str, str]
    system: str
    inputs: Mapping[str, StreamSpec]
    outputs: Mapping[str, StreamSpec]
    stores: tuple[StoreSpec, ...] = ()
    window_ms: int = -1
    callback_ms: int = -1
    control: str | None = None
    bounded: bool = False
    memory: bool = False

    @property
    def wakes(self) -> bool:
        """Whether a task is to be woken without a message."""
        return self.bounded or self.window_ms > 0 or bool(getattr(self.factory, "wakes", False))


class _Host:
    """The tasks that have come to this process."""

    def __init__(self, spec: TaskSpec) -> None:
        self.spec = spec
        self.tasks: dict[int, RunningTask] = {}

    def open(self) -> None:
        self.tasks = {}

    def close(self) -> None:
        for running in self.tasks.values():
            if hasattr(running.task, "close"):
                running.task.close()

    def task(self, number: int, state: State) -> RunningTask:
        running = self.tasks.get(number)
        if running is None or (state["fields"] is None and running.saved is not None):  # a batch that failed is begun anew
            running = self.tasks[number] = RunningTask(self.spec, number)
        running.load(state)
        return running


class OnMessage(_Host):
    """What the scan calls with each message."""

    def __call__(self, state: State, record: dict[str, Any]) -> tuple[State, Rows]:
        running = self.task(record["task"], state)
        if record["stream"] is not None:  # else it only tells that the task is there
            running.message(record)
        return running.answer(_THE_END if self.spec.bounded else running.wake())


class OnAlarm(_Host):
    """What the scan calls when a task is to be woken: in a batch, after its last message."""

    def __call__(self, state: State, key: dict[str, Any], timer: dict[str, Any]) -> tuple[State, Rows]:
        running = self.task(key["task"], state)
        if self.spec.bounded:
            running.end()
            return running.answer(None)
        running.advance(max(_now(), _millis(timer["time"])))
        return running.answer(running.wake())


class RunningTask:
    """A task, its stores, and what it has sent during a call."""

    def __init__(self, spec: TaskSpec, number: int) -> None:
        self.spec, self.number = spec, number
        self.stores = {store.name: KeyValueStore(store) for store in spec.stores}
        self.context = Context(Config(spec.config), TaskContext(number, self.stores))
        self.task = spec.factory()
        self.saved: bytes | None = None
        self.window_at: int | None = None
        self.now = 0
        self.rows: Rows = []
        self._kept: set[str] = set(getattr(type(self.task), "constant", ()))  # fields that stay with the process
        self._initialised = False

    # -- the state ---------------------------------------------------------------------------------------------------------------------

    def load(self, state: State) -> None:
        self.rows, self.window_at, self.now = [], state["window"], state["now"] or 0
        for store in self.spec.stores:
            self.stores[store.name]._open(state[store.column])
        if not self._initialised:
            self._init()
        if state["fields"] is not None and state["fields"] != self.saved:
            own = vars(self.task)
            local = {name: value for name, value in own.items() if name in self._kept}
            own.clear()
            own.update(local | fields.loads(state["fields"], self.context))
            self.saved = state["fields"]

    def _init(self) -> None:
        self._initialised = True
        if hasattr(self.task, "init"):
            modern = len(inspect.signature(self.task.init).parameters) == 1
            self.task.init(self.context) if modern else self.task.init(self.context.config, self.context.task)

    def answer(self, wake: datetime | None) -> tuple[State, Rows]:
        self.saved = self._pickled()
        state: State = {"wake": wake, "now": self.now, "window": self.window_at, "fields": self.saved}
        for store in self.spec.stores:
            for key, value in self.stores[store.name]._changes:
                self._row(str(store.changelog), self.number, key, value)
            self.stores[store.name]._open(None)
        return state, self.rows

    def _pickled(self) -> bytes:
        own = {name: value for name, value in vars(self.task).items() if name not in self._kept}
        try:
            return fields.dumps(own)
        except Exception:  # whatever the things themselves raise: they stay with the process
            for name, value in own.items():
                try:
                    fields.dumps(value)
                except Exception:
                    self._kept.add(name)
            return fields.dumps({name: value for name, value in own.items() if name not in self._kept})

    # -- the calls ---------------------------------------------------------------------------------------------------------------------

    def message(self, record: Mapping[str, Any]) -> None:
        spec = self.spec.inputs[record["stream"]]
        arrival = _millis(record["timestamp"])
        self.advance(arrival if self.spec.bounded else _now())
        place = SystemStreamPartition(spec.system, record["stream"], Partition(record["partition"]))
        key, message = _decoded(spec.key, record["key"]), _decoded(spec.value, record["message"])
        envelope = IncomingMessageEnvelope(place, str(record["offset"]), key, message, arrival)
        if isinstance(self.task, AsyncStreamTask) or not hasattr(self.task, "process"):
            self._call(lambda *both: self._asynchronously(envelope, *both))
        else:
            self._call(self.task.process, envelope)

    def advance(self, now: int) -> None:
        """What is due by now is done: windows of the task, and of the operators."""
        self.now = now
        if self.spec.window_ms > 0:
            if self.window_at is None:
                self.window_at = now + self.spec.window_ms
            elif now >= self.window_at:
                behind = (now - self.window_at) // self.spec.window_ms  # several may be due: they are one call, as in a busy container
                self.window_at += (behind + 1) * self.spec.window_ms
                self._call(self.task.window)
        if hasattr(self.task, "onTime"):
            self._call(self.task.onTime, now)

    def end(self) -> None:
        if self.spec.window_ms > 0:
            self._call(self.task.window)
        if hasattr(self.task, "onTime"):
            self._call(self.task.onEnd, self.now)
        if hasattr(self.task, "onEndOfStream"):
            self._call(self.task.onEndOfStream)

    def wake(self) -> datetime | None:
        operators = self.task.due() if hasattr(self.task, "due") else None
        times = [at for at in (self.window_at, operators) if at is not None]
        return _EPOCH + timedelta(milliseconds=min(times)) if times else None

    def _call(self, method: Callable[..., Any], *arguments: Any) -> None:
        collector, coordinator = MessageCollector(self._send), TaskCoordinator()
        method(*arguments, collector, coordinator)
        collector._send = None
        if coordinator.shutdowns and self.spec.control is not None:
            scope = max(coordinator.shutdowns, key=lambda scope: scope is RequestScope.ALL_TASKS_IN_CONTAINER)
            self._row(self.spec.control, 0, str(self.number).encode(), scope.value.encode())

    def _asynchronously(self, envelope: IncomingMessageEnvelope, collector: MessageCollector, coordinator: TaskCoordinator) -> None:
        callback = _Callback()
        started = self.task.processAsync(envelope, collector, coordinator, callback)
        limit = None if self.spec.callback_ms < 0 else self.spec.callback_ms / 1000
        if inspect.iscoroutine(started):
            asyncio.run(asyncio.wait_for(started, limit))
        if not callback.done.wait(limit):
            raise SamzaException(
                f"processAsync did not call callback.complete() within {self.spec.callback_ms} ms",
                "call it on every way out, or make task.callback.timeout.ms larger",
            )
        if callback.error is not None:
            raise callback.error

    def _send(self, envelope: OutgoingMessageEnvelope) -> None:
        name = envelope.stream.stream
        spec = self.spec.outputs.get(name)
        if spec is None or envelope.stream.system != spec.system:
            raise SamzaException(
                f"send: there is no stream {envelope.stream.system}.{name}",
                f"make the topic before the job starts, or name one that is there: {', '.join(sorted(self.spec.outputs)[:20]) or 'none'}",
            )
        key, message = _encoded(spec.key, envelope.key), _encoded(spec.value, envelope.message)
        partition = None
        if envelope.partitionKey is not None and spec.partitions:
            partition = partition_of(envelope.partitionKey, spec.partitions)
        elif self.spec.memory and spec.partitions:  # as Samza's system in memory has it; in Kafka its own partitioner decides
            partition = partition_of(envelope.key if envelope.key is not None else envelope.message, spec.partitions)
        self._row(name, partition, key, message)

    def _row(self, stream: str, partition: int | None, key: bytes | None, message: bytes | None) -> None:
        self.rows.append({"stream": stream, "partition": partition, "key": key, "message": message, "at": self.now})


class _Callback:
    def __init__(self) -> None:
        self.done = threading.Event()
        self.error: BaseException | None = None

    def complete(self) -> None:
        self.done.set()

    def failure(self, error: Any) -> None:
        self.error = error if isinstance(error, BaseException) else SamzaException(str(error), "see what callback.failure was called with")
        self.done.set()


def _decoded(serde: Serde | None, data: bytes | None) -> Any:
    return data if serde is None or data is None else serde.fromBytes(data)


def _encoded(serde: Serde | None, value: Any) -> bytes | None:
    if value is None:
        return None
    if serde is not None:
        return serde.toBytes(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    raise SamzaException(
        f"{value!r} ({type(value).__name__}) is sent to a stream that has no serde",
        "send bytes, or name one: 'streams.<stream>.samza.msg.serde'",
    )


def _now() -> int:
    return time.time_ns() // 1_000_000


def _millis(at: datetime | None) -> int:
    return 0 if at is None else (at - _EPOCH) // timedelta(milliseconds=1)
