"""What a program fills in: the interfaces of a task, and what `init` hands it. The names are Java's, which is where Samza's API is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.fronts.samza.messages import IncomingMessageEnvelope, MessageCollector, Partition, SamzaException, TaskCoordinator
from headrace.fronts.samza.stores import KeyValueStore, ReadWriteTable


class StreamTask:
    """One message at a time. An exception ends the job.

    A task is one partition number of all inputs. Its fields are part of its state, as far as they can be pickled: they are saved with
    each batch and found again after a restart. What cannot be pickled (a connection) is made in `init`, which runs in every process
    that takes the task over.
    """

    def process(self, envelope: IncomingMessageEnvelope, collector: MessageCollector, coordinator: TaskCoordinator) -> None:
        """Called with each message of the task, in the order of its partition."""
        raise NotImplementedError


class AsyncStreamTask:
    """A task whose work is done when it calls `callback.complete()`, from any thread; `async def` is fine, too. `callback.failure(error)`,
    or `task.callback.timeout.ms` over, ends the job. The next message of the task waits; other tasks do not."""

    def processAsync(
        self, envelope: IncomingMessageEnvelope, collector: MessageCollector, coordinator: TaskCoordinator, callback: TaskCallback
    ) -> Any:
        """Called with each message of the task."""
        raise NotImplementedError


class TaskCallback:
    """How an asynchronous task tells that it is done."""

    def complete(self) -> None:
        """The message is processed."""
        raise NotImplementedError

    def failure(self, error: BaseException) -> None:
        """It is not; the job ends."""
        raise NotImplementedError


class InitableTask:
    """A task that is told of its surroundings before its first message: `init(context)`, or the older `init(config, context)`."""

    def init(self, *context: Any) -> None:
        """Called before the first message, in each process that runs the task."""
        raise NotImplementedError


class WindowableTask:
    """A task whose `window` is called every `task.window.ms`, never while a message is processed."""

    def window(self, collector: MessageCollector, coordinator: TaskCoordinator) -> None:
        """Called every `task.window.ms` by the clock, from the task's first message on. In a batch the clock is the arrival of the
        messages, and there is one more call after the last."""
        raise NotImplementedError


class ClosableTask:
    """A task that is told when its process ends in order."""

    def close(self) -> None:
        """Called when a process that ran the task ends; not after a crash."""
        raise NotImplementedError


class EndOfStreamListenerTask:
    """A task that is told when all its input has ended: in a batch. A topic has no end."""

    def onEndOfStream(self, collector: MessageCollector, coordinator: TaskCoordinator) -> None:
        """Called once, after the last message and the last `window`."""
        raise NotImplementedError


class Config(dict[str, str]):
    """The configuration as a task sees it: text by key."""

    def getInt(self, key: str, default: int | None = None) -> int | None:
        """A whole number."""
        return int(self[key]) if key in self else default

    getLong = getInt

    def getDouble(self, key: str, default: float | None = None) -> float | None:
        """A number."""
        return float(self[key]) if key in self else default

    def getBoolean(self, key: str, default: bool | None = None) -> bool | None:
        """True or false."""
        return self[key].lower() == "true" if key in self else default

    def subset(self, prefix: str) -> Config:
        """What begins with a prefix, without it."""
        return Config({key[len(prefix) :]: value for key, value in self.items() if key.startswith(prefix)})


@dataclass
class TaskContext:
    """What a task may use: its stores and tables, and who it is."""

    number: int
    stores: Mapping[str, KeyValueStore]

    def getStore(self, name: str) -> KeyValueStore:
        """The store of this name, as `stores.<name>.…` declares it."""
        if name not in self.stores:
            there = ", ".join(self.stores) or "none"
            raise SamzaException(f"there is no store {name!r}", f"declare it: 'stores.{name}.key.serde' and so on (there is {there})")
        return self.stores[name]

    def getTable(self, name: str) -> ReadWriteTable:
        """The table of this name, which the application's description declares."""
        return ReadWriteTable(self.getStore(name))

    def getTaskName(self) -> str:
        """`Partition 0` and so on."""
        return f"Partition {self.number}"

    def getPartition(self) -> Partition:
        """The partition whose messages this task gets."""
        return Partition(self.number)

    def getTaskModel(self) -> TaskContext:
        """Who the task is: `getTaskName()`."""
        return self


@dataclass
class Context:
    """What `init(context)` gets."""

    config: Config
    task: TaskContext

    def getTaskContext(self) -> TaskContext:
        """Stores, tables and the task's name."""
        return self.task

    def getJobContext(self) -> Context:
        """The configuration and the names of the job."""
        return self

    def getConfig(self) -> Config:
        """The configuration."""
        return self.config

    def getJobName(self) -> str:
        """`job.name`."""
        return self.config.get("job.name", "")
