"""What a task leaves to be sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.fronts.storm.graph.tuples import SYSTEM, Tuple
from headrace.fronts.storm.tasks.acking import Note


@dataclass(frozen=True, slots=True)
class Send:
    """A tuple on its way to a task."""

    task: int
    tuple: Tuple


@dataclass(frozen=True, slots=True)
class Write:
    """A record for a Kafka topic."""

    topic: str
    key: bytes | None
    value: bytes
    number: int = 0
    """The how manieth of its task, if it is to be known again after a failure; 0 if not."""
    task: int = 0


@dataclass(frozen=True, slots=True)
class Save:
    """A change of a task's state: a key with its value, or with nothing if it was deleted. `(key,)` is one of the component's own, `()` is
    what the task remembers beside them."""

    component: str
    task: int
    key: tuple[Any, ...]
    value: tuple[Any, ...]


Message = Send | Note | Write | Save
"""What a task leaves to be sent."""


def clock_tuple(stream: str, seconds: float) -> Tuple:
    return Tuple(SYSTEM, stream, -1, [seconds], ["rate_secs"])
