"""Groupings: to which tasks of a subscriber a tuple goes. The sender decides, so routing is exact in every mode.

shuffle           one task after the other, from one that depends on the sender on
fields            by a hash of the named fields modulo tasks: equal values go to one task, in every process
partial key       of two tasks that the fields choose, the one that this sender has used less
all               a copy to every task
global            the task with the lowest number
none              any task, at random
direct            the one that the producer names
local or shuffle  tasks of the sender's own worker, one after the other, if there are any; else as shuffle
custom            what the program's own object chooses
"""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

Choose = Callable[[Sequence[Any]], list[int]]


@dataclass(frozen=True)
class Sender:
    """Who sends: its task, its worker, the stream and the stream's fields."""

    task: int
    worker: int
    component: str
    stream: str
    fields: Sequence[str]


@dataclass(frozen=True)
class Grouping:
    """One of the groupings; the constants below, `Grouping.fields("word")` and so on."""

    kind: str
    names: tuple[str, ...] = ()
    custom: Any = field(default=None, compare=False)

    SHUFFLE: ClassVar[Grouping]
    ALL: ClassVar[Grouping]
    GLOBAL: ClassVar[Grouping]
    NONE: ClassVar[Grouping]
    DIRECT: ClassVar[Grouping]
    LOCAL_OR_SHUFFLE: ClassVar[Grouping]

    @staticmethod
    def fields(*names: str | Sequence[str]) -> Grouping:
        return Grouping("fields", _flat(names))

    @staticmethod
    def partial_key(*names: str | Sequence[str]) -> Grouping:
        return Grouping("partial key", _flat(names))

    @staticmethod
    def custom_object(chooser: Any) -> Grouping:
        """An object with `prepare(context, stream, target_tasks)` and `choose_tasks(task, values)`, which gives numbers of tasks."""
        return Grouping("custom", custom=chooser)

    def chooser(self, sender: Sender, tasks: Sequence[int], workers: Mapping[int, int]) -> Choose:
        """The function that chooses tasks for one sender. What it remembers is the sender's own."""
        match self.kind:
            case "fields":
                places = _places(sender, self.names)
                return lambda values: [tasks[stable_hash([values[i] for i in places]) % len(tasks)]]
            case "partial key":
                return _PartialKey(_places(sender, self.names), tasks)
            case "all":
                return lambda _: list(tasks)
            case "global":
                return lambda _: [min(tasks)]
            case "none":
                chance = random.Random(sender.task)
                return lambda _: [chance.choice(tasks)]
            case "local or shuffle":
                own = [task for task in tasks if workers[task] == sender.worker]
                return _in_turn(own or tasks, sender.task)
            case "custom":
                return _Custom(self.custom, sender, tasks)
            case "direct":
                return lambda _: []
        return _in_turn(tasks, sender.task)


Grouping.SHUFFLE, Grouping.ALL, Grouping.GLOBAL, Grouping.NONE = Grouping("shuffle"), Grouping("all"), Grouping("global"), Grouping("none")
Grouping.DIRECT, Grouping.LOCAL_OR_SHUFFLE = Grouping("direct"), Grouping("local or shuffle")


def _flat(names: Sequence[str | Sequence[str]]) -> tuple[str, ...]:
    return tuple(name for each in names for name in ([each] if isinstance(each, str) else each))


def _places(sender: Sender, names: Sequence[str]) -> list[int]:
    return [list(sender.fields).index(name) for name in names]


def _in_turn(tasks: Sequence[int], start: int) -> Choose:
    turn = itertools.islice(itertools.cycle(tasks), start % len(tasks), None)
    return lambda _: [next(turn)]


class _PartialKey:
    def __init__(self, places: Sequence[int], tasks: Sequence[int]) -> None:
        self.places, self.tasks, self.sent = places, tasks, dict.fromkeys(tasks, 0)

    def __call__(self, values: Sequence[Any]) -> list[int]:
        key = [values[i] for i in self.places]
        first, second = (self.tasks[stable_hash([salt, key]) % len(self.tasks)] for salt in (0, 1))
        chosen = first if self.sent[first] <= self.sent[second] else second
        self.sent[chosen] += 1
        return [chosen]


class _Custom:
    def __init__(self, chooser: Any, sender: Sender, tasks: Sequence[int]) -> None:
        self.sender, self.tasks = sender, tasks
        if hasattr(chooser, "prepare"):
            chooser.prepare({"task": sender.task, "component": sender.component}, sender.stream, list(tasks))
        self.choose = chooser.choose_tasks if hasattr(chooser, "choose_tasks") else chooser.chooseTasks

    def __call__(self, values: Sequence[Any]) -> list[int]:
        chosen = list(self.choose(self.sender.task, values))
        if wrong := [task for task in chosen if task not in self.tasks]:
            raise ValueError(f"the grouping of {self.sender.component!r} chose task {wrong[0]}; the subscriber has {list(self.tasks)}")
        return chosen


def stable_hash(value: Any) -> int:
    """A hash that is the same in every process (Python's own is not), and equal for values that are equal."""
    return zlib.crc32(_canonical(value).encode())


def _canonical(value: Any) -> str:
    if (isinstance(value, float) and value.is_integer()) or isinstance(value, bool):
        value = int(value)  # 1 == 1.0 == True
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_canonical, value))}]"
    if isinstance(value, Mapping):
        return f"{{{','.join(sorted(f'{_canonical(key)}:{_canonical(each)}' for key, each in value.items()))}}}"
    if isinstance(value, set | frozenset):
        return f"<{','.join(sorted(map(_canonical, value)))}>"
    return repr(value)
