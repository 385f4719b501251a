"""A task: one object of a component, with its routing and its counts. The same in a test and on Spark.

A task does nothing by itself. It is given a tuple, or asked for the next one, and leaves in `out` what is to be sent: tuples to tasks, and
notes to the acker.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.fronts.storm.graph.groupings import Chooser, Sender
from headrace.fronts.storm.graph.layout import Layout
from headrace.fronts.storm.graph.reliability import Reliability
from headrace.fronts.storm.graph.tuples import Tuple
from headrace.fronts.storm.tasks.messages import Message, Save
from headrace.fronts.storm.tasks.state import KeyValueState

Clock = Callable[[], float]
"""The time now, in seconds."""


class Context(dict[str, Any]):
    """Where a component runs. A dict, as streamparse has it (`taskid`, `componentid`, `task->component`), with Storm's methods."""

    def getThisTaskId(self) -> int:  # noqa: N802
        return int(self["taskid"])

    def getThisComponentId(self) -> str:  # noqa: N802
        return str(self["componentid"])

    def getComponentTasks(self, component: str) -> list[int]:  # noqa: N802
        return [int(task) for task, name in self["task->component"].items() if name == component]

    def getThisTaskIndex(self) -> int:  # noqa: N802
        return self.getComponentTasks(self.getThisComponentId()).index(self.getThisTaskId())


class Counts:
    """What a task has done since it began, and its last error."""

    __slots__ = ("acked", "busy", "complete", "emitted", "error", "executed", "failed", "transferred")

    def __init__(self) -> None:
        self.emitted = self.transferred = self.executed = self.acked = self.failed = 0
        self.busy = self.complete = 0.0
        self.error: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


class Task:
    """What tasks of spouts and bolts share. `saved` gives what was last saved of it, as `Save` has it."""

    saved: Callable[[], Mapping[tuple[Any, ...], Any]] = staticmethod(dict)

    def __init__(self, layout: Layout, number: int, clock: Clock) -> None:
        self.layout, self.number, self.clock = layout, number, clock
        self.part = layout.component[number]
        self.code: Any = self.part.make()
        self.out: list[Message] = []
        self.emitted: Callable[[str, list[Any]], None] | None = None
        self.counts = Counts()
        self._random = random.Random(os.urandom(16))  # of its own: a program may seed Python's
        self._choosers: dict[str, list[Chooser]] = {}
        self._direct: dict[str, set[int]] = {}
        self.exact = layout.reliability is Reliability.EFFECTIVELY_ONCE
        self.state = KeyValueState() if hasattr(self.code, "init_state") else None
        self._memory: dict[str, Any] = {}

    def context(self) -> Context:
        by_task = {task: part.name for task, part in self.layout.component.items()}
        return Context({"taskid": self.number, "componentid": self.part.name, "task->component": by_task})

    def open(self) -> None:
        """Make the component ready: its state first, as Heron has it."""
        saved = dict(self.saved()) if self.exact or self.state is not None else {}
        self._memory = saved.pop((), {})
        if self.state is not None:
            self.state = KeyValueState({key[0]: value for key, value in saved.items()})
            self.code.init_state(self.state)
        self.code.begin(self.layout.conf(self.part), self.context(), self)
        if self._memory.get("code") is not None:
            self.code.recall(self._memory["code"])

    def save(self, checkpoint_id: int) -> None:
        """Leave what has changed since the last time to be saved."""
        if self.state is not None:
            self.code.pre_save(checkpoint_id)
            self.out.extend(self._save((key,), value) for key, value in self.state.changes().items())
        if (memory := self.memory()) != self._memory:
            self._memory = memory
            self.out.append(self._save((), (memory,)))

    def memory(self) -> dict[str, Any]:
        """What the task remembers beside the state: what the component keeps by itself, and if tuples must go the same way again, where
        the next ones go."""
        kept = self.code.kept()
        memory = {} if kept is None else {"code": kept}
        if self.exact:
            routes = {stream: [chooser.memory for chooser in choosers] for stream, choosers in self._choosers.items()}
            memory |= {"routes": {**self._memory.get("routes", {}), **routes}}
        return memory

    def _save(self, key: tuple[Any, ...], value: tuple[Any, ...]) -> Save:
        return Save(self.part.name, self.number, key, value)

    def close(self) -> None:
        self.code.close()

    def new_id(self) -> int:
        """A random number of 63 bits, never 0: what an acker XORs."""
        return self._random.getrandbits(63) | 1

    def taken(self) -> list[Message]:
        """All that is to be sent, and nothing is left of it."""
        out, self.out = self.out, []
        return out

    def route(self, stream: str, values: Sequence[Any], direct_task: int | None) -> list[int]:
        """The tasks that a tuple goes to; an error in words if the stream was not declared so."""
        declared = self.part.outputs.get(stream)
        if declared is None:
            raise ValueError(f"{self.part.name!r} emits to the stream {stream!r}, but declares {', '.join(self.part.outputs) or 'none'}")
        if len(values) != len(declared.fields):
            raise ValueError(
                f"{self.part.name!r} emits {len(values)} values, {list(values)!r}; its stream {stream!r} has {', '.join(declared.fields)}"
            )
        if stream not in self._choosers:
            self._subscribe(stream, declared.fields)
        if declared.direct != (direct_task is not None):
            how = "is direct: name the task, direct_task=…" if declared.direct else "is not direct: declare it so, or name no task"
            raise ValueError(f"the stream {stream!r} of {self.part.name!r} {how}")
        self.counts.emitted += 1
        if self.emitted is not None:
            self.emitted(stream, list(values))
        if direct_task is not None:
            targets = [direct_task] if direct_task in self._direct[stream] else []
        else:
            targets = [task for choose in self._choosers[stream] for task in choose(values)]
        self.counts.transferred += len(targets)
        return targets

    def _subscribe(self, stream: str, fields: Sequence[str]) -> None:
        sender = Sender(self.number, self.layout.worker[self.number], self.part.name, stream, fields)
        subscribed = self.layout.subscribers(self.part.name, stream)
        self._direct[stream] = {t for part, by in subscribed if by.kind == "direct" for t in self.layout.tasks[part.name]}
        choosers = [grouping.chooser(sender, self.layout.tasks[part.name], self.layout.worker) for part, grouping in subscribed]
        for chooser, memory in zip(choosers, self._memory.get("routes", {}).get(stream, ()), strict=False):
            chooser.memory = memory
        self._choosers[stream] = choosers

    def tuple(self, stream: str, values: Sequence[Any], roots: dict[int, int]) -> Tuple:
        return Tuple(self.part.name, stream, self.number, values, self.part.outputs[stream].fields, roots)
