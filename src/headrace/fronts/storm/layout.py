"""A topology as it runs: components with their tasks, streams and subscriptions. Checked before (topology.py); this only answers.

Tasks are numbered from 1 on, component by component in the order in which they were defined. An executor holds tasks of one component that
follow each other; executors are dealt to workers in turn.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from headrace.fronts.storm.groupings import Grouping


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


@dataclass(frozen=True)
class Layout:
    """All components by name, and the configuration."""

    name: str
    parts: Mapping[str, Part]
    config: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def tasks(self) -> dict[str, list[int]]:
        """The tasks of each component."""
        numbered, first = {}, 1
        for part in self.parts.values():
            numbered[part.name] = list(range(first, first + part.tasks))
            first += part.tasks
        return numbered

    @cached_property
    def component(self) -> dict[int, Part]:
        """The component of each task."""
        return {task: self.parts[name] for name, tasks in self.tasks.items() for task in tasks}

    @cached_property
    def executors(self) -> list[list[int]]:
        """The tasks of each executor: as even as can be, the earlier ones have one more."""
        dealt = []
        for part in self.parts.values():
            tasks, at = self.tasks[part.name], 0
            for number in range(part.executors):
                size = part.tasks // part.executors + (number < part.tasks % part.executors)
                dealt.append(tasks[at : at + size])
                at += size
        return dealt

    @cached_property
    def worker(self) -> dict[int, int]:
        """The worker of each task, from 0 on."""
        return {task: number % self.workers for number, tasks in enumerate(self.executors) for task in tasks}

    @property
    def workers(self) -> int:
        return int(self.config.get("topology.workers") or 1)

    @property
    def ackers(self) -> int:
        """0 switches acking off; any other number leaves it on."""
        chosen = self.config.get("topology.acker.executors")
        return 1 if chosen is None else int(chosen)

    @property
    def timeout(self) -> float:
        return float(self.config.get("topology.message.timeout.secs") or 30)

    def conf(self, part: Part) -> dict[str, Any]:
        """The configuration that a component sees: the topology's, and its own on top."""
        return {**self.config, **part.config}

    def subscribers(self, component: str, stream: str) -> list[tuple[Part, Grouping]]:
        return [(part, part.inputs[component, stream]) for part in self.parts.values() if (component, stream) in part.inputs]

    def sources(self, part: Part) -> list[Part]:
        return [self.parts[name] for name in dict.fromkeys(name for name, _ in part.inputs)]

    @cached_property
    def level(self) -> dict[str, int]:
        """Spouts are at 0, a bolt one after the deepest that it reads from."""
        levels: dict[str, int] = {}

        def visit(part: Part) -> int:
            if part.name not in levels:
                levels[part.name] = 0 if part.is_spout else 1 + max(visit(source) for source in self.sources(part))
            return levels[part.name]

        for part in self.parts.values():
            visit(part)
        return levels
