"""The fields of a task as bytes, which are part of its state.

What the framework handed out, such as stores, is not copied, but named. So are its classes: they come to a worker by value, with the job,
and a `SystemStream` that an earlier run has saved must be one to this run, too.
"""

from __future__ import annotations

from typing import Any

from headrace.definitions import named_pickles
from headrace.fronts.samza import messages
from headrace.fronts.samza.stores import KeyValueStore, ReadWriteTable
from headrace.fronts.samza.tasks import Config, Context, TaskContext

_CLASSES = {name: value for name, value in vars(messages).items() if isinstance(value, type) and value.__module__ == messages.__name__}


def dumps(value: Any) -> bytes:
    """The value as bytes; whatever it raises, if it cannot be copied."""
    return named_pickles.dumps(value, _name)


def loads(data: bytes, context: Context) -> Any:
    """The value that `dumps` wrote, with the stores of this context."""

    def named(kind_and_name: tuple[str, str]) -> Any:
        kind, name = kind_and_name
        if kind == "class":
            return _CLASSES[name]
        parts = {"context": context, "task": context.task, "config": context.config}
        return parts[kind] if kind in parts else (context.task.getTable if kind == "table" else context.task.getStore)(name)

    return named_pickles.loads(data, named)


def _name(thing: Any) -> tuple[str, str] | None:
    if isinstance(thing, KeyValueStore):
        return "store", thing._spec.name
    if isinstance(thing, ReadWriteTable):
        return "table", thing._store._spec.name
    if isinstance(thing, type):
        return ("class", thing.__name__) if _CLASSES.get(thing.__name__) is thing else None
    kinds = {Context: "context", TaskContext: "task", Config: "config"}
    return (kinds[type(thing)], "") if type(thing) in kinds else None
