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

import io
import pickle
import random
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True)
class Sender:
    """Who sends: its task, its worker, the stream and the stream's fields."""

    task: int
    worker: int
    component: str
    stream: str
    fields: Sequence[str]


class Chooser:
    """Chooses tasks for the tuples of one sender. `memory` is what the next choice depends on: a value, replaced and never changed."""

    memory: Any = None

    def __init__(self, choose: Callable[[Sequence[Any]], list[int]]) -> None:
        self.choose = choose

    def __call__(self, values: Sequence[Any]) -> list[int]:
        return self.choose(values)


@dataclass(frozen=True)
class Grouping:
    """One of the groupings; the constants below, `Grouping.fields("word")` and so on."""

    kind: str
    names: tuple[str, ...] = ()
    own: Any = field(default=None, compare=False)

    SHUFFLE: ClassVar[Grouping]
    ALL: ClassVar[Grouping]
    GLOBAL: ClassVar[Grouping]
    NONE: ClassVar[Grouping]
    DIRECT: ClassVar[Grouping]
    LOCAL_OR_SHUFFLE: ClassVar[Grouping]
    LOWEST: ClassVar[Grouping]
    """Heron's word for GLOBAL."""

    @staticmethod
    def fields(*names: str | Sequence[str]) -> Grouping:
        return Grouping("fields", _flat(names))

    @staticmethod
    def partial_key(*names: str | Sequence[str]) -> Grouping:
        return Grouping("partial key", _flat(names))

    @staticmethod
    def custom_object(chooser: Any) -> Grouping:
        """An object with `prepare(context, stream, target_tasks)` and `choose_tasks(task, values)`, which gives numbers of tasks."""
        return Grouping("custom", own=chooser)

    @staticmethod
    def custom(chooser: Any) -> Grouping:
        """Heron's: `prepare(context, component, stream, target_tasks)` and `choose_tasks(values)`."""
        return Grouping("custom", own=_Herons(chooser))

    def chooser(self, sender: Sender, tasks: Sequence[int], workers: Mapping[int, int]) -> Chooser:
        """The function that chooses tasks for one sender. What it remembers is the sender's own."""
        match self.kind:
            case "fields":
                places = _places(sender, self.names)
                return Chooser(lambda values: [tasks[stable_hash([values[i] for i in places]) % len(tasks)]])
            case "partial key":
                return _PartialKey(_places(sender, self.names), tasks)
            case "all":
                return Chooser(lambda _: list(tasks))
            case "global":
                return Chooser(lambda _: [min(tasks)])
            case "none":
                return _AtRandom(tasks, sender.task)
            case "local or shuffle":
                own = [task for task in tasks if workers[task] == sender.worker]
                return _InTurn(own or tasks, sender.task)
            case "custom":
                return Chooser(_Custom(self.own, sender, tasks))
            case "direct":
                return Chooser(lambda _: [])
        return _InTurn(tasks, sender.task)


Grouping.SHUFFLE, Grouping.ALL, Grouping.GLOBAL, Grouping.NONE = Grouping("shuffle"), Grouping("all"), Grouping("global"), Grouping("none")
Grouping.DIRECT, Grouping.LOCAL_OR_SHUFFLE, Grouping.LOWEST = Grouping("direct"), Grouping("local or shuffle"), Grouping.GLOBAL


def _flat(names: Sequence[str | Sequence[str]]) -> tuple[str, ...]:
    return tuple(name for each in names for name in ([each] if isinstance(each, str) else each))


def _places(sender: Sender, names: Sequence[str]) -> list[int]:
    return [list(sender.fields).index(name) for name in names]


class _InTurn(Chooser):
    def __init__(self, tasks: Sequence[int], start: int) -> None:
        self.tasks, self.memory = tasks, start

    def __call__(self, values: Sequence[Any]) -> list[int]:  # noqa: ARG002
        self.memory += 1
        return [self.tasks[(self.memory - 1) % len(self.tasks)]]


class _AtRandom(Chooser):
    """A number of the sender's own for each tuple: spread like any, and the same again if the count is."""

    def __init__(self, tasks: Sequence[int], seed: int) -> None:
        self.tasks, self.seed, self.memory = tasks, seed, 0

    def __call__(self, values: Sequence[Any]) -> list[int]:  # noqa: ARG002
        self.memory += 1
        return [self.tasks[random.Random(f"{self.seed}-{self.memory}").randrange(len(self.tasks))]]


class _PartialKey(Chooser):
    def __init__(self, places: Sequence[int], tasks: Sequence[int]) -> None:
        self.places, self.tasks, self.memory = places, tasks, (0,) * len(tasks)

    def __call__(self, values: Sequence[Any]) -> list[int]:
        key = [values[i] for i in self.places]
        first, second = (stable_hash([salt, key]) % len(self.tasks) for salt in (0, 1))
        chosen = first if self.memory[first] <= self.memory[second] else second
        self.memory = tuple(sent + (at == chosen) for at, sent in enumerate(self.memory))
        return [self.tasks[chosen]]


class _Herons:
    """A grouping of Heron's as Storm's Python has them."""

    def __init__(self, chooser: Any) -> None:
        self.chooser = chooser

    def prepare(self, context: Any, stream: str, target_tasks: list[int]) -> None:
        self.chooser.prepare(context, context["component"], stream, target_tasks)

    def choose_tasks(self, task: int, values: Sequence[Any]) -> Sequence[int]:  # noqa: ARG002
        return list(self.chooser.choose_tasks(list(values)))


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
    return zlib.crc32(canonical(value).encode())


def canonical(value: Any) -> str:
    """A text that is the same for values that are equal, in every process."""
    if (isinstance(value, float) and value.is_integer()) or isinstance(value, bool):
        value = int(value)  # 1 == 1.0 == True
    if isinstance(value, list | tuple):
        return f"[{','.join(map(canonical, value))}]"
    if isinstance(value, Mapping):
        return f"{{{','.join(sorted(f'{canonical(key)}:{canonical(each)}' for key, each in value.items()))}}}"
    if isinstance(value, set | frozenset):
        return f"<{','.join(sorted(map(canonical, value)))}>"
    if type(value).__repr__ is _SAYS_WHERE:
        return _pickled(value).hex()
    return repr(value)


_SAYS_WHERE: Any = object.__repr__
"""How an object is written that has no way of its own: by its place in memory, which is another one in each process."""


def _pickled(value: Any) -> bytes:
    """Without references within it, which depend on what happens to be one object."""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, 5)
    pickler.fast = True
    pickler.dump(value)
    return buffer.getvalue()
