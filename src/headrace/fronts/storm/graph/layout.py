"""A topology as it runs: components with their tasks, streams and subscriptions. Checked before (topology.py); this only answers.

Tasks are numbered from 1 on, component by component in the order in which they were defined. An executor holds tasks of one component that
follow each other; executors are dealt to workers in turn.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.fronts.storm.graph.groupings import Grouping
from headrace.fronts.storm.graph.reliability import Reliability, reliability_of


@dataclass(frozen=True)
class Stream:
    """A stream that a component declares."""

    fields: Sequence[str]
    name: str = "default"
    direct: bool = False


StreamId = tuple[str, str]
"""A component and one of its streams."""


@dataclass(frozen=True)
class Part:
    """One component: the object that is copied for each task, or the class of which each task makes one."""

    name: str
    code: Any
    is_spout: bool
    executors: int = 1
    tasks: int = 1
    inputs: Mapping[StreamId, Grouping] = field(default_factory=dict)
    outputs: Mapping[str, Stream] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    where: str | None = None

    def make(self) -> Any:
        return self.code() if isinstance(self.code, type) else copy.deepcopy(self.code)


class Layout:
    """All components by name, and the configuration. What follows from them is computed once.

    tasks      the tasks of each component
    component  the component of each task
    executors  the tasks of each executor: as even as can be, the earlier ones have one more
    worker     the worker of each task, from 0 on
    level      of each component: spouts are at 0, a bolt is one after the deepest that it reads from
    """

    def __init__(self, name: str, parts: Mapping[str, Part], config: Mapping[str, Any] | None = None) -> None:
        self.name, self.parts, self.config = name, dict(parts), dict(config or {})
        self.secret = b""  # with which its records are sealed; within a test there are none
        self.tasks: dict[str, list[int]] = {}
        self.executors: list[list[int]] = []
        first = 1
        for part in self.parts.values():
            self.tasks[part.name] = list(range(first, first + part.tasks))
            self.executors += _dealt(self.tasks[part.name], part.executors)
            first += part.tasks
        self.component = {task: self.parts[name] for name, tasks in self.tasks.items() for task in tasks}
        self.worker = {task: number % self.workers for number, tasks in enumerate(self.executors) for task in tasks}
        self.level: dict[str, int] = {}
        for part in self.parts.values():
            self._measure(part, ())

    def with_config(self, config: Mapping[str, Any], name: str | None = None) -> Layout:
        """The same with other settings on top."""
        return Layout(name or self.name, self.parts, {**self.config, **config})

    @property
    def workers(self) -> int:
        return int(self.config.get("topology.workers") or 1)

    @property
    def reliability(self) -> Reliability:
        """As Heron's setting says, or else Storm's: without ackers at most once."""
        chosen = reliability_of(self.config)
        storms = Reliability.ATMOST_ONCE if self.config.get("topology.acker.executors") == 0 else Reliability.ATLEAST_ONCE
        return storms if chosen is None else chosen

    @property
    def ackers(self) -> int:
        """How many partitions the acker has: as asked for, or one for each worker; 0 if nothing is acked."""
        if self.reliability is not Reliability.ATLEAST_ONCE:
            return 0
        return int(self.config.get("topology.acker.executors") or self.workers)

    @property
    def timeout(self) -> float:
        return float(self.config.get("topology.message.timeout.secs") or 30)

    @property
    def checkpoint_seconds(self) -> float:
        """How often a test saves all states, effectively once."""
        return float(self.config.get("topology.stateful.checkpoint.interval.seconds") or 10)

    def conf(self, part: Part) -> dict[str, Any]:
        """The configuration that a component sees: the topology's, and its own on top."""
        return {**self.config, **part.config}

    def subscribers(self, component: str, stream: str) -> list[tuple[Part, Grouping]]:
        return [(part, part.inputs[component, stream]) for part in self.parts.values() if (component, stream) in part.inputs]

    def sources(self, part: Part) -> list[Part]:
        return [self.parts[name] for name in dict.fromkeys(name for name, _ in part.inputs) if name in self.parts]

    def _measure(self, part: Part, path: tuple[str, ...]) -> int:
        if part.name not in self.level and part.name not in path:  # a circle is refused later, in words
            below = [self._measure(source, (*path, part.name)) for source in self.sources(part)]
            self.level[part.name] = 0 if part.is_spout else 1 + max(below, default=0)
        return self.level.get(part.name, 0)


def _dealt(tasks: Sequence[int], executors: int) -> list[list[int]]:
    dealt, at = [], 0
    for number in range(executors):
        size = len(tasks) // executors + (number < len(tasks) % executors)
        dealt.append(list(tasks[at : at + size]))
        at += size
    return dealt
